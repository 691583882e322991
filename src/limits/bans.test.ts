import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { recordedEvents } from '../../test/kit/events.ts';
import { VirtualTime } from '../../test/simulator/virtual-time.ts';
import { type ApiKey, newApiKey } from '../catalog/api-key.ts';
import { type Ban, enforced, nextBan, type RunningBan } from '../catalog/ban.ts';
import type { CatalogError } from '../catalog/error.ts';
import type { Storage } from '../catalog/storage.ts';
import { Bans } from './bans.ts';
import type { Decision, Limiter } from './limiter.ts';
import { look, UNUSED } from './window.ts';

/** What becomes of a key that is refused too often, on a storage and a limiter that the test plays. */

const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
const LIMITS = { minute: 4, day: 1_000 };
const BAN_AFTER = 6;

type Stored = { ban: RunningBan; isNew: boolean } | undefined;
type Decided = { readonly banGeneration: number; readonly isAnswered: boolean };

function bench({ banAfter = BAN_AFTER, refusals = 0 } = {}) {
  const time = new VirtualTime(NOON * 1_000);
  const clock = manualClock(NOON);
  const events = recordedEvents();
  const asked: [keyId: string, ban: Ban, decided: Decided][] = [];
  const played = {
    refusals,
    /** The limiter has to ask for its counts. */
    late: undefined as Promise<void> | undefined,
    charges: 0,
    looks: 0,
    /** Holds a look of the limiter. */
    looking: undefined as Promise<void> | undefined,
    /** The bans that were asked for when the limiter was stopped. */
    stoppedAfter: undefined as number | undefined,
    failure: undefined as Error | undefined,
    /** Delays what storage does. */
    storing: undefined as Promise<void> | undefined,
    /** Replaces what storage says. */
    outcome: undefined as ((ban: Ban) => Stored) | undefined,
  };
  const keys = {
    impose: async (keyId: string, ban: Ban, decided: Decided): Promise<Stored> => {
      asked.push([keyId, ban, decided]);
      await played.storing;
      if (played.failure) throw played.failure;
      if (played.outcome) return played.outcome(ban);
      return { ban: enforced(decided.isAnswered ? ban : nextBan(null, ban), clock.now()), isNew: true };
    },
  };
  const spent = (): Decision => {
    const { unix, steady } = clock.now();
    const state = { ...UNUSED, minuteEnds: steady + 30, minuteUsed: 4, day: Math.floor(unix / 86_400), dayUsed: 9 };
    return look(state, LIMITS, clock.now());
  };
  const limiter: Limiter = {
    lost: [],
    charge: () => {
      played.charges += 1;
      const decision = { ...spent(), refusals: played.refusals };
      return played.late ? played.late.then(() => decision) : decision;
    },
    peek: (_key, isBanned) => {
      if (isBanned) played.looks += 1;
      return played.looking?.then(spent) ?? spent();
    },
    current: (_key, decision) => decision,
    async [Symbol.asyncDispose]() {
      played.stoppedAfter = asked.length;
    },
  };
  const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'enterprise', limits: LIMITS }, NOON);
  const storage = { keys } as unknown as Storage;
  const bans = new Bans(limiter, { storage, time: { ...time.process(), now: clock.now }, events, banAfter });
  return {
    time,
    clock,
    events,
    asked,
    played,
    bans,
    key,
    async charge(of: ApiKey = key): Promise<Decision> {
      let decision: Decision | undefined;
      Promise.resolve(bans.charge(of)).then((late) => {
        decision = late;
      });
      while (!decision) await time.pass(10);
      return decision;
    },
  };
}

test('a key is banned when it is refused more often than its plan admits per minute, and at least so often', async () => {
  for (const [minute, banAfter, needed] of [
    [4, 6, 6],
    [8, 6, 9],
    [4, 0, Number.POSITIVE_INFINITY],
  ] as const) {
    for (const refusals of [0, 5, 6, 8, 9, 1_000]) {
      const at = bench({ banAfter });
      at.played.refusals = refusals;
      const { refusal } = await at.charge({ ...at.key, limits: { minute, day: 1_000 } });
      assert.equal(refusal, refusals >= needed ? 'key_banned' : 'rate_limit_exceeded', `${refusals} of ${minute}`);
    }
  }
});

test('a ban is told once it is stored, with its end, and by what it was earned', async () => {
  const at = bench({ refusals: 6 });
  at.played.late = Promise.resolve();
  const { refusal, ban, reset, minute, day } = await at.charge();
  const reason = 'refused 6 more times within a minute of a 429';
  assert.deepEqual([refusal, ban, reset], ['key_banned', { until: NOON + 60, reason }, NOON + 60]);
  assert.deepEqual([minute, day.remaining], [{ limit: 4, remaining: 0, reset: NOON + 60 }, 991]);
  const [[keyId, decided, how]] = at.asked as [(typeof at.asked)[0]];
  assert.deepEqual([keyId, decided.startedAt, decided.reason], [at.key.id, NOON, reason]);
  assert.deepEqual(how, { banGeneration: 0, isAnswered: false });
  const { keyId: of, plan, startedAt, endsAt, level } = at.events.bans[0] ?? assert.fail();
  assert.deepEqual([of, plan, startedAt, endsAt, level], [at.key.id, 'enterprise', NOON, NOON + 60, 1]);
});

