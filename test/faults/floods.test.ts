import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeBesideSlow, tryWrongKeys } from '../kit/faults/floods.ts';

test('wrong keys are each answered with 401, and a good key is served beside them', async (t) => {
  const figures = await tryWrongKeys(2_000);
  assert.deepEqual([figures.refused, figures.goodStatus], [2_000, 200]);
  // How much memory a flood takes shows only over many more: `npm run reliability` holds it to its bound.
  t.diagnostic(`${figures.grownBytes} bytes more from the first half to the second`);
});

test('a good client is served beside slow and idle connections', async (t) => {
  const figures = await timeBesideSlow({ slow: 100, idle: 300, requests: 300 });
  assert.equal(figures.unexplained, 0);
  t.diagnostic(`p99 ${figures.aloneP99Ms.toFixed(2)} ms alone, ${figures.besideP99Ms.toFixed(2)} ms beside them`);
});
