import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Load, loadOf, measure } from './load.ts';
import { BENCH, described, pinned, revisionOf, SERVER_CORE, untilQuiet } from './machine.ts';
import { addKeys, processorSeconds, type Server, type Service, startPeer, startService } from './servers.ts';

/**
 * `npm run bench [-- --quick] [--wait] [--only NAME] [--against CHECKOUT]`: the service beside peers, and beside another
 * checkout of it, in turns. A whole run writes `results.md`; one with `--only` prints.
 */

/** At most a quarter of an hour: 22 contenders, each started once and measured in every round. */
const FULL = { rounds: 9, warmUpSeconds: 4 };
const QUICK = { rounds: 3, warmUpSeconds: 2 };
const ROUND_SECONDS = 1;
/** A warm-up sends each of many calls once, at this rate. */
const CALLS_PER_SECOND_MIN = 5_000;
/** How long `--wait` waits for a quiet machine, in all. */
const WAIT_MS_MAX = 300_000;
const KEYS = 100_000;
const MANY = 1_024;
const HERE = join(BENCH, '..');

interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly load: Load;
}

/** The rounds of a contender. */
interface Series {
  readonly perSecond: number[];
  readonly p99Ms: number[];
  /** Processor time of the server for each answer, which a busy machine disturbs less than the rate. */
  readonly micros: number[];
}
type Rounds = ReadonlyMap<string, Series>;

interface Workload {
  readonly name: string;
  readonly title: string;
  contenders(): Promise<Contender[]>;
  readonly targets: readonly Target[];
}

