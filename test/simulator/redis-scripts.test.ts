import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@redis/client';
import fc from 'fast-check';
import { SCRIPT } from '../../src/limits/redis/script.ts';
import { keyPrefix, sharedRedis } from '../kit/redis-server.ts';
import { count } from './redis-scripts.ts';

const { url, skip } = await sharedRedis();
const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;

const small = (max: number) => fc.integer({ min: 0, max });
/** Moments that are near each other, so that windows and days overlap, end and lie ahead. */
const anyMoment = fc.oneof(
  small(150).map((seconds) => NOON + seconds),
  fc.constantFrom(NOON + 43_199, NOON + 43_200, NOON - 86_400, NOON + 86_400),
);
const anyResets = fc.tuple(small(2), small(2));
const anyValue = fc
  .tuple(anyMoment, small(4), small(3), small(6), anyResets)
  .map(
    ([ends, used, day, usedInDay, resets]) =>
      `${ends} ${used} ${Math.floor(NOON / 86_400) + day - 1} ${usedInDay} ${resets.join(' ')}`,
  );

/** Requests as `RedisCounts` has them counted, of one of a few keys. */
const anyRequest = fc.tuple(
  small(2),
  small(4),
  small(6),
  anyResets,
  small(3),
  fc.option(fc.tuple(anyValue, fc.constantFrom('', '1')), { nil: ['', ''] }),
);
/** A call as `RedisCounts` makes it, with the moment among its arguments. */
const anyCount = fc
  .tuple(anyMoment, anyMoment, fc.array(anyRequest, { minLength: 1, maxLength: 5 }))
  .map(([unix, steady, requests]) => ({
    script: 'count' as const,
    keys: requests.map(([key]) => key),
    args: [unix, steady, ...requests.flatMap(([, ...own]) => own.flat())].map(String),
  }));
const anyDamage = fc.record({
  script: fc.constant('set' as const),
  keys: fc.tuple(small(2)),
  args: fc
    .oneof(
      fc.constantFrom('', 'unreadable', '1 2 3', 'x1 2 3 4'),
      // As release 0.3.0 writes it.
      anyValue.map((value) => value.split(' ', 4).join(' ')),
    )
    .map((value) => [value]),
});
const anyCalls = fc.array(fc.oneof({ weight: 8, arbitrary: anyCount }, { weight: 1, arbitrary: anyDamage }), {
  maxLength: 30,
});

test('the simulated scripts reply and set what those of Redis do', { skip }, async () => {
  await using prefix = keyPrefix(url);
  const client = createClient({ url, RESP: 2, maintNotifications: 'disabled' });
  client.on('error', () => {});
  await client.connect();
  let runs = 0;
  const run = (keys: readonly string[], args: readonly string[]) =>
    client.sendCommand(['EVAL', SCRIPT.source, `${keys.length}`, ...keys, ...args]);
  try {
    const property = fc.asyncProperty(anyCalls, async (calls) => {
      runs += 1;
      const values = new Map<string, string>();
      for (const { script, keys: numbers, args } of calls) {
        const keys = numbers.map((number) => `${prefix.prefix}:${runs}:${number}`);
        const [key = ''] = keys;
        if (script === 'set') {
          await client.sendCommand(['SET', key, args[0] ?? '']);
          values.set(key, args[0] ?? '');
        } else {
          const { reply } = count(values, { keys, argv: args, serverMs: NOON * 1_000 });
          assert.deepEqual(
            reply.map(withoutMicros),
            ((await run(keys, args)) as unknown as unknown[]).map(withoutMicros),
          );
        }
        for (const each of keys) assert.equal(values.get(each) ?? null, await client.sendCommand(['GET', each]));
      }
    });
    await fc.assert(property, { numRuns: 300 });
  } finally {
    client.destroy();
  }
});

/** The one part of a reply that comes from the clock of the server. */
function withoutMicros(reply: unknown): unknown {
  return typeof reply === 'string' ? reply.replace(/^(\d+) \d+ (\d+)$/, '$1 $2') : reply;
}