test('from then on it is enforced without asking what counts, though the key does not have it yet', async () => {
  const at = bench({ refusals: 6 });
  await at.charge();
  at.clock.advance(59);
  assert.equal((await at.charge()).refusal, 'key_banned');
  assert.equal((await at.bans.peek(at.key)).refusal, 'key_banned');
  assert.deepEqual([at.played.charges, at.played.looks, at.asked.length], [1, 2, 1]);
  at.clock.advance(1);
  at.played.refusals = 0;
  assert.equal((await at.charge()).refusal, 'rate_limit_exceeded');
});

test('of a stored ban and one that was decided here the later to end is in force', async () => {
  const at = bench({ refusals: 6 });
  assert.equal((await at.charge()).ban?.until, NOON + 60);
  for (const [seconds, until] of [
    [59, NOON + 60],
    [61, NOON + 61],
  ] as const) {
    const ban = enforced({ startedAt: NOON, endsAt: NOON + seconds, level: 1, reason: 'r' }, at.clock.now());
    assert.equal((await at.charge({ ...at.key, ban })).ban?.until, until);
  }
});

test('a ban lasts from its decision on, though the system clock was stepped, and is again before it is stored', async () => {
  const at = bench({ refusals: 6 });
  at.clock.step(7_200);
  const stored = Promise.withResolvers<void>();
  at.played.storing = stored.promise;
  const banned = at.bans.charge(at.key);
  at.clock.step(3_600);
  stored.resolve();
  const { refusal, ban } = await banned;
  assert.deepEqual([refusal, ban?.until], ['key_banned', NOON + 7_200 + 3_600 + 60]);
  at.played.refusals = 0;
  at.clock.advance(59);
  assert.equal((await at.charge()).refusal, 'key_banned');
  at.clock.advance(1);
  assert.equal((await at.charge()).refusal, 'rate_limit_exceeded');
});

test('a ban that is over by the time at which it is stored, as after a suspension, is not told', async () => {
  const at = bench({ refusals: 6 });
  const stored = Promise.withResolvers<void>();
  at.played.storing = stored.promise;
  const refused = at.bans.charge(at.key);
  at.clock.advance(60);
  stored.resolve();
  assert.equal((await refused).refusal, 'rate_limit_exceeded');
});

test('a ban that is over by the time at which the windows are known is not told', async () => {
  const at = bench({ refusals: 6 });
  await at.charge();
  const known = Promise.withResolvers<void>();
  at.played.looking = known.promise;
  at.played.refusals = 0;
  const looked = [at.bans.charge(at.key), at.bans.peek(at.key)];
  at.clock.advance(60);
  known.resolve();
  for (const decision of looked) assert.equal((await decision).refusal, 'rate_limit_exceeded');
});

test('a ban of another instance that runs by the time at which this one is stored stands, and is no news', async () => {
  const at = bench();
  const other = { startedAt: NOON - 10, endsAt: NOON + 50, level: 1, reason: 'r' };
  at.played.outcome = () => ({ ban: enforced(other, at.clock.now()), isNew: false });
  at.played.refusals = 6;
  assert.deepEqual((await at.charge()).ban, { until: NOON + 50, reason: 'r' });
  assert.deepEqual(at.events.bans, []);
});

test('after a suspension a ban is dated by its decision, and none is imposed for a window that is over', async () => {
  for (const [seconds, until] of [
    [30, NOON + 60],
    [60, undefined],
  ] as const) {
    const at = bench();
    Object.assign(at.played, { refusals: 6, late: Promise.resolve() });
    const charged = at.charge();
    at.clock.advance(seconds);
    assert.equal((await charged).ban?.until, until, `${seconds} s`);
    assert.equal(at.asked.length, until === undefined ? 0 : 1);
  }
});

test('after 250 ms without an answer the ban is enforced as it was decided, and stored so later', async () => {
  const at = bench({ refusals: 6 });
  at.played.storing = new Promise(() => {});
  const last = enforced({ startedAt: NOON - 90, endsAt: NOON - 30, level: 1, reason: 'r' }, at.clock.now());
  const key = { ...at.key, ban: last };
  const sinceMs = at.time.nowMs;
  const { refusal, ban } = await at.charge(key);
  assert.deepEqual([refusal, ban?.until], ['key_banned', NOON + 300], 'at the level of the cached record');
  assert.equal(at.time.nowMs - sinceMs, 250);
  assert.equal(at.events.bans.map(({ plan }) => plan).join(), 'enterprise');
  const [late] = at.events.failures as CatalogError[];
  assert.deepEqual([late?.code, late?.message], ['unavailable', 'The storage did not answer within 250 ms']);
  await at.time.pass(5_000);
  assert.equal(at.asked.length, 2, 'one retry is under way beside it');
});