/** A figure of a workload that must not be less, or more, than a number. */
interface Target {
  readonly what: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  figure(rounds: Rounds): number;
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    wait: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    against: { type: 'string' },
  },
});
const { rounds: ROUNDS, warmUpSeconds } = values.quick ? QUICK : FULL;
const before = values.against === undefined ? undefined : resolve(values.against);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.setMaxListeners(100);
// A real disk, which a temporary folder may not be: a create waits for its fsync.
mkdirSync(join(BENCH, 'data'), { recursive: true });
const folder = mkdtempSync(join(BENCH, 'data', 'run-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const startedMs = performance.now();
const quietUntilMs = startedMs + WAIT_MS_MAX;
let busiest = 0;

const WORKLOADS: readonly Workload[] = [
  {
    name: 'list',
    title: 'List of 20 categories over 64 connections',
    contenders: () => beside('list', 64, ['node-http', 'same-work', 'fastify', 'express', 'nginx']),
    targets: [
      atLeast('node-http', 0.75),
      atLeast('same-work', 0.95),
      atLeast('fastify', 1.05),
      atLeast('express', 2.5),
      { ...p99('same-work'), atMost: 1.3 },
      ...sinceBefore(1.1),
    ],
  },
  {
    name: 'create-64',
    title: 'Durable create over 64 connections',
    contenders: () => beside('create', 64, ['same-work', 'express']),
    targets: [atLeast('express', 8), ...sinceBefore(1)],
  },
  {
    name: 'create-1',
    title: 'Durable create over one connection, and a list',
    contenders: async () => {
      const creates = await beside('create', 1, ['express']);
      const service = await started(HERE);
      const load = loadOf('list', { secrets: [service.secret], connections: 1, folder });
      return [...creates, { name: 'a list', server: service, load }];
    },
    targets: [
      {
        what: 'a create ÷ (the round trip of a list and a bare commit)',
        atLeast: 0.9,
        figure: (rounds) => {
          const [create, list] = [rate(rounds, 'service'), rate(rounds, 'a list')];
          return create * (1 / list + commitMicros() / 1e6);
        },
      },
      ...sinceBefore(1),
    ],
  },
  {
    name: 'keys',
    title: `List with ${KEYS.toLocaleString('en')} keys in turn`,
    contenders: async () => {
      const [one, many] = [await started(HERE), await started(HERE)];
      const secrets = addKeys(many.file, KEYS);
      return [
        contender('one key', one, loadOf('list', { secrets: [one.secret], connections: 64, folder })),
        contender('many keys', many, loadOf('list', { secrets, connections: 64, folder })),
      ];
    },
    targets: [{ ...atLeast('one key', 0.85), what: 'many keys ÷ one key', figure: ratioOf('many keys', 'one key') }],
  },
  {
    name: 'connections',
    title: `List over ${MANY.toLocaleString('en')} connections`,
    contenders: async () => {
      const service = await started(HERE);
      const peer = opened.use(await startPeer('node-http', folder, service));
      const at = (name: string, server: Server) =>
        [64, MANY].map((connections) =>
          contender(
            `${name}, ${connections}`,
            server,
            loadOf('list', { secrets: [service.secret], connections, folder }),
          ),
        );
      return [...at('service', service), ...at('node-http', peer)];
    },
    targets: [
      {
        what: `the share kept at ${MANY} connections ÷ that of node-http`,
        atLeast: 1,
        figure: (rounds) => {
          const kept = (name: string) => ratioOf(`${name}, ${MANY}`, `${name}, 64`)(rounds);
          return kept('service') / kept('node-http');
        },
      },
    ],
  },
];

const unknown = values.only?.find((name) => WORKLOADS.every((each) => each.name !== name));
if (unknown !== undefined)
  throw new Error(`There is no workload ${unknown}; there are ${WORKLOADS.map(({ name }) => name).join(', ')}`);

const sections: string[] = [];
const judged: string[] = [];
const short: string[] = [];
let opened = new AsyncDisposableStack();
for (const workload of WORKLOADS.filter(({ name }) => values.only?.includes(name) ?? true)) {
  opened = new AsyncDisposableStack();
  await using _servers = opened;
  process.stderr.write(`${workload.name} …\n`);
  const rounds = await run(await workload.contenders());
  sections.push(`## ${workload.title}\n\n${table(rounds)}`);
  for (const target of workload.targets) judged.push(verdict(workload, target, rounds));
  short.push(inShort(workload, rounds));
}
report();

/** Measures contenders in turn, round by round: A B C, C B A, so that a drift takes no side. */
async function run(contenders: readonly Contender[]): Promise<Rounds> {
  const rounds = new Map(
    contenders.map(({ name }): [string, Series] => [name, { perSecond: [], p99Ms: [], micros: [] }]),
  );
  for (const { server, load } of contenders)
    await measure(server.origin, load, Math.max(warmUpSeconds, load.calls / CALLS_PER_SECOND_MIN));
  for (let round = 0; round < ROUNDS; round += 1) {
    if (values.wait) busiest = Math.max(busiest, await untilQuiet(quietUntilMs));
    for (const { name, server, load } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const usedBefore = processorSeconds(server.pid);
      const { requests, perSecond, p99Ms } = await measure(server.origin, load, ROUND_SECONDS);
      rounds.get(name)?.micros.push(((processorSeconds(server.pid) - usedBefore) * 1e6) / requests);
      rounds.get(name)?.perSecond.push(perSecond);
      rounds.get(name)?.p99Ms.push(p99Ms);
    }
  }
  return rounds;
}

/** The service, the other checkout of it, and peers, each under the same load. */
async function beside(kind: 'list' | 'create', connections: number, peers: readonly string[]): Promise<Contender[]> {
  const service = await started(HERE);
  const load = loadOf(kind, { secrets: [service.secret], connections, folder });
  const found = [contender('service', service, load)];
  if (before !== undefined) {
    const other = await started(before);
    found.push(contender('before', other, loadOf(kind, { secrets: [other.secret], connections, folder })));
  }
  for (const name of peers) found.push(contender(name, opened.use(await startPeer(name, folder, service)), load));
  return found;
}

async function started(checkout: string): Promise<Service> {
  return opened.use(await startService(checkout, folder));
}

function contender(name: string, server: Server, load: Load): Contender {
  return { name, server, load };
}

/** The microseconds of a bare commit of `node:sqlite`, on the servers' core. */
function commitMicros(): number {
  const command = [process.execPath, join(BENCH, 'commits.js'), join(folder, `commits-${process.hrtime.bigint()}.db`)];
  const [program = '', ...args] = pinned(SERVER_CORE, command);
  return Number(execFileSync(program, args, { encoding: 'utf8' }));
}

function atLeast(against: string, share: number): Target {
  return { what: `service ÷ ${against}`, atLeast: share, figure: ratioOf('service', against) };
}

function sinceBefore(share: number): Target[] {
  return before === undefined ? [] : [atLeast('before', share)];
}

function p99(against: string): Target {
  return {
    what: `p99 of the service ÷ ${against}`,
    figure: (rounds) => median(ratios(rounds, 'p99Ms', 'service', against)),
  };
}

function ratioOf(of: string, against: string): (rounds: Rounds) => number {
  return (rounds) => median(ratios(rounds, 'perSecond', of, against));
}

/** The ratio of two contenders in each round. */
function ratios(rounds: Rounds, measureOf: keyof Series, of: string, against: string): number[] {
  const [upper = [], lower = []] = [rounds.get(of)?.[measureOf], rounds.get(against)?.[measureOf]];
  return upper.map((value, round) => value / (lower[round] ?? Number.NaN));
}

function rate(rounds: Rounds, name: string): number {
  return median(rounds.get(name)?.perSecond ?? []);
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

function table(rounds: Rounds): string {
  const [first = ''] = rounds.keys();
  const rows = [...rounds].map(([name, { perSecond, p99Ms, micros }]) => {
    const shares = ratios(rounds, 'perSecond', first, name);
    const share = `${median(shares).toFixed(2)} (${Math.min(...shares).toFixed(2)}–${Math.max(...shares).toFixed(2)})`;
    return `| ${name} | ${name === first ? '' : share} | ${count(median(perSecond))} | ${median(micros).toFixed(1)} | ${median(p99Ms).toFixed(2)} |`;
  });
  return [`|  | ${first} ÷ this | a second | processor µs | p99 ms |`, '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function verdict({ name }: Workload, { what, atLeast: least, atMost: most, figure }: Target, rounds: Rounds): string {
  const value = figure(rounds);
  const isMet = value >= (least ?? Number.NEGATIVE_INFINITY) && value <= (most ?? Number.POSITIVE_INFINITY);
  const bound = least === undefined ? `at most ${most}` : `at least ${least}`;
  return `| ${name} | ${what} | ${value.toFixed(2)} | ${bound} | ${isMet ? 'met' : '**missed**'} |`;
}

/** The sentence on the first contender. */
function inShort({ title }: Workload, rounds: Rounds): string {
  const [first = '', ...others] = rounds.keys();
  const said = others.map((name) => `${ratioOf(first, name)(rounds).toFixed(2)} times ${peerNamed(name)}`);
  return `- ${title}: ${count(rate(rounds, first))} a second, ${said.join(', ')}.`;
}

function peerNamed(name: string): string {
  const names: Readonly<Record<string, string>> = {
    'node-http': 'bare `node:http` with three headers',
    'same-work': 'bare `node:http` that does the same work',
    fastify: 'Fastify with its two plugins',
    express: 'Express with its usual plugins',
    before: `the service at ${before === undefined ? '' : revisionOf(before)}`,
  };
  return names[name] ?? name;
}

function report(): void {
  const machine = [
    ...described(),
    ['rounds', `${ROUNDS} of ${ROUND_SECONDS} s for each in turn, servers on one core, wrk on the other`],
    [
      'load average at the end',
      `${loadavg()[0]?.toFixed(1)}${values.wait ? `; ${Math.round(busiest * 100)} % busy at most before a round` : ''}`,
    ],
  ];
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  const text = [
    '# Results',
    `Written by \`npm run bench\` in ${seconds} s. Ratios compare rates of the same round and are what to go by; rates are this machine’s.`,
    ['|  |  |', '| --- | --- |', ...machine.map(([name, value]) => `| ${name} | ${value} |`)].join('\n'),
    `## In short\n\n${short.join('\n')}`,
    ...sections,
    `## Targets\n\n${['| workload | figure | found | wanted |  |', '| --- | --- | --- | --- | --- |', ...judged].join('\n')}`,
  ].join('\n\n');
  process.stdout.write(`${text}\n`);
  if (!values.only) writeFileSync(join(BENCH, 'results.md'), `${text}\n`);
}
