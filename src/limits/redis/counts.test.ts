import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@redis/client';
import { manualClock } from '../../../test/kit/clock.ts';
import { keyPrefix, sharedRedis } from '../../../test/kit/redis-server.ts';
import { RedisCounts } from './counts.ts';
import type { RedisClient } from './link.ts';

const LIMITS = { minute: 300, day: 1_000 };
const NOTHING = { counts: undefined, isComplete: true };

const { url, skip } = await sharedRedis();

test('requests of one turn are counted by one call for each 64 of them, in their order', { skip }, async () => {
  await using keys = keyPrefix(url);
  const calls: string[] = [];
  const newClient = (address: string): RedisClient => {
    const client = createClient({ url: address, RESP: 2, maintNotifications: 'disabled' });
    return {
      on: (event, listener) => client.on(event, listener),
      connect: () => client.connect(),
      sendCommand: (command) => {
        const [name, , keyCount = '', key] = command;
        if (name === 'EVALSHA' && !key?.includes('beat')) calls.push(keyCount);
        return client.sendCommand(command);
      },
      destroy: () => client.destroy(),
    };
  };
  let observed = 0;
  const ignore = () => {};
  await using counts = new RedisCounts({
    url,
    keyPrefix: keys.prefix,
    time: manualClock(),
    newClient,
    answerMs: 20_000,
    onCounted: () => {
      observed += 1;
    },
    onFailure: assert.ifError,
    onLate: ignore,
    onLost: assert.ifError,
    onBack: ignore,
    onNewServer: ignore,
    onClockStep: ignore,
  });
  await counts.connect();
  const charge = (index: number) => counts.count(`${index % 3}`, LIMITS, { cost: 1, remembered: NOTHING });
  const counted = await Promise.all(Array.from({ length: 100 }, (_, index) => charge(index)));
  assert.deepEqual(calls, ['64', '36']);
  assert.equal(observed, 100);
  assert.deepEqual(
    counted.map((each) => typeof each === 'object' && each.state.minuteUsed),
    Array.from({ length: 100 }, (_, index) => Math.floor(index / 3)),
  );
  assert.equal(await counts.count('unknown', LIMITS, { cost: 1 }), 'missing');
});
