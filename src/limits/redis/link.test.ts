import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settled } from '../../../test/kit/client/bench.ts';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import type { Timer } from '../../stdx/time.ts';
import { RedisCounts } from './counts.ts';
import { type RedisClient, RedisLink } from './link.ts';

/** A link in virtual time to a Redis that answers what asks for no keys of callers at once, and those never. */
async function played() {
  const time = new VirtualTime(0);
  const clients: ((error: unknown) => void)[] = [];
  const [asked, told, lost]: [string[], string[], unknown[]] = [[], [], []];
  const redis = {
    destroyed: 0,
    beat: [] as string[],
    connecting: Promise.resolve(),
    isSilent: false,
    /** Each section of INFO. */
    about: { server: 'run_id:1', replication: 'role:master' } as Record<string, string>,
    /** Replaces the answers to INFO, and to SCRIPT. */
    info: async (sections: string[]): Promise<unknown> => sections.map((each) => redis.about[each] ?? '').join('\r\n'),
    script: async (): Promise<unknown> => [],
    make: (client: RedisClient) => client,
  };
  const client = (): RedisClient => ({
    on: (_event, listener) => clients.push(listener),
    connect: () => redis.connecting,
    sendCommand: ([command = '', ...args]) => {
      const [, , key = '', ...rest] = args;
      if (command === 'EVALSHA') asked.push(key);
      if (key.includes('beat')) redis.beat = [key, ...rest];
      if (key.includes('own') || (redis.isSilent && command === 'EVALSHA')) return new Promise(() => {});
      if (command === 'INFO') return redis.info(args);
      return command === 'SCRIPT' ? redis.script() : Promise.resolve([]);
    },
    destroy: () => {
      redis.destroyed += 1;
    },
  });
  const own = time.process();
  /** The intervals that go on. */
  const ticking = new Set<Timer>();
  const setInterval = (run: () => void, ms: number) => {
    const timer = own.setInterval(run, ms);
    const end = timer[Symbol.dispose];
    ticking.add(timer);
    return Object.assign(timer, {
      [Symbol.dispose]() {
        ticking.delete(timer);
        end();
      },
    });
  };
  const link = new RedisLink(
    {
      url: 'redis://played',
      keyPrefix: 'p',
      newClient: () => redis.make(client()),
      time: { ...own, setInterval },
      events: {
        redisFailed: () => told.push('failure'),
        redisLate: () => told.push('late'),
        limiterDegraded(error) {
          told.push(`lost: ${(error as Error).message}`);
          lost.push(error);
        },
        limiterRecovered: () => told.push('back'),
      },
      onNewServer: () => told.push('new server'),
    },
    RedisCounts.SCRIPT,
  );
  await link.connect();
  return { time, link, clients, asked, told, redis, ticking, lost };
}

test('a connection that breaks is replaced at once, and one that breaks soon after within a second', async () => {
  const { time, link, clients } = await played();
  await time.pass(1_500);
  clients[0]?.(new Error('reset'));
  await settled();
  assert.deepEqual([clients.length, link.isUp], [2, true]);
  clients[1]?.(new Error('reset'));
  await settled();
  assert.deepEqual([clients.length, link.isUp], [2, false]);
  await time.pass(1_000);
  assert.deepEqual([clients.length, link.isUp], [3, true]);
  await link[Symbol.asyncDispose]();
});

test('an error is told by its message, else by its code, and by nothing else of it', async () => {
  for (const [error, message] of [
    [
      Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED', url: 'redis://:s3cret@h' }),
      'connect refused',
    ],
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [{}, 'Redis failed'],
  ] as const) {
    const { link, clients, told, lost } = await played();
    clients[0]?.(error);
    assert.deepEqual(told, ['new server', 'failure', `lost: ${message}`]);
    assert.deepEqual([(lost[0] as Error).message, Object.keys(lost[0] as Error)], [message, []]);
    await link[Symbol.asyncDispose]();
  }
});

test('deadlines are looked at while a call is under way, and nothing goes on once the link is closed', async () => {
  const { time, link, ticking, redis } = await played();
  await time.pass(10);
  assert.equal(ticking.size, 1, 'the heartbeat');
  await link.run(['x'], []);
  assert.equal(ticking.size, 2);
  await time.pass(10);
  assert.equal(ticking.size, 1);
  await link[Symbol.asyncDispose]();
  assert.deepEqual([ticking.size, redis.destroyed, link.isUp], [0, 1, false]);
});

test('while 20,000 keys are asked for no more are', async () => {
  const { link, asked } = await played();
  const waiting = link.run(['own', ...Array.from({ length: 19_998 }, () => 'x')], []);
  const last = link.run(['own'], []);
  assert.equal(await link.run(['own'], []), undefined);
  assert.equal(asked.filter((key) => key === 'p:{own}').length, 2);
  await link[Symbol.asyncDispose]();
  assert.deepEqual(await Promise.all([waiting, last]), [undefined, undefined]);
});

test('a loss is told once, and so is the return, which the first connection is not', async () => {
  const { time, link, clients, told } = await played();
  assert.deepEqual(told.splice(0), ['new server']);
  clients[0]?.(new Error('reset'));
  clients[0]?.(new Error('reset again'));
  assert.deepEqual(told.splice(0), ['failure', 'lost: reset']);
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), ['new server', 'back']);
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), []);
  await link[Symbol.asyncDispose]();
});

