import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { manualClock, untilTrue } from '../../test/kit/clock.ts';
import { recordedEvents } from '../../test/kit/service.ts';
import { newApiKey } from '../catalog/api-key.ts';
import type { Ban, BanOrigin, LimiterMemory, WindowCounts } from '../catalog/limit.ts';
import type { Storage } from '../catalog/storage.ts';
import { LocalLimiter } from './local-limiter.ts';

/** What LocalLimiter reads and writes, and when, on a storage that the test plays. */

const NOON = Date.UTC(2026, 0, 1, 12) / 1000;
/** Unix time minus steady time. */
const OFFSET = -1_000;

function bench(keysMax = 100) {
  const clock = manualClock(NOON - OFFSET);
  clock.step(OFFSET);
  const events = recordedEvents();
  let memory: LimiterMemory = { counts: undefined, ban: undefined };
  let failure: Error | undefined;
  const reads: string[] = [];
  const saved: WindowCounts[][] = [];
  const bans: [ban: Ban, attempt: string | undefined][] = [];
  const moves: [seconds: number, attempt: string | undefined][] = [];
  const failing = async (work: () => void) => {
    work();
    if (failure) throw failure;
  };
  const limits = {
    memory: async (keyId: string) => {
      await failing(() => reads.push(keyId));
      return memory;
    },
    saveCounts: (counts: WindowCounts[]) => failing(() => saved.push(counts)),
    insertBan: (ban: Ban, { attempt }: BanOrigin = {}) => failing(() => bans.push([ban, attempt])),
    move: (seconds: number, attempt?: string) => failing(() => moves.push([seconds, attempt])),
  };
  const storage = { limits } as unknown as Storage;
  const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'free' }, NOON);
  return {
    clock,
    events,
    reads,
    saved,
    bans,
    moves,
    key,
    limiter: new LocalLimiter({ storage, clock: clock.now, events, banAfter: 60, keysMax }),
    remember: (next: LimiterMemory) => {
      memory = next;
    },
    fail: (next: Error | undefined) => {
      failure = next;
    },
  };
}

type Bench = ReturnType<typeof bench>;

async function hammer({ limiter, key, clock }: Bench) {
  for (let i = 0; i < 61; i += 1) await limiter.charge(key);
  clock.advance(2);
  for (let i = 0; i < 61; i += 1) await limiter.charge(key);
}

