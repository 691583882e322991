import type { Figure } from './figures.ts';
import { type Machine, pinnedVersions } from './machine.ts';
import { ratio, type Scale, type Series } from './rounds.ts';
import { number, type Spread, spread } from './statistics.ts';
import type { Workload } from './workload.ts';

/** The rounds of one workload. */
export interface Result {
  readonly workload: Workload;
  readonly series: readonly Series[];
}

/** The results of a run. */
export interface Run {
  readonly machine: Machine;
  readonly scale: Scale;
  readonly isQuick: boolean;
  readonly workloads: readonly Result[];
  readonly figures: readonly Figure[];
  readonly skipped: readonly string[];
  readonly tookSeconds: number;
}

/** The report as Markdown. */
export function report(run: Run): string {
  const sections = run.workloads
    .filter(({ series }) => series.length > 0)
    .map(({ workload, series }) => section(workload, series));
  const short = summary(run);
  const markdown = [
    '# Results',
    `Written by \`npm run bench${run.isQuick ? ' -- --quick' : ''}\` in ${number(run.tookSeconds)} s. Ratios compare rates of the same round and are what to go by; rates are this machine’s.`,
    machineTable(run),
    ...(short ? ['## In short', short] : []),
    ...(run.skipped.length > 0 ? [`Not measured:\n\n${run.skipped.map((line) => `- ${line}`).join('\n')}`] : []),
    ...sections,
    ...(run.figures.length > 0 ? ['## Start and memory', ownFigures(run)] : []),
  ];
  return `${markdown.join('\n\n')}\n`;
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

/** The targets beside what was measured, as a Markdown table: for those who work on the code. */
export function targets({ workloads, figures }: Run): string {
  const rates = workloads.flatMap(({ workload, series }) =>
    workload.targets.map((target) => {
      const what = `${workload.title}: ${target.of} ÷ ${target.against}`;
      if ('p99AtMost' in target) {
        const found = ratio(series, target.of, target.against, 'p99Ms');
        const isMet = found && found.median <= target.p99AtMost;
        return [`${what}, p99`, found ? ranged(found) : 'not measured', `≤ ${target.p99AtMost}`, verdict(isMet)];
      }
      const { of, against, atLeast, orAbove } = target;
      const found = ratio(series, of, against, rateOf(workload));
      const other = orAbove && ratio(series, orAbove.of, orAbove.against, rateOf(workload))?.median;
      const least = orAbove && other !== undefined ? Math.min(atLeast, other + orAbove.by) : atLeast;
      const wanted = least === atLeast ? `≥ ${atLeast}` : `≥ ${number(least)}, by that of ${orAbove?.of}`;
      return [what, found ? ranged(found) : 'not measured', wanted, verdict(found && found.median >= least)];
    }),
  );
  const rest = figures.flatMap(({ name, unit, values, atMost }) => {
    if (atMost === undefined) return [];
    const found = spread(values);
    return [[name, `${ranged(found)} ${unit}`, `≤ ${atMost} ${unit}`, verdict(found.median <= atMost)]];
  });
  return table(['figure', 'median (least–most)', 'target', ''], [...rates, ...rest]);
}

function ownFigures({ figures }: Run): string {
  return table(
    ['', 'median (least–most)'],
    figures.map(({ name, unit, values }) => [name, `${ranged(spread(values))} ${unit}`]),
  );
}

function rateOf({ unit }: Workload): 'mbPerSecond' | 'perSecond' {
  return unit === 'MB' ? 'mbPerSecond' : 'perSecond';
}

function section(workload: Workload, series: readonly Series[]): string {
  const [first] = series;
  const rows = series.map((each) => {
    const rate = spread(each[rateOf(workload)]);
    const beside = first && ratio(series, first.name, each.name, rateOf(workload));
    return [
      ...[each.name, each === first || !beside ? '' : ranged(beside), ranged(rate)],
      ...[each.processorMicros, each.p99Ms].map((values) => number(spread(values).median)),
      number(each.residentMb),
    ];
  });
  const unit = workload.unit === 'MB' ? 'MB/s' : 'requests/s';
  const head = ['', `${first?.name} ÷ this`, unit, 'processor µs', 'p99 ms', 'memory MB'];
  return [`## ${workload.title}`, workload.about, table(head, rows)].join('\n\n');
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
function summary({ workloads }: Run): string | undefined {
  const found = (name: string, peers: readonly string[]) => {
    const series = workloads.find(({ workload }) => workload.name === name)?.series ?? [];
    const service = series.find((each) => each.name === 'service');
    const beside = peers.map((peer) => ratio(series, 'service', peer, 'perSecond'));
    if (!service || beside.includes(undefined)) return undefined;
    return { rate: number(spread(service.perSecond).median), times: beside.map((each) => each && number(each.median)) };
  };
  const list = found('list-20', ['same-work', 'express']);
  const create = found('create-64', ['same-work', 'express']);
  if (!list || !create) return undefined;
  const [work, express] = ['bare `node:http` that does the same work', 'Express with its usual plugins'];
  return [
    `- A list of 20 categories over 64 connections, on one core: ${list.rate} a second, ${list.times[0]} times ${work}, ${list.times[1]} times ${express}.`,
    `- A durable create over 64 connections: ${create.rate} a second, ${create.times[0]} times ${work}, ${create.times[1]} times ${express}, which commits each by itself.`,
  ].join('\n');
}