test('a ban that storage refused is stored by a retry as it was answered, also when it is over', async () => {
  const at = bench({ refusals: 6 });
  at.played.failure = new Error('no storage');
  assert.equal((await at.charge()).refusal, 'key_banned');
  assert.deepEqual(at.events.failures, [at.played.failure]);
  await at.time.pass(NOON * 1_000 + 499 - at.time.nowMs);
  assert.equal(at.asked.length, 1);
  await at.time.pass(1);
  assert.deepEqual([at.asked.length, at.events.failures.length], [2, 2], 'each half second');
  at.clock.advance(60);
  await at.time.pass(500);
  at.played.failure = undefined;
  await at.time.pass(500);
  const [, stored, { isAnswered }] = at.asked.at(-1) ?? assert.fail();
  assert.deepEqual([stored.startedAt, stored.endsAt, stored.level, isAnswered], [NOON, NOON + 60, 1, true]);
  const { length } = at.asked;
  await at.time.pass(5_000);
  assert.deepEqual([at.asked.length, at.events.bans.length], [length, 1], 'once');
});

test('bans that wait are stored in their order, each one a level above the last', async () => {
  const at = bench({ refusals: 6 });
  at.played.failure = new Error('no storage');
  const last = enforced({ startedAt: NOON - 90, endsAt: NOON - 30, level: 1, reason: 'r' }, at.clock.now());
  const key = { ...at.key, ban: last };
  const ends: (number | undefined)[] = [];
  for (const seconds of [300, 900, 0]) {
    ends.push((await at.charge(key)).ban?.until);
    assert.equal((await at.charge(key)).ban?.until, ends.at(-1), 'the latest is enforced');
    at.clock.advance(seconds);
  }
  assert.deepEqual(ends, [NOON + 300, NOON + 1_200, NOON + 4_800]);
  at.asked.length = 0;
  await at.time.pass(500);
  assert.equal(at.asked.length, 1, 'while storage fails none is tried after the first');
  at.played.failure = undefined;
  at.asked.length = 0;
  await at.time.pass(500);
  assert.deepEqual(
    at.asked.map(([, { level }]) => level),
    [2, 3, 4],
  );
  await at.time.pass(500);
  assert.equal((await at.charge(key)).ban?.until, NOON + 4_800, 'though the others are over and stored');
});

test('what was refused on its way while a ban was decided leads to no second one', async () => {
  const at = bench({ refusals: 6 });
  at.played.failure = new Error('no storage');
  const { promise, resolve } = Promise.withResolvers<void>();
  at.played.late = promise;
  const onItsWay = at.bans.charge(at.key);
  at.played.late = undefined;
  assert.equal((await at.charge()).ban?.until, NOON + 60);
  resolve();
  assert.equal((await onItsWay).refusal, 'rate_limit_exceeded');
  assert.deepEqual([(await at.charge()).ban?.until, at.events.bans.length], [NOON + 60, 1]);
});

test('a ban that is over and still on its way to storage counts for the next one', async () => {
  const at = bench({ refusals: 6 });
  at.played.storing = new Promise(() => {});
  await at.charge();
  at.clock.advance(61);
  await at.time.pass(1_000);
  assert.equal((await at.charge()).ban?.until, NOON + 61 + 300);
});

test('a limiter that stops stores what waits', async () => {
  const at = bench({ refusals: 6 });
  at.played.failure = new Error('no storage');
  await at.charge();
  at.played.failure = undefined;
  await at.bans[Symbol.asyncDispose]();
  const { length } = at.asked;
  assert.deepEqual([length, at.played.stoppedAfter], [2, 2], 'before that which counts is stopped');
  await at.time.pass(5_000);
  assert.equal(at.asked.length, length, 'and nothing later');
});

test('a ban whose generation is over is not imposed, and one that waits for storage ends with it', async () => {
  const at = bench({ refusals: 6 });
  at.played.outcome = () => undefined;
  assert.equal((await at.charge()).refusal, 'rate_limit_exceeded');
  assert.equal(at.events.bans.length, 0);
  at.played.failure = new Error('no storage');
  assert.equal((await at.charge()).refusal, 'key_banned');
  at.played.refusals = 0;
  const lifted = await at.charge({ ...at.key, banGeneration: 1 });
  assert.equal(lifted.refusal, 'rate_limit_exceeded', 'once the key says so');
  at.played.failure = undefined;
  await at.time.pass(500);
  assert.equal((await at.charge()).refusal, 'rate_limit_exceeded', 'or storage');
  const { length } = at.asked;
  await at.time.pass(2_000);
  assert.equal(at.asked.length, length);
});

test('a ban of the new generation holds for a request that still has the key of the last one', async () => {
  const at = bench({ refusals: 6 });
  await at.charge({ ...at.key, banGeneration: 1 });
  at.played.refusals = 0;
  assert.equal((await at.charge()).refusal, 'key_banned');
});