test('counts are saved every half second if there are new ones, and when the limiter stops', async (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { limiter, key, saved } = bench();
  await limiter.charge(key);
  t.mock.timers.tick(499);
  assert.equal(saved.length, 0);
  t.mock.timers.tick(1);
  await untilTrue(() => saved.length === 1);
  const counts = { minuteEnds: NOON + 60, minuteUsed: 1, day: Math.floor(NOON / 86_400), dayUsed: 1 };
  assert.deepEqual(saved, [[{ keyId: key.id, ...counts }]]);
  await limiter.save();
  assert.equal(saved.length, 1);
  await limiter.peek(key);
  await limiter.save();
  assert.equal(saved.length, 1, 'a look is nothing to save');
  await limiter.charge(key);
  await limiter[Symbol.asyncDispose]();
  assert.equal(saved.length, 2);
  await limiter.charge(key);
  t.mock.timers.tick(2_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(saved.length, 2, 'a stopped limiter writes nothing');
});

test('counts that could not be saved are saved with the next ones', async () => {
  const { limiter, key, saved, fail } = bench();
  await limiter.charge(key);
  fail(new Error('no storage'));
  await limiter.save();
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

test('requests that wait for a key share one read, and one that fails is repeated by the next', async () => {
  const { limiter, key, reads, fail } = bench();
  fail(new Error('no storage'));
  const failed = await Promise.allSettled([limiter.charge(key), limiter.peek(key)]);
  assert.deepEqual([failed.map(({ status }) => status), reads], [['rejected', 'rejected'], [key.id]]);
  fail(undefined);
  const decisions = await Promise.all([limiter.charge(key), limiter.charge(key), limiter.peek(key)]);
  assert.deepEqual([reads.length, decisions.map(({ remaining }) => remaining)], [2, [59, 58, 58]]);
});

test('what storage remembers is resumed, in the seconds of the steady clock', async () => {
  const { limiter, key, remember } = bench();
  const day = Math.floor(NOON / 86_400);
  const ban = { keyId: key.id, startedAt: NOON - 10, endsAt: NOON + 50, level: 2, reason: 'r' };
  remember({ counts: { keyId: key.id, minuteEnds: NOON + 20, minuteUsed: 7, day, dayUsed: 70 }, ban });
  const decision = await limiter.peek(key);
  assert.deepEqual([decision.refusal, decision.reset], ['key_banned', NOON + 50]);
  assert.deepEqual(decision.ban, { until: NOON + 50, reason: 'r' });
  assert.equal(decision.day.remaining, 930);

  const other = bench();
  other.remember({ counts: { keyId: key.id, minuteEnds: NOON + 20, minuteUsed: 7, day, dayUsed: 70 }, ban: undefined });
  assert.deepEqual((await other.limiter.peek(key)).minute, { limit: 60, remaining: 53, reset: NOON + 20 });
});

test('a step of the clock is moved once, and one of unknown outcome is retried unchanged before the next', async () => {
  const { limiter, key, clock, moves, saved, events, fail } = bench();
  await limiter.charge(key);
  await limiter.save();
  assert.deepEqual(moves, []);
  clock.step(100);
  fail(new Error('no answer'));
  await limiter.save();
  assert.deepEqual([events.failures.length, saved.length], [1, 1], 'no count is saved before the move');
  clock.step(-30);
  fail(undefined);
  await limiter.charge(key);
  await limiter.save();
  const [first, retried, second] = moves;
  assert.deepEqual([first?.[0], retried, second?.[0], moves.length], [100, first, -30, 3]);
  assert.ok(first?.[1] && second?.[1] && first[1] !== second[1]);
  assert.equal(saved.at(-1)?.[0]?.minuteEnds, NOON + 60 + 70);
  await limiter.save();
  assert.equal(moves.length, 3);
});

test('a ban is announced and stored with its Unix moments, once, and retried with its attempt', async () => {
  const all = bench();
  const { limiter, events, bans, fail } = all;
  for (let i = 0; i < 61; i += 1) await limiter.charge(all.key);
  fail(new Error('no answer'));
  await hammer(all);
  fail(undefined);
  await limiter.save();
  await limiter.save();
  const startedAt = NOON + 2;
  const [ban] = events.bans;
  assert.deepEqual([ban?.keyId, ban?.startedAt, ban?.endsAt, ban?.level], [all.key.id, startedAt, startedAt + 60, 1]);
  assert.deepEqual(bans, [bans[0], bans[0]]);
  assert.deepEqual(bans[0]?.[0], ban);
  assert.ok(bans[0]?.[1]);
});

test('stored bans are read again while they last, and a lifted one gives way to the ban before it', async () => {
  const all = bench();
  const { limiter, key, clock, reads, remember, saved } = all;
  await hammer(all);
  await limiter.save();
  const saves = saved.length;
  assert.equal((await limiter.charge(key)).refusal, 'key_banned');
  await limiter.save();
  assert.equal(saved.length, saves, 'a refusal in a ban changes nothing');
  const last = { keyId: key.id, startedAt: NOON - 600, endsAt: NOON - 300, level: 2, reason: 'r' };
  remember({ counts: undefined, ban: last });
  await limiter.refreshBans();
  assert.equal(reads.length, 2);
  assert.equal((await limiter.peek(key)).refusal, 'rate_limit_exceeded', 'the window stays as it was');
  await limiter.refreshBans();
  assert.equal(reads.length, 2, 'a ban that is over is not read again');
  clock.advance(60);
  await hammer(all);
  const { ban, now } = await limiter.peek(key);
  assert.equal((ban?.until ?? 0) - now, 15 * 60, 'the ban is the third');
});

test('saved keys are evicted, and read again when they call', async () => {
  const { limiter, key, reads } = bench(3);
  assert.equal(limiter.state, 'ok');
  for (let index = 0; index < 20; index += 1) {
    await limiter.charge({ ...key, id: `key_${index}` });
    await limiter.save();
  }
  await limiter.peek({ ...key, id: 'key_0' });
  assert.deepEqual([reads.length, reads.at(-1)], [21, 'key_0']);
});

test('a ban is over at its end', async () => {
  const all = bench();
  await hammer(all);
  await all.limiter.save();
  all.clock.advance(60);
  await all.limiter.refreshBans();
  assert.equal(all.reads.length, 1);
});

test('a decision is restated in a later second only, from the counts or, without them, from itself', async () => {
  const { limiter, key, clock } = bench();
  const decision = await limiter.charge(key);
  await limiter.charge(key);
  assert.equal(limiter.current(key, decision), decision);
  clock.advance(1);
  assert.equal(limiter.current(key, decision).remaining, 58);
  const { limiter: other, clock: otherClock } = bench();
  otherClock.advance(1);
  assert.deepEqual([other.current(key, decision).remaining, other.current(key, decision).now], [59, NOON + 1]);
});
