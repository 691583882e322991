import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { recordedEvents } from '../../test/kit/service.ts';
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
  let stored: WindowCounts | undefined;
  let failure: Error | undefined;
  let onSave = () => {};
  const saved: WindowCounts[][] = [];
  let synced = 0;
  const failing = async (work: () => void) => {
    work();
    if (failure) throw failure;
  };
  const limits = {
    counts: async () => {
      await failing(() => {});
      return stored;
    },
    saveCounts: (counts: WindowCounts[]) =>
      failing(() => {
        saved.push(counts);
        onSave();
      }),
    sync: async () => {
      synced = saved.length;
    },
  };
  const storage = { limits } as unknown as Storage;
  const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'free' }, NOON);
  return {
    clock,
    events,
    saved,
    /** The saves that are on the disk. */
    synced: () => synced,
    key,
    limiter: new LocalLimiter({ storage, time: clock, events, ...(keysMax !== undefined && { keysMax }) }),
    store: (next: WindowCounts) => {
      stored = next;
    },
    onSave: (next: () => void) => {
      onSave = next;
    },
    fail: (next: Error | undefined) => {
      failure = next;
    },
  };
}

test('counts of many keys are saved 500 at a time, requests are served in between, and the disk is waited for at the end', async () => {
  const { limiter, key, saved, synced, onSave } = bench();
  for (let index = 0; index < 1_100; index += 1) await limiter.charge({ ...key, id: `key_${index}` });
  let turns = 0;
  onSave(() => {
    assert.equal(turns, saved.length - 1, 'the event loop turned since the last');
    setImmediate(() => {
      turns += 1;
    });
  });
  await limiter.save();
  assert.deepEqual(
    saved.map(({ length }) => length),
    [500, 500, 100],
  );
  assert.equal(synced(), 3);
});

test('counts that could not be saved are kept, and saved with the next ones', async () => {
  const { limiter, key, saved, fail, events } = bench(1);
  await limiter.charge(key);
  const failure = new Error('no storage');
  fail(failure);
  await limiter.save();
  assert.deepEqual(events.failures, [failure]);
  fail(undefined);
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
  const { limiter, key, fail } = bench();
  fail(new Error('no storage'));
  const failed = await Promise.allSettled([limiter.charge(key), limiter.peek(key)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  fail(undefined);
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
  const { limiter, key, store, saved } = bench();
  const today = Math.floor(NOON / 86_400);
  store({ ...NO_COUNTS, keyId: key.id, minuteEnds: NOON + 90, minuteUsed: 7, day: today + 1, dayUsed: 70 });
  await limiter.peek(key);
  await limiter.save();
  assert.deepEqual(saved, [
    [{ ...NO_COUNTS, keyId: key.id, minuteEnds: NOON + 60, minuteUsed: 7, day: today, dayUsed: 70 }],
  ]);
});
