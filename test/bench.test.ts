import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../bench/calibration.ts';
import { inner, spread } from '../bench/statistics.ts';

const quiet = Array.from({ length: 12 }, () => ({ wallMs: 41, processorMs: 40 }));
const steady = [spread([60_000, 61_000, 62_000]), spread([30_000, 31_000, 32_000])];

test('a workload of a quiet machine is kept', () => {
  const { busy, taken, apart } = judge(quiet, steady, 40);
  assert.equal(busy, undefined);
  assert.equal(taken.max, 1.025);
  assert.equal(Math.round(apart.max), 6);
});

test('one moment of twelve without its core makes a workload busy', () => {
  const { busy } = judge([...quiet.slice(1), { wallMs: 50, processorMs: 40 }], steady, 40);
  assert.equal(busy, 'a fixed piece of work took 1.25 times the processor time that it got');
});

test('one moment with slow caches makes a workload busy, judged by the best of the whole run', () => {
  const slow = [...quiet.slice(1), { wallMs: 55, processorMs: 55 }];
  assert.equal(judge(slow, steady, 45).busy, undefined);
  assert.equal(judge(slow, steady, 41).busy, 'a fixed piece of work took 55 ms, and 41 at best');
});

test('rounds far apart make a workload busy, unless they are those of a few contenders', () => {
  const apart = spread([20_000, 31_000, 32_000]);
  assert.equal(judge(quiet, [...steady, apart], 40).busy, undefined);
  assert.equal(
    judge(quiet, [apart, apart, ...steady.slice(1)], 40).busy,
    'the rounds of a contender were 38.7 % apart',
  );
});

test('one slow round of five is not what is judged, two are', () => {
  const calibration = (rates: readonly number[]) => judge(quiet, [spread(inner(rates))], 40);
  assert.equal(calibration([60_000, 61_000, 62_000, 63_000, 20_000]).busy, undefined);
  assert.notEqual(calibration([60_000, 20_000, 62_000, 63_000, 21_000]).busy, undefined);
  assert.deepEqual(inner([1, 2]), [1, 2]);
});
