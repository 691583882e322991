import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { recordedEvents } from '../../test/kit/events.ts';
import { newApiKey } from '../catalog/api-key.ts';
import type { Storage } from '../catalog/storage.ts';
import { NO_COUNTS, type WindowCounts } from '../catalog/window-counts.ts';
import { LocalLimiter } from './local-limiter.ts';

/** What LocalLimiter reads and writes, and when, on a storage that the test plays. */

const NOON = Date.UTC(2026, 0, 1, 12) / 1000;
/** Unix time minus steady time. */
const OFFSET = -1_000;

function bench(keysMax?: number) {
  const clock = manualClock(NOON - OFFSET);
  clock.step(OFFSET);
  const events = recordedEvents();
  const saved: WindowCounts[][] = [];
  const played = {
    stored: undefined as WindowCounts | undefined,
    failure: undefined as Error | undefined,
    onSave: () => {},
    /** The saves that are on the disk. */
    synced: 0,
  };
  const limits = {
    counts: async () => {
      if (played.failure) throw played.failure;
      return played.stored;
    },
    saveCounts: async (counts: WindowCounts[]) => {
      saved.push(counts);
      played.onSave();
      if (played.failure) throw played.failure;
    },
    sync: async () => {
      played.synced = saved.length;
    },
  };
  const storage = { limits } as unknown as Storage;
  const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'free' }, NOON);
  const limiter = new LocalLimiter({ storage, time: clock, events, ...(keysMax !== undefined && { keysMax }) });
  return { clock, events, saved, played, key, limiter };
}

test('counts of many keys are saved 500 at a time, requests are served in between, and the disk is waited for at the end', async () => {
  const { limiter, key, saved, played } = bench();
  for (let index = 0; index < 1_100; index += 1) await limiter.charge({ ...key, id: `key_${index}` });
  let turns = 0;
  played.onSave = () => {
    assert.equal(turns, saved.length - 1, 'the event loop turned since the last');
    setImmediate(() => {
      turns += 1;
    });
  };
  await limiter.save();
  assert.deepEqual(
    saved.map(({ length }) => length),
    [500, 500, 100],
  );
  assert.equal(played.synced, 3);
});

test('counts that could not be saved are kept, and saved with the next ones', async () => {
  const { limiter, key, saved, played, events } = bench(1);
  await limiter.charge(key);
  const failure = new Error('no storage');
  played.failure = failure;
  await limiter.save();
  assert.deepEqual(events.failures, [failure]);
  played.failure = undefined;
  await limiter.charge({ ...key, id: 'key_other' });
  await limiter.save();
  assert.deepEqual(
    saved
      .at(-1)
      ?.map(({ keyId }) => keyId)
      .sort(),
    [key.id, 'key_other'].sort(),
  );
  await limiter.save();
  assert.equal(saved.length, 2);
});

test('requests that wait for a key count together, and a read that fails is repeated by the next', async () => {
  const { limiter, key, played } = bench();
  played.failure = new Error('no storage');
  const failed = await Promise.allSettled([limiter.charge(key), limiter.peek(key)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  played.failure = undefined;
  const decisions = await Promise.all([limiter.charge(key), limiter.charge(key), limiter.peek(key)]);
  assert.deepEqual(
    decisions.map(({ remaining }) => remaining),
    [59, 58, 58],
  );
});

test('when the clock is stepped, all windows in memory are saved by the new time, also those that are over', async () => {
  const { limiter, key, clock, saved } = bench();
  await limiter.charge({ ...key, id: 'over' });
  await limiter.peek({ ...key, id: 'unused' });
  clock.advance(30);
  await limiter.charge(key);
  await limiter.save();
  clock.advance(30);
  await limiter.save();
  assert.equal(saved.length, 1);
  for (const seconds of [100, -300]) {
    clock.step(seconds);
    await limiter.save();
    await limiter.save();
  }
  const ends = saved
    .slice(1)
    .map((counts) => Object.fromEntries(counts.map(({ keyId, minuteEnds }) => [keyId, minuteEnds - NOON])));
  assert.deepEqual(ends, [
    { over: 160, [key.id]: 190 },
    { over: -140, [key.id]: -110 },
  ]);
});

test('what was capped when it was read is saved in the place of what was stored', async () => {
  const { limiter, key, played, saved } = bench();
  const today = Math.floor(NOON / 86_400);
  played.stored = { ...NO_COUNTS, keyId: key.id, minuteEnds: NOON + 90, minuteUsed: 7, day: today + 1, dayUsed: 70 };
  await limiter.peek(key);
  await limiter.save();
  assert.deepEqual(saved, [
    [{ ...NO_COUNTS, keyId: key.id, minuteEnds: NOON + 60, minuteUsed: 7, day: today, dayUsed: 70 }],
  ]);
});
