import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, firstFailure } from './simulation.ts';

/** Those after the seeds of `npm test`. */
const [FIRST, LAST] = [51, 300];
const SEEDS_AT_ONCE = 25;
const STEPS = 80;

for (let first = FIRST; first <= LAST; first += SEEDS_AT_ONCE) {
  test(`every promise is kept under ${SEEDS_AT_ONCE} seeds from ${first} on`, async () => {
    const seeds = Array.from({ length: SEEDS_AT_ONCE }, (_, index) => first + index);
    const failed = await firstFailure(seeds, STEPS);
    if (failed) assert.fail(describe(failed));
  });
}
