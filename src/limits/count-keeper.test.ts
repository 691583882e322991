import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { recordedEvents } from '../../test/kit/service.ts';
import type { Ban, LimiterMemory, WindowCounts } from '../catalog/limit.ts';
import type { Storage } from '../catalog/storage.ts';
import { CountKeeper } from './count-keeper.ts';
import { type BanState, UNUSED, type WindowState } from './window.ts';

/** What CountKeeper tells of the keys of any limiter, on a storage and states that the test plays. */

const NOON = Date.UTC(2026, 0, 1, 12) / 1000;
/** Unix time minus steady time. */
const OFFSET = -1_000;

function bench() {
  const clock = manualClock(NOON - OFFSET);
  clock.step(OFFSET);
  const states = new Map<string, WindowState>();
  let changed: string[] = [];
  const saved: string[][] = [];
  const played = {
    countsFailure: undefined as Error | undefined,
    bansFailure: undefined as Error | undefined,
    memory: { counts: undefined, ban: undefined } as LimiterMemory,
    /** Happens while a state is read, once. */
    onRead: async () => {},
  };
  const limits = {
    memory: async () => {
      const { memory, onRead } = played;
      played.onRead = async () => {};
      await onRead();
      return memory;
    },
    saveCounts: async (counts: WindowCounts[]) => {
      if (played.countsFailure) throw played.countsFailure;
      saved.push(counts.map(({ keyId }) => keyId));
    },
    insertBan: async (_ban: Ban) => {
      if (played.bansFailure) throw played.bansFailure;
    },
    move: async () => {},
  };
  const events = recordedEvents();
  const keeper = new CountKeeper(
    { storage: { limits } as unknown as Storage, clock: clock.now, events },
    {
      find: (keyId) => states.get(keyId),
      takeChanged: () => new Set(changed.splice(0)),
      bans: () => [],
      replaceBan: () => {},
    },
  );
  return {
    clock,
    states,
    saved,
    played,
    events,
    keeper,
    change: (...keyIds: string[]) => {
      for (const keyId of keyIds) states.set(keyId, UNUSED);
      changed = keyIds;
    },
    async read(keyId: string): Promise<WindowState | undefined> {
      await keeper.read(keyId, (state) => states.set(keyId, state));
      return states.get(keyId);
    },
  };
}

test('a key is saved once storage has its counts, after a save that failed by the next', async () => {
  const { keeper, change, saved, played, events } = bench();
  change('a');
  played.countsFailure = new Error('no answer');
  await keeper.save();
  assert.deepEqual([keeper.isSaved('a'), keeper.isSaved('b')], [false, true]);
  assert.deepEqual([saved, events.failures], [[], [played.countsFailure]]);
  played.countsFailure = undefined;
  await keeper.save();
  assert.deepEqual([keeper.isSaved('a'), saved], [true, [['a']]]);
});

test('a key is saved once storage has its ban, though its counts are stored', async () => {
  const { keeper, played } = bench();
  const ban: BanState = { starts: NOON, ends: NOON + 60, level: 1, reason: 'r' };
  played.bansFailure = new Error('no room');
  await keeper.keepBan({ id: 'a', plan: 'free' }, ban);
  assert.deepEqual([keeper.isSaved('a'), keeper.isSaved('b')], [false, true]);
  played.bansFailure = undefined;
  await keeper.save();
  assert.equal(keeper.isSaved('a'), true);
});

test('a key whose state is gone has nothing to save', async () => {
  const { keeper, change, states, saved } = bench();
  change('a', 'b', 'c');
  states.delete('b');
  await keeper.save();
  assert.deepEqual(saved, [['a', 'c']]);
  assert.equal(keeper.isSaved('b'), true);
});

test('a stored ban has its moments on the steady clock', async () => {
  const { played, read } = bench();
  played.memory = {
    counts: undefined,
    ban: { keyId: 'a', startedAt: NOON - 10, endsAt: NOON + 50, level: 2, reason: 'r' },
  };
  const starts = NOON - 10 - OFFSET;
  assert.deepEqual((await read('a'))?.ban, { starts, ends: starts + 60, level: 2, reason: 'r' });
});

test('a state is read again if stored moments moved meanwhile, even if they moved back', async () => {
  const counts = { keyId: 'a', minuteEnds: NOON + 30, minuteUsed: 7, day: 1, dayUsed: 7 };
  for (const steps of [[5], [5, -5]]) {
    const { clock, keeper, played, read } = bench();
    // What is read stood there before the last move.
    played.memory = { counts: { ...counts, minuteEnds: counts.minuteEnds + 1 }, ban: undefined };
    played.onRead = async () => {
      for (const seconds of steps) {
        clock.step(seconds);
        await keeper.save();
      }
      const moved = steps.reduce((sum, seconds) => sum + seconds, 0);
      played.memory = { counts: { ...counts, minuteEnds: counts.minuteEnds + moved }, ban: undefined };
    };
    assert.equal((await read('a'))?.minuteEnds, NOON + 30 - OFFSET, `after steps of ${steps} s`);
  }
});
