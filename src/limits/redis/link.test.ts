import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settled } from '../../../test/kit/client/bench.ts';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import type { Timer } from '../../stdx/time.ts';
import { type RedisClient, RedisLink } from './link.ts';
import { BEAT_KEYS } from './script.ts';

/** A link in virtual time to a Redis that answers what asks for no keys of callers at once, and those never. */
async function played({ connecting = Promise.resolve() as Promise<unknown> } = {}) {
  const time = new VirtualTime(0);
  const asked: string[] = [];
  const told: string[] = [];
  const heard = { error: (_error?: unknown) => {}, ready: (_error?: unknown) => {} };
  const redis = {
    destroyed: 0,
    isSilent: false,
    refusal: undefined as Error | undefined,
    isReady: false,
    /** Each section of INFO. */
    about: { server: 'run_id:1', replication: 'role:master' } as Record<string, string>,
    /** Replaces the answers to INFO. */
    info: async (sections: string[]): Promise<unknown> => sections.map((each) => redis.about[each] ?? '').join('\r\n'),
    /** What the client does when a connection breaks, and when it has another. */
    breakOff(error: unknown = new Error('reset')) {
      redis.isReady = false;
      heard.error(error);
    },
    async reconnect() {
      redis.isReady = true;
      heard.ready();
      await settled();
    },
  };
  const client: RedisClient = {
    on(event, listener) {
      heard[event] = listener;
    },
    get isReady() {
      return redis.isReady;
    },
    async connect() {
      await connecting;
      redis.isReady = true;
      heard.ready();
    },
    sendCommand: ([command = '', ...args]) => {
      const [, , key = ''] = args;
      if (command === 'EVALSHA') asked.push(key);
      if (key.includes('own') || (redis.isSilent && command === 'EVALSHA')) return new Promise(() => {});
      if (command === 'EVALSHA' && redis.refusal) return Promise.reject(redis.refusal);
      return command === 'INFO' ? redis.info(args) : Promise.resolve([]);
    },
    destroy: () => {
      redis.destroyed += 1;
    },
  };
  const own = time.process();
  const ticking = new Set<Timer>();
  /** Counts the timers that go on. */
  const counted =
    <A extends unknown[]>(start: (...args: A) => Timer) =>
    (...args: A) => {
      const timer = start(...args);
      const end = timer[Symbol.dispose];
      ticking.add(timer);
      return Object.assign(timer, {
        [Symbol.dispose]() {
          ticking.delete(timer);
          end();
        },
      });
    };
  const link: RedisLink = new RedisLink({
    url: 'redis://played',
    keyPrefix: 'p',
    beatKeys: () => BEAT_KEYS,
    newClient: () => client,
    time: { ...own, setInterval: counted(own.setInterval), setTimeout: counted(own.setTimeout) },
    events: { redisFailed: () => told.push('failure'), redisLate: () => told.push('late') },
    onBeat: () => {},
    onCluster: () => told.push('cluster'),
    onChange: () => told.push(link.failure ? `lost: ${link.failure.message}` : 'back'),
  });
  let last: object | undefined;
  /** What was told since the last time, with the change of the server in front. */
  const news = () => {
    const isNew = link.server !== undefined && link.server !== last;
    last = link.server;
    return [...(isNew ? ['new server'] : []), ...told.splice(0)];
  };
  const connected = link.connect();
  await settled();
  return { time, link, asked, told, news, redis, ticking, connected };
}

test('a link is lost with its connection and used again with the next one, as one to another server', async () => {
  const { link, redis, news, time } = await played();
  assert.deepEqual([link.isUp, news()], [true, ['new server']]);
  redis.breakOff();
  redis.breakOff(new Error('again'));
  assert.deepEqual([link.isUp, news()], [false, ['failure', 'lost: reset', 'failure']]);
  await time.pass(3_000);
  assert.deepEqual(news(), [], 'nothing is asked without a connection');
  await redis.reconnect();
  assert.deepEqual([link.isUp, news()], [true, ['new server', 'back']]);
  await link[Symbol.asyncDispose]();
});

