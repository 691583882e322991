import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { timeBesideSlow, tryWrongKeys } from '../test/kit/faults/floods.ts';
import { soakBesideHostile } from '../test/kit/faults/hostile.ts';
import { killDuringCreates, restartUnderLoad } from '../test/kit/faults/kills.ts';
import { restartPostgresUnderCreates } from '../test/kit/faults/postgres-restarts.ts';
import { rush, startInstances, timeFollowing } from '../test/kit/instances.ts';
import { noPostgres, temporaryDatabase } from '../test/kit/postgres.ts';
import { noPostgresPrograms } from '../test/kit/postgres-server.ts';
import { redisServerMissing } from '../test/kit/redis-server.ts';
import { describe, firstFailure } from '../test/simulator/simulation.ts';

/**
 * The longer versions of the fault tests: `npm run reliability [-- --quick] [PART ...]`. Writes each row into the table
 * of docs/reliability.md as soon as it is found, and leaves the others there. Fails when a promise was broken.
 */

const PAGE = fileURLToPath(new URL('../docs/reliability.md', import.meta.url));
const TABLE = /(<!-- figures -->\n)([\s\S]*)(<!-- \/figures -->)/;
const RECOVERY_MS_MAX = 5_000;
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const FOLLOWED_MS_MAX = 1_000;
const SIMULATED_SEEDS = 10_000;
const SIMULATED_STEPS = 120;

const HOSTILE_SECONDS = 300;
const FORGED_SECONDS = 60;
const HOSTILE_P99_FACTOR_MAX = 3;
const HOSTILE_MEMORY_BYTES_MAX = 400_000_000;

const isQuick = process.argv.includes('--quick');
const scaled = (count: number) => (isQuick ? Math.ceil(count / 20) : count);

/** The parts of a run by name. */
const PARTS: Readonly<Record<string, () => void | Promise<void>>> = {
  slow: runSlowTests,
  edge: runEdgeTests,
  simulator: simulate,
  faults: causeFaults,
  guesses: guessKeys,
  'slow-clients': serveBesideSlow,
  hostile: () => attack('Hostile callers behind nginx', { scale: 1, through: 'nginx' }),
  'hostile-caddy': () => attack('Hostile callers behind Caddy', { scale: 1, through: 'Caddy' }),
  'hostile-direct': () => attack('Hostile callers who reach the process directly', { scale: 1 }),
  'hostile-tenfold': () => attack('Ten times as many behind nginx', { scale: 10, through: 'nginx' }),
  forged: forgeKeys,
};

const named = process.argv.slice(2).filter((argument) => argument !== '--quick');
const unknown = named.find((name) => !(name in PARTS));
assert.ok(unknown === undefined, `There is no part ${unknown}; there are ${Object.keys(PARTS).join(', ')}`);
const all = Object.keys(PARTS).filter((name) => !isQuick || name !== 'slow');
let isKept = true;
for (const name of named.length > 0 ? named : all) await PARTS[name]?.();
assert.ok(isKept, 'a promise was broken');

