import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { Category } from '../../src/catalog/category.ts';
import { untilTrue } from '../kit/clock.ts';
import { type Reply, send } from '../kit/faults/creating.ts';
import { UNLIMITED_OPTIONS } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { type Instances, startInstances, timeFollowing } from '../kit/instances.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { query } from '../kit/postgres-server.ts';
import { redisServerMissing, sharedRedis } from '../kit/redis-server.ts';

const INSTANCES = 4;
const ALL = Array.from({ length: INSTANCES }, (_, at) => at);
/** Little more than the tests before the last one create: so many creates at once can time out on a busy machine. */
const CATEGORIES_MAX = 60;
const CREATES = 10;

const redis = await sharedRedis();
const skip = noPostgres || redis.skip || redisServerMissing() || false;

describe('four instances, started at once on an empty database', { skip }, () => {
  const agent = new Agent({ keepAlive: true });
  let instances: Instances;
  let secret: string;

  before(async () => {
    instances = await startInstances(INSTANCES, { CATEGORIES_MAX: `${CATEGORIES_MAX}` });
    secret = (await issue(...UNLIMITED_OPTIONS)).secret;
  });
  after(async () => {
    agent.destroy();
    await instances[Symbol.asyncDispose]();
  });

  const issue = async (...plan: string[]): Promise<{ id: string; secret: string }> => {
    const { id, key } = JSON.parse(await instances.command('keys', 'create', '--name', 'test', '--json', ...plan));
    return { id, secret: key };
  };
  const call = (at: number, used: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    send(agent, `${instances.services[at]?.url}${path}`, used, body, headers);
  const create = (at: number, name: string, headers?: Record<string, string>) =>
    call(at, secret, '/categories', { name }, headers);

  test('a create on one is listed by all others, with the same validator', async (t) => {
    const tookMs = await timeFollowing(instances.services, secret, CREATES);
    t.diagnostic(`seen by all others after ${Math.round(Math.max(...tookMs))} ms at most`);
    const answers = await Promise.all(ALL.map((at) => call(at, secret, '/categories')));
    assert.equal(new Set(answers.map(({ headers, body }) => headers.etag + body)).size, 1);
  });

  test('a change to a key by the command line reaches all', async () => {
    const key = await issue('--plan', 'pro');
    const everywhere = (used: string, holds: (reply: Reply) => boolean) =>
      untilTrue(async () => {
        const replies = await Promise.all(ALL.map((at) => call(at, used, '/rate_limit')));
        return replies.every(holds);
      });
    await everywhere(key.secret, ({ headers }) => headers['x-ratelimit-limit'] === '300');
    await instances.command('keys', 'set-plan', key.id, 'business');
    await everywhere(key.secret, ({ headers }) => headers['x-ratelimit-limit'] === '1000');
    const rotated = await instances.command('keys', 'rotate', key.id, '--grace', '0');
    await everywhere(key.secret, ({ status }) => status === 401);
    await everywhere(rotated, ({ status }) => status === 200);
    await instances.command('keys', 'revoke', key.id);
    await everywhere(rotated, ({ status }) => status === 401);
  });

  test('the same create on all at once happens once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const headers = { 'idempotency-key': `round ${round}` };
      const replies = await Promise.all(
        Array.from({ length: 12 }, (_, i) => create(i % INSTANCES, `same ${round}`, headers)),
      );
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
      assert.equal(new Set(replies.map(({ body }) => body)).size, 1);
      assert.equal(replies.filter(({ headers: given }) => given['idempotency-replayed'] === undefined).length, 1);
      // An instance that answered 201 lists it from then on, replay or not.
      const lists = await Promise.all(ALL.map((at) => call(at, secret, '/categories')));
      for (const { body } of lists) assert.ok(body.includes(`"name":"same ${round}"`));
    }
    const [stored] = await query(
      instances.databaseUrl,
      `select count(*)::int as rows from categories where name like 'same %'`,
    );
    assert.equal(stored?.rows, 3);
  });

  test('creates on all at once respect the bound together, and end in one order everywhere', async () => {
    const [stored] = await query(instances.databaseUrl, 'select count(*)::int as rows from categories');
    const room = CATEGORIES_MAX - Number(stored?.rows);
    const replies = await Promise.all(Array.from({ length: room + 20 }, (_, i) => create(i % INSTANCES, `last ${i}`)));
    const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length;
    assert.deepEqual([count(201), count(409)], [room, 20]);
    await untilTrue(async () => {
      const answers = await Promise.all(ALL.map((at) => call(at, secret, '/categories')));
      const ids = (JSON.parse(answers[0]?.body ?? '') as Category[]).map(({ id }) => id);
      assert.deepEqual(
        ids,
        ids.toSorted((one, other) => one - other),
      );
      return ids.length === CATEGORIES_MAX && new Set(answers.map(({ headers }) => headers.etag)).size === 1;
    });
  });
});

test('services that would count separately refuse to share a database', { skip }, async () => {
  await using database = await temporaryDatabase();
  const alone = { DATABASE_URL: database.url };
  const together = { ...alone, REDIS_URL: redis.url, INSTANCES: '2' };
  const another = /Another service runs on this database: .*REDIS_URL and INSTANCES/;
  {
    await using _first = await serveHere(alone);
    await assert.rejects(serveHere(alone), another);
    await assert.rejects(serveHere(together), /A service without REDIS_URL runs on this database /);
    const claims = `select pid from pg_stat_activity where datname = current_database() and application_name like 'pet-catalog claim%'`;
    const [before] = await query(database.url, claims);
    await query(database.url, `select pg_terminate_backend(${before?.pid})`);
    await untilTrue(async () => {
      const [now] = await query(database.url, claims);
      return now !== undefined && now.pid !== before?.pid;
    });
    await assert.rejects(serveHere(alone), another);
  }
  {
    await using _first = await serveHere(together);
    await using _second = await serveHere(together);
    await assert.rejects(serveHere(alone), another);
  }
  await using _last = await serveHere(alone);
});
