import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from './within.ts';

const lateness = () => new Error('late');

test('work within its time settles unchanged', async () => {
  assert.equal(await within(60_000, Promise.resolve(7), lateness), 7);
  await assert.rejects(within(60_000, Promise.reject(new Error('failed')), lateness), /failed/);
});

test('work that takes too long is not waited for', async () => {
  const { promise } = Promise.withResolvers<void>();
  await assert.rejects(within(1, promise, lateness), /late/);
});