/** Writes a row into the table, in the place of that of the same promise, if there is one. */
function note(promise: string, found: string, kept: boolean): void {
  isKept &&= kept;
  process.stderr.write(`${kept ? 'kept  ' : 'BROKEN'} ${promise}: ${found}\n`);
  if (isQuick) return;
  const when = `${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]?.toFixed(1)}`;
  const page = readFileSync(PAGE, 'utf8');
  const [, start = '', table = '', end = ''] = TABLE.exec(page) ?? [];
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && !/^\| (promise|---)/.test(line));
  const row = `| ${promise} | ${found} | ${kept ? 'kept' : '**broken**'} | ${when} |`;
  const place = rows.findIndex((each) => each.slice(2).startsWith(`${promise} `));
  rows.splice(place < 0 ? rows.length : place, place < 0 ? 0 : 1, row);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node.js ${process.versions.node}`;
  const lines = [`On ${machine}.`, '', '| promise | found | | when |', '|---|---|---|---|', ...rows];
  writeFileSync(
    PAGE,
    page.replace(TABLE, () => `${start}\n${lines.join('\n')}\n\n${end}`),
  );
}

function runSlowTests(): void {
  const slow = runTests('**/*.slow.ts');
  note('The tests that take long pass', `${slow.passed} of ${slow.tests} passed`, slow.tests > 0 && slow.isSuccess);
}

function runEdgeTests(): void {
  const edge = runTests('edge/{bodies,corpus,defects,pipelines,slow}.test.ts');
  note(
    'Every request that reaches the socket, however malformed, gets one right answer',
    `${edge.passed} of ${edge.tests} tests on raw sockets passed`,
    edge.passed === edge.tests && edge.tests > 400,
  );
}

async function simulate(): Promise<void> {
  const seeds = scaled(SIMULATED_SEEDS);
  const failedRun = await firstFailure(
    Array.from({ length: seeds }, (_, index) => index + 1),
    SIMULATED_STEPS,
  );
  if (failedRun) process.stderr.write(`${describe(failedRun)}\n`);
  note(
    'In any order of faults, limits, bans, revocations, creates and usage are as promised',
    failedRun
      ? `seed ${failedRun.seed} shows otherwise in ${failedRun.steps} steps`
      : `nothing broken in ${seeds} simulated runs of ${SIMULATED_STEPS} steps`,
    failedRun === undefined,
  );
}

async function causeFaults(): Promise<void> {
  const kills = await killDuringCreates(scaled(200), () => 20 + Math.random() * 250);
  note(
    'An acknowledged create outlives `kill -9`',
    `${kills.lost} of ${kills.acknowledged} acknowledged creates lost over ${kills.kills} kills`,
    kills.lost === 0 && kills.acknowledged > kills.kills,
  );
  note('An id is never used twice', `${kills.reusedIds} ids given again over the same kills`, kills.reusedIds === 0);

  const restarts = await restartUnderLoad(scaled(100));
  note(
    'A stop by SIGTERM drops no request',
    `${restarts.dropped} of ${restarts.answered + restarts.dropped} requests dropped over ${restarts.restarts} restarts under load`,
    restarts.dropped === 0,
  );
  note(
    '… and loses no create',
    `${restarts.lost} acknowledged creates lost over the same restarts`,
    restarts.lost === 0,
  );
  if (noPostgresPrograms) process.stderr.write(`skip   PostgreSQL: ${noPostgresPrograms}\n`);
  const servers = noPostgresPrograms
    ? undefined
    : await restartPostgresUnderCreates(scaled(50), () => 50 + Math.random() * 250);
  if (servers) {
    const { acknowledged, lost, doubled, unknownOutcomes, lostAnswers, slowestRecoveryMs } = servers;
    note(
      'Restarts and crashes of PostgreSQL lose and double no create that is retried with its Idempotency-Key',
      `${lost} of ${acknowledged} creates lost, ${doubled} doubled over ${servers.restarts} restarts; the answers to ${lostAnswers} commits were lost on purpose, and ${unknownOutcomes} creates were told as of unknown outcome`,
      lost === 0 && doubled === 0 && acknowledged > servers.restarts && unknownOutcomes >= lostAnswers,
    );
    note(
      'The service is back within 5 s of PostgreSQL',
      `the next create after ${Math.round(slowestRecoveryMs)} ms at worst`,
      slowestRecoveryMs < RECOVERY_MS_MAX,
    );
  }
  const counting = await countTogether(scaled(10));
  if (counting) {
    note(
      "Four instances admit exactly a key's limit of requests that come at once",
      `${counting.over} over and ${counting.under} under the 1,000 of each of ${counting.runs} keys, at 1,000 connections; Redis was given up ${counting.outages} times, in ${counting.shared} runs, which may admit the shares beside the limit`,
      counting.over === 0 && counting.under === 0 && counting.shared < counting.runs,
    );
    note(
      'Every list of four instances has a create of another one within a second',
      `after ${Math.round(counting.followedP99Ms)} ms (p99)`,
      counting.followedP99Ms < FOLLOWED_MS_MAX,
    );
  }
  const unexplained =
    (counting?.unexplained ?? 0) + kills.unexplained + restarts.unexplained + (servers?.unexplained.length ?? 0);
  note('No error without a reason', `${unexplained} unexpected answers in all of the above`, unexplained === 0);
}

async function guessKeys(): Promise<void> {
  const guesses = await tryWrongKeys(scaled(1_000_000));
  const grown = (guesses.grownBytes / 1024 / 1024).toFixed(1);
  note(
    'Guessing keys costs the service no memory',
    `${guesses.refused} of ${guesses.tries} distinct wrong keys answered with 401; ${grown} MiB more after the second half than after the first`,
    guesses.refused === guesses.tries && guesses.goodStatus === 200 && !(guesses.grownBytes > GROWTH_BYTES_MAX),
  );
}

async function serveBesideSlow(): Promise<void> {
  // Together below CONNECTIONS_MAX, beyond which a new connection may be closed.
  const slow = await timeBesideSlow({ slow: scaled(900), idle: scaled(3_000), requests: scaled(5_000) });
  note(
    'Slow and idle connections do not slow down a good client to more than twice its p99',
    `p99 ${slow.aloneP99Ms.toFixed(2)} ms alone, ${slow.besideP99Ms.toFixed(2)} ms beside ${slow.slow} slow and ${slow.idle} idle connections; ${slow.unexplained} unexpected answers`,
    slow.unexplained === 0 && slow.besideP99Ms <= Math.max(2 * slow.aloneP99Ms, 5),
  );
}

async function attack(callers: string, how: { scale: number; through?: 'nginx' | 'Caddy' }): Promise<void> {
  const { quietP99Ms, besideP99Ms, seconds, memoryBytesMax, unexplained } = await soakBesideHostile({
    seconds: scaled(HOSTILE_SECONDS),
    ...how,
  });
  const p99 = how.through === 'nginx' ? 'the p99 of another key within three times its quiet value, and ' : '';
  const isSlow = how.through === 'nginx' && besideP99Ms > HOSTILE_P99_FACTOR_MAX * quietP99Ms;
  note(
    `${callers} leave ${p99}the memory below 400 MB`,
    `p99 ${quietP99Ms.toFixed(2)} ms alone, ${besideP99Ms.toFixed(2)} ms over ${seconds} s beside pipelines, unread answers, largest bodies, bodies in chunks of a byte, floods of refusals, forged keys, heads of 990 headers, unfinished heads and packets of the smallest requests; ${Math.round(memoryBytesMax / 1e6)} MB at most; ${unexplained} unexpected answers`,
    unexplained === 0 && !isSlow && memoryBytesMax < HOSTILE_MEMORY_BYTES_MAX,
  );
}

/** A flood of keys that have the right checksum, and so are looked up. */
async function forgeKeys(): Promise<void> {
  if (noPostgres) return void process.stderr.write(`skip   forged keys: ${noPostgres}\n`);
  await using database = await temporaryDatabase();
  const { quietP99Ms, besideP99Ms, seconds, requests, unexplained } = await soakBesideHostile({
    seconds: scaled(FORGED_SECONDS),
    manners: ['forged'],
    postgresUrl: database.url,
  });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  );
  await client.end();
  note(
    '1,900 forged keys a second leave the p99 of another key on PostgreSQL within three times its quiet value',
    `p99 ${quietP99Ms.toFixed(2)} ms alone, ${besideP99Ms.toFixed(2)} ms over ${seconds} s; ${rows[0]?.count} transactions from the first migration to the end, for ${requests} requests of that key and all forged ones; ${unexplained} unexpected answers`,
    unexplained === 0 && besideP99Ms <= HOSTILE_P99_FACTOR_MAX * quietP99Ms,
  );
}

/** Undefined, and said so, where PostgreSQL or Redis is missing. */
async function countTogether(runs: number) {
  const missing = noPostgres || redisServerMissing();
  if (missing) {
    process.stderr.write(`skip   several instances: ${missing}\n`);
    return undefined;
  }
  await using instances = await startInstances(4);
  let [over, under, shared, unexplained] = [0, 0, 0, 0];
  for (let run = 1; run <= runs; run += 1) {
    const outages = instances.outages();
    const secret = await instances.command('keys', 'create', '--name', `rush ${run}`, '--plan', 'business');
    const { admitted, unexpected } = await rush(instances.services, secret, { connections: 1_000, requests: 2_000 });
    // Without Redis each instance admits its share on top of what was counted, and a count whose answer is late is lost.
    const isShared = instances.outages() > outages;
    if (isShared) shared += 1;
    over += Math.max(0, admitted - (isShared ? 2_000 : 1_000));
    if (!isShared) under += Math.max(0, 1_000 - admitted);
    unexplained += unexpected.length;
  }
  const limits = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
  const secret = await instances.command('keys', 'create', '--name', 'following', ...limits);
  const followedMs = (await timeFollowing(instances.services, secret, 20 * runs)).sort((one, other) => one - other);
  const followedP99Ms = followedMs[Math.floor(followedMs.length * 0.99)] ?? Number.NaN;
  return { runs, over, under, shared, unexplained, followedP99Ms, outages: instances.outages() };
}

function runTests(files: string): { tests: number; passed: number; isSuccess: boolean } {
  const folder = fileURLToPath(new URL('../test/', import.meta.url));
  const { status, stdout } = spawnSync(
    process.execPath,
    ['--test', '--test-reporter=tap', '--test-concurrency=2', `${folder}${files}`],
    { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX },
  );
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1]);
  return { tests: count('tests'), passed: count('pass'), isSuccess: status === 0 };
}
