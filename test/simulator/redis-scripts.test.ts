import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '@redis/client';
import fc from 'fast-check';
import { COUNT, REPLACE_BAN, type Script } from '../../src/limits/redis/scripts.ts';
import { keyPrefix, sharedRedis } from '../kit/redis-server.ts';
import { count, replaceBan } from './redis-scripts.ts';

const { url, skip } = await sharedRedis();
const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;

const small = (max: number) => fc.integer({ min: 0, max });
/** Moments that are near each other, so that windows and days overlap, end and lie ahead. */
const anyMoment = fc.oneof(
  small(150).map((seconds) => NOON + seconds),
  fc.constantFrom(NOON + 43_199, NOON + 43_200, NOON - 86_400, NOON + 86_400),
);
const anyBan = fc.constantFrom('', '{"level":1}', '{"level":2,"reason":"two words"}');
const anyValue = fc
  .tuple(anyMoment, small(4), small(3), small(6), fc.oneof(fc.constant(0), anyMoment), anyMoment, anyBan)
  .map(([ends, used, day, ...rest]) => [ends, used, NOON / 86_400 + day - 1, ...rest])
  .map((value) => value.map((part) => (typeof part === 'number' ? Math.floor(part) : part)).join(' '));

/** A call as `RedisCounts` makes it, with the moment among its arguments. */
const anyCount = fc.record({
  script: fc.constant('count' as const),
  args: fc
    .tuple(small(4), small(6), small(1), anyMoment, anyMoment, fc.option(fc.tuple(anyValue, fc.constantFrom('', '1'))))
    .map(([minute, day, cost, unix, steady, remembered]) =>
      [minute, day, cost, unix, steady, ...(remembered ?? [])].map(String),
    ),
});
const anyReplacement = fc.record({
  script: fc.constant('replace ban' as const),
  args: fc.tuple(anyBan, anyMoment, anyMoment, anyBan).map((args) => args.map(String)),
});
const anyDamage = fc.record({
  script: fc.constant('set' as const),
  args: fc.constantFrom('', 'unreadable', '1 2 3', '1 2 3 4 5 6 ').map((value) => [value]),
});
const anyCalls = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: anyCount },
    { weight: 3, arbitrary: anyReplacement },
    { weight: 1, arbitrary: anyDamage },
  ),
  { maxLength: 30 },
);

test('the simulated scripts reply and set what those of Redis do', { skip }, async () => {
  await using prefix = keyPrefix(url);
  const client = createClient({ url, RESP: 2, maintNotifications: 'disabled' });
  client.on('error', () => {});
  await client.connect();
  let keys = 0;
  const run = async ({ source }: Script, key: string, args: readonly string[]) =>
    (await client.sendCommand(['EVAL', source, '1', key, ...args])) as string | number | null;
  try {
    const property = fc.asyncProperty(anyCalls, async (calls) => {
      keys += 1;
      const key = `${prefix.prefix}:${keys}`;
      let kept: string | undefined;
      for (const { script, args } of calls) {
        if (script === 'set') {
          await client.sendCommand(['SET', key, args[0] ?? '']);
          kept = args[0];
          continue;
        }
        const isCount = script === 'count';
        const { value, reply } = isCount ? count(kept, args, NOON * 1_000) : replaceBan(kept, args);
        kept = value ?? kept;
        assert.deepEqual(withoutMicros(reply), withoutMicros(await run(isCount ? COUNT : REPLACE_BAN, key, args)));
        assert.equal(kept ?? null, await client.sendCommand(['GET', key]));
      }
    });
    await fc.assert(property, { numRuns: 300 });
  } finally {
    client.destroy();
  }
});

/** The one part of a reply that comes from the clock of the server. */
function withoutMicros(reply: string | number | null): string | number | null {
  return typeof reply === 'string' ? reply.replace(/^(\d+) \d+ (?=\d+ .* )/, '$1 ') : reply;
}
