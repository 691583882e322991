import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killDuringCreates, restartUnderLoad } from '../kit/faults/kills.ts';

test('kill -9 in the middle of concurrent creates loses none that was acknowledged and reuses no id', async () => {
  let seed = 1;
  const randomMs = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return 20 + (seed % 180);
  };
  const figures = await killDuringCreates(3, randomMs);
  assert.deepEqual([figures.lost, figures.reusedIds, figures.unexplained], [0, 0, 0]);
  assert.ok(figures.acknowledged > 0);
});

test('restarts by SIGTERM under load drop no request and lose no create', async () => {
  const figures = await restartUnderLoad(2);
  assert.deepEqual([figures.dropped, figures.unexplained, figures.lost], [0, 0, 0]);
  assert.ok(figures.answered > 0);
});
