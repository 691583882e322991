import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { keyPrefix, sharedRedis } from '../../../test/kit/redis-server.ts';
import { newApiKey } from '../../catalog/api-key.ts';
import { NO_COUNTS } from '../../catalog/window-counts.ts';
import { RedisCounts } from './counts.ts';

const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'pro' }, 0);
const keyOf = (id: string) => ({ ...key, id });
const NOTHING = { counts: NO_COUNTS, isComplete: true };

const { url, skip } = await sharedRedis();

const ignore = () => {};

test('requests of one turn are counted by one call for each 64 of them, in their order', { skip }, async (t) => {
  await using keys = keyPrefix(url);
  const counts: RedisCounts = new RedisCounts({
    url,
    keyPrefix: keys.prefix,
    answerMs: 20_000,
    time: manualClock(),
    events: { requestCounted: ignore, redisFailed: assert.fail, redisLate: ignore },
    beatKeys: () => [],
    onCluster: ignore,
    onChange: ignore,
    onClockStep: ignore,
  });
  await using link = counts.link;
  await link.connect();
  const calls = t.mock.method(link, 'run');
  const charge = (index: number) => counts.count(keyOf(`${index % 3}`), { cost: 1, remembered: NOTHING });
  const counted = await Promise.all(Array.from({ length: 100 }, (_, index) => charge(index)));
  assert.deepEqual(
    calls.mock.calls.map(({ arguments: [{ length }] }) => length),
    [64, 36],
  );
  assert.deepEqual(
    counted.map((each) => typeof each === 'object' && each.state.minuteUsed),
    Array.from({ length: 100 }, (_, index) => Math.floor(index / 3)),
  );
  assert.equal(await counts.count(keyOf('unknown'), { cost: 1 }), 'missing');
});