test('while Redis is lost each failed attempt is told as a failure, and as no further loss', async () => {
  const { time, link, clients, told, redis } = await played();
  redis.connecting = Promise.reject(new Error('refused'));
  redis.connecting.catch(() => {});
  clients[0]?.(new Error('reset'));
  await time.pass(2_000);
  assert.deepEqual(told.splice(0), ['new server', 'failure', 'lost: reset', 'failure', 'failure']);
  redis.make = () => {
    throw new Error('no client');
  };
  await time.pass(1_000);
  assert.deepEqual(told, ['failure']);
  await link[Symbol.asyncDispose]();
});

test('a link that is closed while it connects closes the new connection, and tells nothing', async () => {
  const { time, link, clients, told, redis } = await played();
  const { promise, resolve } = Promise.withResolvers<void>();
  redis.connecting = promise;
  clients[0]?.(new Error('reset'));
  await time.pass(1_000);
  told.length = 0;
  await link[Symbol.asyncDispose]();
  assert.equal(redis.destroyed, 1);
  resolve();
  await settled();
  assert.deepEqual([redis.destroyed, link.isUp, told], [2, false, []]);
});

test('a call without an answer ends after 50 ms, and closes the connection for all other calls', async () => {
  const { time, link, told, redis } = await played();
  const ended: [string, number, unknown][] = [];
  const ask = (name: string) => link.run(['own'], []).then((reply) => ended.push([name, time.nowMs, reply]));
  await time.pass(507);
  ask('first');
  await time.pass(30);
  ask('second');
  await time.pass(100);
  assert.deepEqual(ended, [
    ['first', 557, undefined],
    ['second', 557, undefined],
  ]);
  assert.deepEqual(told, ['new server', 'late', 'failure', 'lost: Redis did not answer within 50 ms']);
  assert.equal(redis.destroyed, 1);
  await link[Symbol.asyncDispose]();
});

test('a heartbeat counts on two keys that no caller has, as if with the largest limits', async () => {
  const { time, link, redis } = await played();
  const values = ['1000000000', '1000000000', '1', '', '1'];
  const expected = ['p:{beat}', 'p:{beat-2}', '', '', ...values, ...values];
  assert.deepEqual(redis.beat, expected);
  redis.beat = [];
  await time.pass(1_000);
  assert.deepEqual(redis.beat, expected);
  await link[Symbol.asyncDispose]();
});

test('a heartbeat counts nothing while a call is under way', async () => {
  const { time, link, asked } = await played();
  await time.pass(990);
  asked.length = 0;
  link.run(['own'], []);
  await time.pass(20);
  assert.deepEqual(asked, ['p:{own}']);
  await link[Symbol.asyncDispose]();
});

test('a server is new when it is another, or the same in another role, and once', async () => {
  const { time, link, told, redis } = await played();
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), ['new server']);
  for (const about of [{ replication: 'role:slave' }, { replication: 'role:master' }, { server: 'run_id:2' }]) {
    Object.assign(redis.about, about);
    await time.pass(1_000);
    assert.deepEqual(told.splice(0), ['new server'], JSON.stringify(about));
    await time.pass(1_000);
    assert.deepEqual(told.splice(0), [], JSON.stringify(about));
  }
  await link[Symbol.asyncDispose]();
});

test('a connection whose server does not say which it is is replaced, and what it says later is not heard', async () => {
  const { time, link, clients, told, redis } = await played();
  const usual = redis.info;
  redis.info = () => Promise.reject(new Error('busy'));
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), ['new server', 'failure', 'lost: busy']);
  redis.info = usual;
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), ['new server', 'back']);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  redis.info = () => promise;
  await time.pass(1_000);
  redis.info = usual;
  clients.at(-1)?.(new Error('reset'));
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), ['failure', 'lost: reset', 'new server', 'back']);
  resolve('run_id:2\r\nrole:master');
  await time.pass(100);
  assert.deepEqual([link.isUp, told], [true, []]);
  await link[Symbol.asyncDispose]();
});

test('time in which the process was suspended counts as ten milliseconds of the deadline', async () => {
  const { time, link } = await played();
  let endedMs = 0;
  link.run(['own'], []).then(() => {
    endedMs = time.nowMs;
  });
  await time.pass(20);
  time.leap(400);
  await time.pass(100);
  assert.equal(endedMs, 440);
  await link[Symbol.asyncDispose]();
});

test('a connection has 900 ms to open, is used once it answers a heartbeat, and is not told as late before', async () => {
  const { time, link, clients, told, redis } = await played();
  clients[0]?.(new Error('reset'));
  told.length = 0;
  redis.connecting = new Promise(() => {});
  await time.pass(1_899);
  assert.deepEqual(told, []);
  await time.pass(1);
  assert.deepEqual(told.splice(0), ['failure']);
  redis.connecting = Promise.resolve();
  redis.script = () => new Promise(() => {});
  await time.pass(1_000);
  assert.deepEqual(told.splice(0), ['failure'], 'to load the script');
  redis.script = async () => [];
  redis.isSilent = true;
  await time.pass(200);
  assert.deepEqual([link.isUp, told], [false, ['failure']]);
  await link[Symbol.asyncDispose]();
});
