import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { type RunOptions, runProcess, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { type Load, loadInstances } from './load.ts';
import { type Program, presentRelease, releaseBefore } from './programs.ts';

/** Four instances under load go from the release before, as it was published, to this one, one by one, and back. */

const INSTANCES = 4;
/** Creates of a run, at the least. */
const CREATES = 20;
const UNLIMITED = '--plan enterprise --per-minute 1000000000 --per-day 1000000000';
const skip = noPostgres || (redisServerMissing() ?? false);

test('four instances go from the release before to this one and back, and no request fails', { skip }, async (t) => {
  await using place = await openPlace();
  const { fleet } = place;
  const [before, next] = [releaseBefore(place.folder), presentRelease()];
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
  await t.test('no request failed, no create was lost, and none was doubled', async () => {
    assert.deepEqual(load.failed, []);
    assert.ok(load.created.size > CREATES, `${load.created.size} creates`);
    assert.deepEqual(await namesAt(fleet.urls[0] ?? '', secret), load.created);
  });
  t.diagnostic(`${load.answered()} answers, ${load.repeated()} repeated, ${load.created.size} creates`);
});

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
