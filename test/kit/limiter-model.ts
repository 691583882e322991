import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Limits } from '../../src/catalog/plan.ts';
import type { ResetWindow } from '../../src/catalog/window-counts.ts';
import type { Decision } from '../../src/limits/window.ts';
import type { Moment } from '../../src/stdx/time.ts';

/** Published plans, and tiny ones that reach their limits often. */
export const anyLimits = fc.oneof(
  fc.constantFrom<Limits>({ minute: 60, day: 1_000 }, { minute: 300, day: 10_000 }),
  fc.record({ minute: fc.integer({ min: 1, max: 8 }), day: fc.integer({ min: 1, max: 30 }) }),
);

export type LimiterStep =
  | { readonly kind: 'call'; readonly count: number }
  | { readonly kind: 'wait' | 'clock'; readonly seconds: number }
  | { readonly kind: 'plan'; readonly limits: Limits }
  | { readonly kind: 'reset'; readonly window: ResetWindow }
  | { readonly kind: 'obey' | 'restart' | 'rotate' };

const just = <const K extends 'obey' | 'restart' | 'rotate'>(kind: K) => fc.constant<LimiterStep>({ kind });
const seconds = (kind: 'wait' | 'clock', min: number, max: number) =>
  fc.integer({ min, max }).map((length): LimiterStep => ({ kind, seconds: length }));

/** A second of the day, often close to midnight. */
export const anySecond = fc.integer({ min: -90, max: 86_309 }).map((second) => (second + 86_400) % 86_400);

/** What can happen to a key and its limiter. */
export const anySteps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 90 }).map((count): LimiterStep => ({ kind: 'call', count })) },
    { weight: 6, arbitrary: seconds('wait', 1, 90) },
    { weight: 1, arbitrary: seconds('wait', 3_000, 200_000) },
    { weight: 1, arbitrary: seconds('clock', -200_000, 200_000) },
    { weight: 2, arbitrary: anyLimits.map((limits): LimiterStep => ({ kind: 'plan', limits })) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom<ResetWindow>('minute', 'day', 'both')
        .map((window): LimiterStep => ({ kind: 'reset', window })),
    },
    { weight: 2, arbitrary: just('obey') },
    { weight: 1, arbitrary: just('restart') },
    { weight: 1, arbitrary: just('rotate') },
  ),
  { maxLength: 40, size: 'max' },
);

/** A reference model of what was admitted, independent of the code under test. */
export class LimiterModel {
  #windowOpened = Number.NEGATIVE_INFINITY;
  #inWindow = 0;
  #day = 0;
  #inDay = 0;

  /** Compares a decision with the model, and counts it. Throws when they disagree. */
  check(decision: Decision, limits: Limits, now: Moment): void {
    assertConsistent(decision, now.unix);
    const isOpen = now.steady - this.#windowOpened < 60;
    if (!isOpen) this.#inWindow = 0;
    const day = this.#dayOf(decision, now);
    let inDay = day === this.#day ? this.#inDay : 0;
    const left = [limits.minute - this.#inWindow, limits.day - inDay];
    if (decision.refusal) {
      if (decision.refusal === 'key_banned') return;
      assert.ok(Math.min(...left) <= 0, 'refused although both windows have room');
    } else {
      assert.ok(Math.min(...left) > 0, `admitted with ${left[0]} left in the minute and ${left[1]} in the day`);
      if (!isOpen) this.#windowOpened = now.steady;
      this.#inWindow += 1;
      inDay += 1;
      [this.#day, this.#inDay] = [day, inDay];
    }
    const remaining = [limits.minute - this.#inWindow, limits.day - inDay].map((count) => Math.max(0, count));
    assert.deepEqual([decision.minute.remaining, decision.day.remaining], remaining);
    assert.deepEqual([decision.minute.limit, decision.day.limit], [limits.minute, limits.day]);
    // A window that no request has opened would begin now.
    const age = now.steady - this.#windowOpened;
    assert.equal(
      decision.minute.reset - now.unix,
      age < 60 ? 60 - age : 60,
      'a minute ends 60 seconds after the request that opened it',
    );
  }

  /** An operator gives back what was counted in the present windows. */
  reset(window: ResetWindow): void {
    if (window !== 'day') this.#inWindow = 0;
    if (window !== 'minute') this.#inDay = 0;
  }

  /**
   * Learns from the first decision after a restart. A limiter that begins anew takes a stored day later than today for
   * today, and its count stays. One that counts elsewhere goes on.
   */
  restart({ day }: Decision, { unix }: Moment): void {
    const told = dayOf(day);
    if (told >= this.#day) return;
    assert.equal(told, Math.floor(unix / 86_400), 'a day that lies ahead is taken for today');
    this.#day = told;
  }

  /** The day that a decision is of: today, unless requests were counted on a later one. */
  #dayOf({ day }: Decision, { unix }: Moment): number {
    const told = dayOf(day);
    assert.equal(told, Math.max(this.#day, Math.floor(unix / 86_400)), 'the day that the decision tells of');
    return told;
  }
}

/** Days since 1970. */
function dayOf({ reset }: Decision['day']): number {
  return reset / 86_400 - 1;
}

/** Checks that what a decision tells is possible at all. */
export function assertConsistent(decision: Decision, now: number): void {
  const { refusal, limit, remaining, reset, minute, day } = decision;
  for (const number of [limit, remaining, reset, minute.remaining, day.remaining, minute.reset, day.reset]) {
    assert.ok(Number.isInteger(number) && number >= 0);
  }
  assert.ok(reset > now && minute.reset > now && day.reset > now, 'every reset lies ahead');
  assert.equal(remaining, Math.min(minute.remaining, day.remaining), 'the header tells the scarcer window');
  if (refusal) {
    assert.equal(remaining, 0);
    const spent = [minute, day].filter((window) => window.remaining === 0);
    assert.equal(reset, Math.max(...spent.map((window) => window.reset)), 'the reset is when all admit again');
    const told = day.remaining === 0 ? [day.limit, 'daily_quota_exceeded'] : [minute.limit, 'rate_limit_exceeded'];
    if (refusal !== 'key_banned') assert.deepEqual([limit, refusal], told);
  } else {
    const told = day.remaining < minute.remaining ? day : minute;
    assert.deepEqual([limit, reset], [told.limit, told.reset]);
  }
  assert.equal(decision.ban !== undefined, refusal === 'key_banned');
}
