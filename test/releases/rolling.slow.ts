import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { query } from '../kit/postgres-server.ts';
import { type RunOptions, runProcess, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { type Load, loadInstances } from '../kit/releases/load.ts';
import { laterRelease, type Program, releaseBefore } from '../kit/releases/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

/**
 * Four instances under load are upgraded one by one, and rolled back: the release before, packed, and a later one whose
 * migrations add to the tables that every request reads or writes.
 */

const INSTANCES = 4;
const TABLES = ['api_keys', 'api_key_secrets', 'bans', 'categories', 'create_outcomes', 'usage', 'window_counts'];
const ADDS = {
  name: '901-adds',
  // At once: requests wait for it, and they wait 0.9 s at most.
  statements: [
    [
      ...TABLES.map((table) => `alter table ${table} add column later text default 'x'`),
      'create table later (id text primary key)',
      'create index later_by_name on categories (name)',
    ].join('; '),
  ],
};
const REMOVES = { name: '902-removes@99.0.0', statements: ['alter table usage drop column first_at'] };
const UNLIMITED = '--plan enterprise --per-minute 1000000000 --per-day 1000000000';
const skip = noPostgres || (redisServerMissing() ?? false);

test('four instances under load go to the next release and back, and no request fails', { skip }, async (t) => {
  await using started = new AsyncDisposableStack();
  const folder = started.use(temporaryFolder());
  const before = await releaseBefore(folder.path);
  const next = laterRelease(folder.path, '98.0.0', [ADDS]);
  const later = laterRelease(folder.path, '99.0.0', [ADDS, REMOVES]);
  const database = started.use(await temporaryDatabase());
  const redis = started.use(await startRedis());
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    INSTANCES: `${INSTANCES}`,
    CATEGORIES_MAX: '1000000',
  };
  const options = { cwd: folder.path, env };
  const secret = await succeeds(before, `keys create --name load ${UNLIMITED}`, options);
  const fleet = started.use(new Fleet(options));
  for (let place = 0; place < INSTANCES; place += 1) await fleet.put(place, before);
  const load = loadInstances(() => fleet.urls, secret);

  await t.test('one is upgraded, which migrates while the others run on', async () => {
    await served(load, () => fleet.put(0, next));
    assert.match((await appliedMigrations(database.url)).join(), /901-adds/);
  });
  await t.test('one of the release before restarts on the migrated tables', () =>
    served(load, () => fleet.put(1, before)),
  );
  await t.test('the others are upgraded', async () => {
    for (const place of [1, 2, 3]) await served(load, () => fleet.put(place, next));
  });
  await t.test('all of them are rolled back', async () => {
    for (let place = 0; place < INSTANCES; place += 1) await served(load, () => fleet.put(place, before));
  });
  await load.stop();
  await t.test('no request failed, no create was lost, and none was doubled', async () => {
    await assertServed(t, { load, url: fleet.urls[0] ?? '', secret });
  });
  await t.test('migrations that do not only add are refused by both, with the release to use', async () => {
    await fleet.stop();
    await succeeds(later, 'migrate', options);
    for (const { command } of [before, next]) {
      const { code, stderr } = await runProcess(['serve'], { ...options, command });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /its tables need 99\.0\.0 or later; install that, or restore a backup from before it/);
    }
    await fleet.put(0, later);
  });
});

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
  await untilTrue(() => load.answered() > answered + 100, 'a hundred answers');
}

async function assertServed(
  t: TestContext,
  { load, url, secret }: { load: Load; url: string; secret: string },
): Promise<void> {
  assert.deepEqual(load.failed, []);
  assert.ok(load.created.size > 500, `${load.created.size} creates`);
  const response = await fetch(`${url}/categories`, { headers: { authorization: `Bearer ${secret}` } });
  const listed = (await response.json()) as { id: number; name: string }[];
  const ids = listed.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(new Map(listed.map(({ id, name }) => [name, id])), load.created);
  assert.equal(listed.length, load.created.size);
  t.diagnostic(`${load.answered()} answers, ${load.repeated()} repeated, ${load.created.size} creates`);
}

async function succeeds({ command }: Program, args: string, options: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await runProcess(args.split(' '), { ...options, command });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

async function appliedMigrations(url: string): Promise<unknown[]> {
  return (await query(url, 'select name from kysely_migration')).map(({ name }) => name);
}
