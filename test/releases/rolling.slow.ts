import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { query } from '../kit/postgres-server.ts';
import { type RunOptions, runProcess, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { temporaryFolder } from '../kit/service.ts';
import { type Load, loadInstances } from './load.ts';
import { laterRelease, type Program, presentRelease, releaseBefore } from './programs.ts';

/**
 * Four instances under load are upgraded one by one, and rolled back: from the release before, as it was published, to
 * this one, and from this one to a pretended next one, which adds columns, a table and an index.
 */

const INSTANCES = 4;
/** Creates of a run, at the least. */
const CREATES = 20;
const ADDS = {
  name: '901-colours',
  statements: [
    ...['categories', 'api_keys'].map((table) => `alter table ${table} add column colour text`),
    'create table later (id text primary key)',
    'create index later_by_name on categories (name)',
  ],
};
const REMOVES = { name: '902-removes@99.0.0', statements: ['alter table usage drop column first_at'] };
const UNLIMITED = '--plan enterprise --per-minute 1000000000 --per-day 1000000000';
const NEEDS_LATER =
  /its tables need (\d+\.\d+\.\d+) or later; install that(?: version)?, or restore a backup from before it/;
const skip = noPostgres || (redisServerMissing() ?? false);

test('four instances go from the release before to this one', { skip }, async (t) => {
  await using place = await openPlace();
  const [before, present] = [releaseBefore(place.folder), presentRelease()];
  if (!(await refusesTablesOf(present, before))) return await rolled(t, place, { before, next: present });

  // The tables of the two cannot be used side by side: docs/operations.md has all instances stopped first.
  const { fleet, options } = place;
  const secret = await startAll(place, before);
  await using load = loadInstances(() => fleet.urls, secret);
  await untilTrue(() => load.created.size > CREATES, 'creates at the release before');
  await load.stop();
  await fleet.stop();
  await fleet.put(0, present);
  const { code, stderr } = await runProcess(['serve'], { ...options, command: before.command });
  assert.deepEqual([code, NEEDS_LATER.test(stderr)], [1, true], stderr);
  for (const each of [1, 2, 3]) await fleet.put(each, present);
  await assertServed(t, { load, url: fleet.urls[3] ?? '', secret });
});

test('four instances go from this release to the next one and back, and no request fails', { skip }, async (t) => {
  await using place = await openPlace();
  const present = presentRelease();
  const next = laterRelease(place.folder, '98.0.0', [ADDS]);
  const later = laterRelease(place.folder, '99.0.0', [ADDS, REMOVES]);
  await rolled(t, place, { before: present, next });
  assert.match((await appliedMigrations(place.options.env.DATABASE_URL)).join(), /901-colours/);
  await t.test('migrations that do not only add are refused by both, with the release to use', async () => {
    await place.fleet.stop();
    await succeeds(later, 'migrate', place.options);
    for (const { command } of [present, next]) {
      const { code, stderr } = await runProcess(['serve'], { ...place.options, command });
      assert.deepEqual([code, NEEDS_LATER.exec(stderr)?.[1]], [1, '99.0.0'], stderr);
    }
    await place.fleet.put(0, later);
  });
});

interface Rolled {
  readonly before: Program;
  readonly next: Program;
}

/** Rolls all instances from a release to the next one and back, under load, and looks what became of that. */
async function rolled(t: TestContext, place: Place, { before, next }: Rolled): Promise<void> {
  const { fleet } = place;
  const secret = await startAll(place, before);
  await using load = loadInstances(() => fleet.urls, secret);
  await t.test('one is upgraded, which migrates while the others run on', () => served(load, () => fleet.put(0, next)));
  await t.test('one of the release before restarts on the migrated tables', () =>
    served(load, () => fleet.put(1, before)),
  );
  await t.test('the others are upgraded', async () => {
    for (const each of [1, 2, 3]) await served(load, () => fleet.put(each, next));
  });
  await t.test('all of them are rolled back', async () => {
    for (let each = 0; each < INSTANCES; each += 1) await served(load, () => fleet.put(each, before));
  });
  await load.stop();
  await t.test('no request failed, no create was lost, and none was doubled', () =>
    assertServed(t, { load, url: fleet.urls[0] ?? '', secret }),
  );
}

interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly fleet: Fleet;
  readonly options: RunOptions & { readonly env: { readonly DATABASE_URL: string } };
}

