import type { Calibration } from './calibration.ts';
import type { Figure } from './figures.ts';
import { type Machine, pinnedVersions } from './machine.ts';
import { type Plot, plotSvg } from './plot.ts';
import { ratio, type Scale, type Series } from './rounds.ts';
import type { Point } from './shapes.ts';
import { number, type Spread, spread } from './statistics.ts';
import type { Workload } from './workload.ts';

/** The results of a run. */
export interface Run {
  readonly machine: Machine;
  readonly calibration: Calibration;
  readonly scale: Scale;
  readonly isQuick: boolean;
  readonly workloads: readonly { readonly workload: Workload; readonly series: readonly Series[] }[];
  readonly figures: readonly Figure[];
  readonly skipped: readonly string[];
  readonly tookSeconds: number;
}

/** The report as Markdown, and the plots by file name. */
export function report(run: Run): { markdown: string; plots: Map<string, string> } {
  const plots = new Map<string, string>();
  const sections = run.workloads
    .filter(({ series }) => series.length > 0)
    .map(({ workload, series }) => section(workload, series, plots));
  const short = summary(run);
  const markdown = [
    '# Results',
    `Written by \`npm run bench${run.isQuick ? ' -- --quick' : ''}\` in ${number(run.tookSeconds)} s. Ratios compare rates of the same round and are what to go by; rates are this machine’s.`,
    quietness(run),
    machineTable(run),
    ...(short ? ['## In short', short] : []),
    '## Targets',
    targets(run),
    ...(run.skipped.length > 0 ? [`Not measured:\n\n${run.skipped.map((line) => `- ${line}`).join('\n')}`] : []),
    ...sections,
  ];
  return { markdown: `${markdown.join('\n\n')}\n`, plots };
}

/** Whether the machine did something else meanwhile, and how far the rounds are apart. */
function quietness({ calibration: { ms, taken, together, apart, isBusy } }: Run): string {
  const verdict = isBusy ? '**The machine was busy with something else.**' : 'The machine was quiet.';
  const percent = (value: number) => `${number(value)} %`;
  return `${verdict} A fixed piece of work on each core, before every round and at the end, took ${ranged(ms)} ms, ${ranged(taken)} times the processor time that it got; on both cores at once ${ranged(together)} times as long as on one. The rounds of a contender were ${percent(apart.median)} apart in the median, ${percent(apart.max)} at most.`;
}

function machineTable({ machine, scale }: Run): string {
  const cores = machine.pins ? 'servers on one core, the load on another' : 'servers and load share all cores';
  const { rounds, seconds, warmUpSeconds } = scale;
  return table(
    ['', ''],
    [
      ['machine', `${machine.processor}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}; ${cores}`],
      ['service', `${machine.revision}, default settings but for room for a million categories`],
      ['Node.js', machine.node],
      ['load', machine.wrk ? `wrk ${machine.wrk}` : 'autocannon'],
      [
        'peers',
        [...['fastify', 'express'].map(pinnedVersions), `nginx ${machine.nginx ?? 'not installed'}`].join('; '),
      ],
      ['rounds', `${rounds} of ${seconds} s for each contender in turn, after ${warmUpSeconds} s to warm up`],
      ['date', machine.date],
    ],
  );
}

function targets({ workloads, figures }: Run): string {
  const rates = workloads.flatMap(({ workload, series }) =>
    workload.targets.map(({ of, against, atLeast, orAbove }) => {
      const found = ratio(series, of, against, workload.unit);
      const other = orAbove && ratio(series, orAbove.of, orAbove.against, workload.unit)?.median;
      const least = orAbove && other !== undefined ? Math.min(atLeast, other + orAbove.by) : atLeast;
      const target = least === atLeast ? `≥ ${atLeast}` : `≥ ${number(least)}, by that of ${orAbove?.of}`;
      const what = `${workload.title}: ${of} ÷ ${against}`;
      return [what, found ? ranged(found) : 'not measured', target, verdict(found && found.median >= least)];
    }),
  );
  const rest = figures.map(({ name, unit, values, atMost }) => {
    const found = spread(values);
    const target = atMost === undefined ? '' : `≤ ${atMost} ${unit}`;
    const isMet = atMost === undefined ? undefined : found.median <= atMost;
    return [name, `${ranged(found)} ${unit}`, target, verdict(isMet)];
  });
  return table(['figure', 'median (least–most)', 'target', ''], [...rates, ...rest]);
}

function section(workload: Workload, series: readonly Series[], plots: Map<string, string>): string {
  const [first] = series;
  const rows = series.map((each) => {
    const rate = spread(workload.unit === 'MB' ? each.mbPerSecond : each.perSecond);
    const beside = first && ratio(series, first.name, each.name, workload.unit);
    return [
      ...[each.name, each === first || !beside ? '' : ranged(beside), ranged(rate)],
      ...[each.processorMicros, each.p99Ms].map((values) => number(spread(values).median)),
      number(each.residentMb),
    ];
  });
  const unit = workload.unit === 'MB' ? 'MB/s' : 'requests/s';
  const head = ['', `${first?.name} ÷ this`, unit, 'processor µs', 'p99 ms', 'memory MB'];
  return [
    `## ${workload.title}`,
    workload.about,
    table(head, rows),
    ...(workload.curve ? curve(workload, workload.curve, series, plots) : []),
  ].join('\n\n');
}

function curve(
  { name, title }: Workload,
  { x, shape }: NonNullable<Workload['curve']>,
  series: readonly Series[],
  plots: Map<string, string>,
): string[] {
  const onCurve = series.filter((each) => each.x !== undefined);
  const points = onCurve.map((each): Point => {
    const perSecond = spread(each.perSecond).median;
    return { x: each.x ?? 0, perSecond, mbPerSecond: spread(each.mbPerSecond).median };
  });
  const height = (rate: number) => (shape.y === 'microseconds per answer' ? 1e6 / rate : rate);
  const plot: Plot = {
    ...{ title, x, y: shape.y },
    points: onCurve.map((each) => ({ x: each.x ?? 0, y: spread(each.perSecond.map(height)) })),
  };
  plots.set(`${name}.svg`, plotSvg(plot));
  const { holds, sentence } = shape.judge(points);
  return [
    `![${title}: ${shape.y} by ${x}](plots/${name}.svg)`,
    `Expected: ${shape.expected}. ${holds ? 'It holds' : '**It does not hold**'}: ${sentence}.`,
  ];
}

function verdict(isMet: boolean | undefined): string {
  if (isMet === undefined) return '';
  return isMet ? 'met' : '**missed**';
}

function ranged({ median, min, max }: Spread): string {
  return min === max ? number(median) : `${number(median)} (${number(min)}–${number(max)})`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The figures in short: Markdown, or undefined if the run left one of them out. */
function summary({ workloads, figures, calibration }: Run): string | undefined {
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
