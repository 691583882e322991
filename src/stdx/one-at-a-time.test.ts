import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { oneAtATime } from './one-at-a-time.ts';

/** Work that settles when the test says so. */
function controlled() {
  const runs: PromiseWithResolvers<void>[] = [];
  const run = oneAtATime(() => {
    const latest = Promise.withResolvers<void>();
    runs.push(latest);
    return latest.promise;
  });
  return { run, runs };
}

test('runs never overlap, and calls during a run share the next one', async () => {
  const { run, runs } = controlled();
  const first = run();
  await nextTurn();
  const [second, third] = [run(), run()];
  await nextTurn();
  assert.equal(runs.length, 1);
  runs[0]?.resolve();
  await first;
  await nextTurn();
  assert.equal(runs.length, 2);
  runs[1]?.resolve();
  await Promise.all([second, third]);
  assert.equal(runs.length, 2);
});

test('a failed run rejects all calls that share it, and the next one still runs', async () => {
  const { run, runs } = controlled();
  const first = run();
  await nextTurn();
  const second = run();
  runs[0]?.reject(new Error('the disk is full'));
  await assert.rejects(first, /the disk is full/);
  await nextTurn();
  runs[1]?.resolve();
  await second;
});