async function openPlace(): Promise<Place> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(temporaryFolder());
  const database = started.use(await temporaryDatabase());
  const redis = started.use(await startRedis());
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    INSTANCES: `${INSTANCES}`,
    CATEGORIES_MAX: '1000000',
  };
  const options = { cwd: folder.path, env };
  const fleet = started.use(new Fleet(options));
  const opened = started.move();
  return { folder: folder.path, fleet, options, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Starts all instances of a release, and returns a key. */
async function startAll({ fleet, options }: Place, program: Program): Promise<string> {
  const secret = await succeeds(program, `keys create --name load ${UNLIMITED}`, options);
  for (let each = 0; each < INSTANCES; each += 1) await fleet.put(each, program);
  return secret;
}

/** Whether a release refuses the tables that another one makes. */
async function refusesTablesOf(one: Program, other: Program): Promise<boolean> {
  await using database = await temporaryDatabase();
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { DATABASE_URL: database.url } };
  await succeeds(one, 'migrate', options);
  const { code, stderr } = await runProcess(['keys', 'list'], { ...options, command: other.command });
  assert.ok(code === 0 || NEEDS_LATER.test(stderr), stderr);
  return code !== 0;
}

/** Instances by their place behind a proxy. */
class Fleet implements AsyncDisposable {
  readonly #options: RunOptions;
  readonly #services: (ServiceProcess | undefined)[] = [];

  constructor(options: RunOptions) {
    this.#options = options;
  }

  /** The addresses of those that run. */
  get urls(): string[] {
    return this.#services.flatMap((service) => (service ? [service.url] : []));
  }

  /** Stops the instance of a place, while it is still called, and starts that of a release. */
  async put(place: number, { command, version }: Program): Promise<void> {
    const code = await this.#services[place]?.end();
    assert.ok(code === undefined || code === 0, `it ended with ${code}`);
    this.#services[place] = undefined;
    const service = await serveProcess([], { ...this.#options, command });
    this.#services[place] = service;
    await untilTrue(() => service.output.stderr.includes(`"version":"${version}"`), `the start of ${version}`);
  }

  async stop(): Promise<void> {
    for (const [place, service] of this.#services.entries()) {
      assert.equal(await service?.end(), 0);
      this.#services[place] = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#services) await service?.[Symbol.asyncDispose]();
  }
}

/** Does something, and waits until requests were answered after it as well. */
async function served(load: Load, work: () => Promise<void>): Promise<void> {
  await work();
  const answered = load.answered();
  await untilTrue(() => load.answered() > answered + 10, 'ten answers');
}

interface Served {
  readonly load: Load;
  readonly url: string;
  readonly secret: string;
}

async function assertServed(t: TestContext, { load, url, secret }: Served): Promise<void> {
  assert.deepEqual(load.failed, []);
  assert.ok(load.created.size > CREATES, `${load.created.size} creates`);
  assert.deepEqual(await namesAt(url, secret), load.created);
  t.diagnostic(`${load.answered()} answers, ${load.repeated()} repeated, ${load.created.size} creates`);
}

/** The ids of all categories by their names, each of which is there once. */
async function namesAt(url: string, secret: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/categories`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(response.status, 200);
  const listed = (await response.json()) as { id: number; name: string }[];
  const names = new Map(listed.map(({ id, name }) => [name, id]));
  assert.deepEqual([names.size, new Set(names.values()).size], [listed.length, listed.length]);
  return names;
}

async function succeeds({ command }: Program, args: string, options: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await runProcess(args.split(' '), { ...options, command });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

async function appliedMigrations(url: string): Promise<unknown[]> {
  return (await query(url, 'select name from kysely_migration')).map(({ name }) => name);
}