test('a start waits 900 ms for a connection, and is told the first failure of one', async () => {
  const silent = await played({ connecting: new Promise(() => {}) });
  await silent.time.pass(899);
  assert.deepEqual(silent.told, []);
  await silent.time.pass(1);
  await silent.connected;
  assert.deepEqual(silent.told, ['failure', 'lost: Redis did not answer within 900 ms']);
  await silent.link[Symbol.asyncDispose]();

  const refused = await played({ connecting: new Promise(() => {}) });
  refused.redis.breakOff(new Error('refused'));
  await refused.connected;
  assert.deepEqual([refused.told, refused.time.nowMs], [['failure', 'lost: refused'], 0]);
  await refused.link[Symbol.asyncDispose]();
});

test('nothing goes on once the link is closed, and nothing is told', async () => {
  const { link, ticking, redis, told } = await played();
  assert.equal(ticking.size, 1, 'the heartbeat');
  const asked = link.run(['own'], []);
  assert.equal(ticking.size, 2);
  told.length = 0;
  await link[Symbol.asyncDispose]();
  redis.breakOff(new Error('destroyed'));
  assert.deepEqual([await asked, redis.destroyed, told], [undefined, 1, []]);
  assert.equal(ticking.size, 0);
});

test('a server is new when it is another, or the same in another role, and once', async () => {
  const { time, link, news, redis } = await played();
  await time.pass(1_000);
  assert.deepEqual(news(), ['new server']);
  for (const about of [{ replication: 'role:slave' }, { replication: 'role:master' }, { server: 'run_id:2' }]) {
    Object.assign(redis.about, about);
    await time.pass(1_000);
    assert.deepEqual(news(), ['new server'], JSON.stringify(about));
    await time.pass(1_000);
    assert.deepEqual(news(), [], JSON.stringify(about));
  }
  await link[Symbol.asyncDispose]();
});

test('a server that does not say which it is, or writes nothing, is not used until it does', async () => {
  const { time, link, news, redis } = await played();
  const usual = redis.info;
  redis.info = () => Promise.reject(new Error('busy'));
  await time.pass(1_000);
  assert.deepEqual(news(), ['failure', 'lost: busy']);
  redis.info = usual;
  await time.pass(1_000);
  assert.deepEqual(news(), ['new server', 'back']);
  redis.isSilent = true;
  await time.pass(1_100);
  assert.deepEqual(news(), ['late', 'failure', 'lost: Redis did not answer within 50 ms']);
  redis.isSilent = false;
  await time.pass(1_000);
  assert.deepEqual([link.isUp, news()], [true, ['new server', 'back']]);
  await link[Symbol.asyncDispose]();
});

test('a node of a cluster is not used, and no outage; a proxy over several servers is one', async () => {
  const { time, link, news, redis } = await played();
  news();
  redis.refusal = new Error("CROSSSLOT Keys in request don't hash to the same slot");
  redis.about.cluster = 'cluster_enabled:1';
  await time.pass(1_000);
  assert.deepEqual(news(), ['cluster']);
  redis.about.cluster = 'cluster_enabled:0';
  await time.pass(1_000);
  const advice = 'set REDIS_URL to a server or a node of a cluster, and to no proxy over several';
  assert.deepEqual([link.isUp, news()], [false, ['failure', `lost: ${redis.refusal.message}; ${advice}`]]);
  await link[Symbol.asyncDispose]();
});

test('a deadline that passed while the process was suspended begins anew', async () => {
  const { time, link } = await played();
  let endedMs = 0;
  link.run(['own'], []).then(() => {
    endedMs = time.nowMs;
  });
  await time.pass(20);
  time.leap(400);
  await time.pass(100);
  assert.equal(endedMs, 470);
  await link[Symbol.asyncDispose]();
});
