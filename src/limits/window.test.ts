import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyLimits, anySteps, LimiterModel } from '../../test/kit/limiter-model.ts';
import { charge, later, look, UNUSED } from './window.ts';

const BAN_AFTER = 60;
const NOON = Date.UTC(2026, 0, 1, 12) / 1000;

test('in any sequence the windows hold, a refusal consumes nothing, and a client that waits is admitted', () => {
  fc.assert(
    fc.property(anyLimits, anySteps, (firstLimits, steps) => {
      let state = UNUSED;
      let limits = firstLimits;
      let now = { unix: NOON, steady: NOON };
      const model = new LimiterModel();
      const pass = (seconds: number) => ({ unix: now.unix + seconds, steady: now.steady + seconds });
      const call = () => {
        const result = charge(state, limits, now, BAN_AFTER);
        state = result.state;
        model.check(result.decision, limits, now);
        return result.decision;
      };

      for (const step of steps) {
        if (step.kind === 'call') for (let i = 0; i < step.count; i += 1) call();
        if (step.kind === 'wait') now = pass(step.seconds);
        if (step.kind === 'clock') now = { unix: now.unix + step.seconds, steady: now.steady };
        if (step.kind === 'plan') limits = step.limits;
        // What a restart keeps: both windows and the ban, not the refusals counted so far.
        if (step.kind === 'restart') state = { ...state, refusals: 0, refusalsEnd: 0 };
        if (step.kind === 'obey') {
          const refused = look(state, limits, now);
          if (!refused.refusal) continue;
          const wait = refused.reset - refused.now;
          assert.ok(look(state, limits, pass(wait - 1)).refusal, 'the wait is no longer than it must be');
          now = pass(wait);
          assert.equal(call().refusal, undefined);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('a key is banned when it is refused more often than its plan admits per minute, and at least 60 times', () => {
  for (const [plan, refusalsNeeded] of [
    [{ minute: 60, day: 1_000 }, 61],
    [{ minute: 300, day: 10_000 }, 301],
    [{ minute: 5, day: 1_000 }, 60],
  ] as const) {
    let state = UNUSED;
    let now = { unix: NOON, steady: NOON };
    const call = () => {
      const result = charge(state, plan, now, BAN_AFTER);
      state = result.state;
      return result.decision;
    };
    for (let i = 0; i <= plan.minute; i += 1) call();
    now = { unix: NOON + 2, steady: NOON + 2 };
    for (let i = 1; i < refusalsNeeded; i += 1) assert.equal(call().refusal, 'rate_limit_exceeded');
    assert.equal(call().refusal, 'key_banned');
  }
});

test('with 0 as the refusals before a ban there are no bans', () => {
  let state = UNUSED;
  for (let i = 0; i < 10_000; i += 1) {
    const now = { unix: NOON + Math.floor(i / 200), steady: NOON + Math.floor(i / 200) };
    const result = charge(state, { minute: 1, day: 1_000 }, now, 0);
    state = result.state;
    assert.notEqual(result.decision.refusal, 'key_banned');
  }
});

test('a ban counts for the length of the next until a day after its end', () => {
  for (const [sinceEnd, minutes] of [
    [86_399, 60],
    [86_400, 1],
  ] as const) {
    const ends = NOON - sinceEnd;
    const ban = { starts: ends - 3_600, ends, level: 4, reason: 'r' };
    const state = { ...UNUSED, minuteEnds: NOON + 30, minuteUsed: 1, refusalsEnd: NOON + 30, refusals: 59, ban };
    const { newBan } = charge(state, { minute: 1, day: 1_000 }, { unix: NOON, steady: NOON }, BAN_AFTER);
    assert.deepEqual([newBan?.starts, newBan?.ends], [NOON, NOON + minutes * 60]);
  }
});

test('with both windows spent the refusal names the day, and the wait covers both', () => {
  const midnight = NOON + 43_200;
  for (const [beforeMidnight, reset] of [
    [50, midnight],
    [20, midnight - 20 + 30],
  ] as const) {
    const now = midnight - beforeMidnight;
    const day = Math.floor(now / 86_400);
    const state = { ...UNUSED, minuteEnds: now + 30, minuteUsed: 5, day, dayUsed: 9 };
    const decision = look(state, { minute: 5, day: 9 }, { unix: now, steady: now });
    assert.deepEqual(
      [decision.refusal, decision.limit, decision.remaining, decision.reset],
      ['daily_quota_exceeded', 9, 0, reset],
    );
  }
});

test('refusals lead to a ban only from two seconds after the first and within its minute, and never in a ban', () => {
  const now = { unix: NOON, steady: NOON - 1_000 };
  const spent = { ...UNUSED, minuteEnds: now.steady + 30, minuteUsed: 1, day: NOON / 86_400, refusals: 59 };
  const ban = { starts: now.steady - 10, ends: now.steady + 50, level: 1, reason: 'r' };
  const refusedAfter = (seconds: number, more = {}) =>
    charge({ ...spent, refusalsEnd: now.steady + 60 - seconds, ...more }, { minute: 1, day: 1_000 }, now, BAN_AFTER);
  assert.equal(refusedAfter(1).newBan, undefined);
  assert.equal(refusedAfter(2).newBan?.reason, 'refused 60 more times within a minute of a 429');
  assert.ok(refusedAfter(59).newBan);
  const afterMinute = refusedAfter(60);
  assert.deepEqual([afterMinute.newBan, afterMinute.state.refusals], [undefined, 0]);
  assert.equal(afterMinute.state.refusalsEnd, now.steady + 60);
  const inBan = refusedAfter(30, { ban });
  assert.deepEqual([inBan.newBan, inBan.state.refusals], [undefined, 59]);
  assert.deepEqual(inBan.decision.ban, { until: NOON + 50, reason: 'r' });
});

test('a decision restated later is the one that a look would give then', () => {
  const limits = { minute: 5, day: 9 };
  const at = (seconds: number) => ({ unix: NOON + seconds, steady: NOON + seconds - 1_000 });
  const open = { ...UNUSED, minuteEnds: at(30).steady, minuteUsed: 2, day: Math.floor(NOON / 86_400), dayUsed: 3 };
  const ban = { starts: at(-10).steady, ends: at(50).steady, level: 1, reason: 'r' };
  for (const state of [
    open,
    { ...open, minuteUsed: 5 },
    { ...open, dayUsed: 9 },
    { ...open, minuteEnds: 0, minuteUsed: 0 },
    { ...open, ban },
  ]) {
    for (const seconds of [0, 10, 29, ...('ban' in state && state.ban ? [] : [30, 43_199, 43_200])])
      assert.deepEqual(later(look(state, limits, at(0)), at(seconds)), look(state, limits, at(seconds)));
  }
  const { minute, day } = look(open, limits, at(30));
  assert.deepEqual(minute, { limit: 5, remaining: 5, reset: NOON + 90 });
  assert.deepEqual(day, { limit: 9, remaining: 6, reset: NOON + 43_200 });
});
