import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from './deadline.ts';
import { MACHINE as time } from './time.ts';

const lateness = () => new Error('late');

test('work within its time settles unchanged', async () => {
  assert.equal(await within(Promise.resolve(7), { ms: 60_000, lateness, time }), 7);
  await assert.rejects(within(Promise.reject(new Error('failed')), { ms: 60_000, lateness, time }), /failed/);
  assert.ok(!process.getActiveResourcesInfo().includes('Timeout'), 'no timer outlives the work');
});

test('work that takes too long is not waited for', async () => {
  const { promise } = Promise.withResolvers<void>();
  const waits: number[] = [];
  const recorded = {
    setTimeout: (run: () => void, ms: number) => {
      waits.push(ms);
      return time.setTimeout(run, 1);
    },
  };
  await assert.rejects(within(promise, { ms: 7_000, lateness, time: recorded }), /late/);
  assert.deepEqual(waits, [7_000]);
});
