import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { systemTime } from '../../src/stdx/time.ts';
import { untilTrue } from '../kit/clock.ts';
import { redisBench } from '../kit/limits/redis-bench.ts';
import { openProxy } from '../kit/proxy.ts';
import { type RedisServer, redisServerMissing, startRedis } from '../kit/redis-server.ts';

/** Limits by the clock of the Redis server, which the service only estimates. */

const ONE_PER_MINUTE = { minute: 1, day: 1_000 };
/** Each way. Twice of it is what the estimate may be off: more than the second in which decisions are told. */
const DELAY_MS = 1_100;

const skip = redisServerMissing();

test('slow answers make no wait too short, and refuse nothing after the end of a window', { skip }, async () => {
  await using server = await startRedis();
  await using proxy = await openProxy({ host: '127.0.0.1', port: server.port });
  await using bench = await clockBench(proxy.port);
  const { events } = bench;
  const limiter = bench.at(0);
  const [open, ending] = [await bench.issue(ONE_PER_MINUTE), await bench.issue(ONE_PER_MINUTE)];
  for (const key of [open, open, ending]) await limiter.charge(key);
  const end = (await secondsOf(server)) + 4;
  const name = `pet-catalog:{${ending.id}}`;
  const [, ...rest] = String(await server.command('GET', name)).split(' ');
  await server.command('SET', name, [end, ...rest].join(' '));
  proxy.delay(DELAY_MS);
  assert.equal((await limiter.charge(ending)).refusal, 'rate_limit_exceeded');

  const fromMemory = events.fromMemory();
  const { now } = await limiter.charge(open);
  assert.equal(events.fromMemory(), fromMemory + 1);
  assert.ok(now <= (await secondsOf(server)), 'a wait from a moment to come would be too short');
  await untilTrue(async () => (await secondsOf(server)) >= end);
  assert.equal((await limiter.charge(ending)).refusal, undefined);
});

test('a clock that is set back at the server locks out no client that is refused from memory', { skip }, async () => {
  await using server = await startRedis();
  await using clock = await openClockProxy(server.port);
  await using bench = await clockBench(clock.port);
  const limiter = bench.at(0);
  const [spent, other] = [await bench.issue(ONE_PER_MINUTE), await bench.issue(ONE_PER_MINUTE)];
  for (let i = 0; i < 2; i += 1) await limiter.charge(spent);
  clock.step(-3_600);
  // The answer to any request tells of the step.
  await limiter.charge(other);
  const refused = await limiter.charge(spent);
  assert.equal(refused.refusal, 'rate_limit_exceeded');
  assert.ok(refused.reset - refused.now <= 60, `it is told to wait ${refused.reset - refused.now} s`);
});

/** A limiter that reads the clock of the Redis on a port. */
async function clockBench(port: number) {
  const url = () => `redis://127.0.0.1:${port}`;
  return await redisBench({ url, instances: 1, time: systemTime(), isServerTime: true });
}

async function secondsOf(server: RedisServer): Promise<number> {
  const [seconds] = (await server.command('TIME')) as [string];
  return Number(seconds);
}

/** A proxy that passes the time to the scripts, which go by the server's clock if they are told none. */
async function openClockProxy(port: number): Promise<AsyncDisposable & { port: number; step(seconds: number): void }> {
  let stepped = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port, noDelay: true });
    client.on('data', (bytes) => {
      const time = `$10\r\n${Math.floor(Date.now() / 1000) + stepped}\r\n`;
      upstream.write(bytes.toString('latin1').replaceAll('$0\r\n\r\n$0\r\n\r\n', time + time), 'latin1');
    });
    upstream.on('data', (bytes) => client.write(bytes));
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {}).on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    step: (seconds) => {
      stepped += seconds;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
