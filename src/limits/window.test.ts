import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyLimits, anySteps, LimiterModel } from '../../test/kit/limiter-model.ts';
import { countRefusal } from './bans.ts';
import { banned, charge, later, look, UNUSED } from './window.ts';

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
        const result = charge(state, limits, now);
        state = result.state;
        model.check(result.decision, limits, now);
        return result.decision;
      };

      for (const step of steps) {
        if (step.kind === 'call') for (let i = 0; i < step.count; i += 1) call();
        if (step.kind === 'wait') now = pass(step.seconds);
        if (step.kind === 'clock') now = { unix: now.unix + step.seconds, steady: now.steady };
        if (step.kind === 'plan') limits = step.limits;
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

test('refusals count from two seconds after the first until its minute is over, within one generation', () => {
  const at = (seconds: number) => ({ unix: NOON + seconds, steady: NOON - 1_000 + seconds });
  const refuse = (state = UNUSED, banGeneration: number, ...seconds: number[]) =>
    seconds.reduce((known, second) => countRefusal(known, banGeneration, at(second)), state);
  assert.deepEqual(refuse(UNUSED, 0, 0), { ...UNUSED, refusalsEnd: at(60).steady });
  assert.equal(refuse(UNUSED, 0, 0, 0, 1, 1).refusals, 0, 'those in flight with the first do not count');
  assert.equal(refuse(UNUSED, 0, 0, 1, 2, 2, 59).refusals, 3);
  assert.equal(refuse(UNUSED, 0, 0, 2, 59, 60).refusals, 0, 'the next minute begins anew');
  const counted = refuse(UNUSED, 1, 0, 2, 3);
  assert.deepEqual([counted.refusals, counted.banGeneration], [2, 1]);
  const lifted = { ...UNUSED, refusalsEnd: at(64).steady, banGeneration: 2 };
  assert.deepEqual(refuse(counted, 2, 4), lifted, 'a lift forgets');
  assert.equal(refuse(counted, 0, 4), counted, 'a request of an earlier generation counts nothing');
  const { state } = charge(counted, { minute: 1, day: 1 }, at(4));
  const used = { minuteEnds: at(64).steady, minuteUsed: 1, day: Math.floor(NOON / 86_400), dayUsed: 1 };
  assert.deepEqual(state, { ...counted, ...used }, 'an admitted request forgets none');
});

test('during a ban the wait covers the windows too, by the clock of the ban', () => {
  const limits = { minute: 5, day: 9 };
  const now = { unix: NOON, steady: NOON };
  const open = { ...UNUSED, minuteEnds: NOON + 30, minuteUsed: 2, day: Math.floor(NOON / 86_400), dayUsed: 3 };
  const ban = { until: NOON + 60, reason: 'r' };
  for (const [state, reset] of [
    [open, NOON + 60],
    [{ ...open, minuteUsed: 5 }, NOON + 60],
    [{ ...open, minuteEnds: NOON + 58, minuteUsed: 5 }, NOON + 63],
    [{ ...open, dayUsed: 9 }, NOON + 43_200],
  ] as const) {
    const decision = banned(look(state, limits, now), ban, NOON + 5);
    assert.deepEqual(
      [decision.refusal, decision.limit, decision.remaining, decision.reset, decision.now, decision.ban],
      ['key_banned', 5, 0, reset, NOON + 5, ban],
    );
    assert.deepEqual(decision.minute, { limit: 5, remaining: 0, reset });
    assert.equal(decision.day.remaining, 9 - state.dayUsed);
  }
});

test('a decision restated later is the one that a look would give then', () => {
  const limits = { minute: 5, day: 9 };
  const at = (seconds: number) => ({ unix: NOON + seconds, steady: NOON + seconds - 1_000 });
  const open = { ...UNUSED, minuteEnds: at(30).steady, minuteUsed: 2, day: Math.floor(NOON / 86_400), dayUsed: 3 };
  for (const state of [
    open,
    { ...open, minuteUsed: 5 },
    { ...open, dayUsed: 9 },
    { ...open, minuteEnds: 0, minuteUsed: 0 },
  ]) {
    for (const seconds of [0, 10, 29, 30, 59, 60, 43_199, 43_200]) {
      assert.deepEqual(later(look(state, limits, at(0)), at(seconds)), look(state, limits, at(seconds)));
      const ban = { until: NOON + 60, reason: 'r' };
      const restated = later(banned(look(state, limits, at(0)), ban, NOON), at(seconds));
      assert.equal(restated.refusal === 'key_banned', seconds < 60);
    }
  }
  const { minute, day } = look(open, limits, at(30));
  assert.deepEqual(minute, { limit: 5, remaining: 5, reset: NOON + 90 });
  assert.deepEqual(day, { limit: 9, remaining: 6, reset: NOON + 43_200 });
});
