import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realPace } from './pace.ts';

test('a wait is made second by second, and shows how far it is if it is longer than one', async () => {
  const done: unknown[] = [];
  const progress = (...shown: unknown[]) => void done.push(shown);
  const { wait, now } = realPace(progress, async (ms) => done.push(ms));
  await wait(1, 'the window');
  await wait(0, 'the window');
  assert.deepEqual(done.splice(0), [1_000]);
  await wait(2.5, 'the window');
  const shown = (waited: number) => ['Waiting: the window', waited, 2.5];
  assert.deepEqual(done, [shown(0), 1_000, shown(1), 1_000, shown(2), 500, shown(2.5)]);
  const before = performance.now() / 1_000;
  assert.ok(now() >= before && now() <= before + 60, 'in seconds');
});
