import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settled } from '../../../test/kit/client/bench.ts';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import { RedisCounts } from './counts.ts';
import { type RedisClient, RedisLink } from './link.ts';

/** A link in virtual time to a Redis that answers what asks for no keys of callers at once, and those never. */
async function played() {
  const time = new VirtualTime(0);
  const clients: ((error: unknown) => void)[] = [];
  const asked: string[] = [];
  const newClient = (): RedisClient => ({
    on: (_event, listener) => clients.push(listener),
    connect: async () => {},
    sendCommand: ([command = '', , , key = '']) => {
      if (command === 'EVALSHA') asked.push(key);
      if (key.includes('own')) return new Promise(() => {});
      return Promise.resolve(command === 'INFO' ? 'run_id:1\r\nrole:master' : []);
    },
    destroy: () => {},
  });
  const nothing = () => {};
  const told = { onFailure: nothing, onLate: nothing, onLost: nothing, onBack: nothing, onNewServer: nothing };
  const link = new RedisLink(
    { url: 'redis://played', keyPrefix: 'p', newClient, time: time.process(), ...told },
    RedisCounts.SCRIPT,
  );
  await link.connect();
  return { time, link, clients, asked };
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

test('while 20,000 keys are asked for no more are', async () => {
  const { link, asked } = await played();
  const waiting = link.count(['own', ...Array.from({ length: 19_998 }, () => 'x')], []);
  const last = link.count(['own'], []);
  assert.equal(await link.count(['own'], []), undefined);
  assert.equal(asked.filter((key) => key === 'p:{own}').length, 2);
  await link[Symbol.asyncDispose]();
  assert.deepEqual(await Promise.all([waiting, last]), [undefined, undefined]);
});
