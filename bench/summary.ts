import type { Run } from './report.ts';
import { ratio } from './rounds.ts';
import { number, spread } from './statistics.ts';

/** The figures in short: Markdown, or undefined if the run left one of them out. */
export function summary({ workloads, figures, calibration }: Run): string | undefined {
  const measured = (name: string) => workloads.find(({ workload }) => workload.name === name);
  const rate = (name: string) => {
    const service = measured(name)?.series.find((series) => series.name === 'service');
    return service && number(spread(service.perSecond).median);
  };
  const times = (name: string, peer: string) => {
    const found = measured(name);
    const beside = found && ratio(found.series, 'service', peer, 'requests');
    return beside && number(beside.median);
  };
  const figure = (name: string) => {
    const found = figures.find((each) => each.name === name);
    return found && number(spread(found.values).median);
  };
  const list = [rate('list-20'), times('list-20', 'node-http'), times('list-20', 'express')];
  const create = [rate('create-64'), times('create-64', 'express')];
  const own = [figure('start to first answer'), figure('memory, idle')];
  if ([...list, ...create, ...own].includes(undefined)) return undefined;
  return [
    `- A list of 20 categories over 64 connections, on one core: ${list[0]} a second, ${list[1]} times bare \`node:http\` with keys and limits, ${list[2]} times Express.`,
    `- A durable create over 64 connections: ${create[0]} a second, ${create[1]} times Express with a commit each.`,
    `- Start to first answer: ${own[0]} ms. Memory, idle: ${own[1]} MB.`,
    ...(calibration.isBusy ? ['- The machine was busy with something else.'] : []),
  ].join('\n');
}
