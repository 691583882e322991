import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../catalog/storage.ts';
import { followChanges } from './change-feed.ts';

test('a change that cannot be followed blocks no other, and is retried', async () => {
  const versions = new Map<Change, number>([
    ['categories', 1],
    ['keys', 1],
    ['new-categories', 1],
  ]);
  const seen: Change[] = [];
  let isBroken = true;
  const { look } = await followChanges(
    async () => versions,
    async (change) => {
      if (change === 'categories' && isBroken) throw new Error('the list cannot be read');
      seen.push(change);
    },
  );
  for (const kind of versions.keys()) versions.set(kind, 2);
  await assert.rejects(look(), /cannot be read/);
  assert.deepEqual(seen, ['keys', 'new-categories']);
  await assert.rejects(look(), /cannot be read/);
  assert.deepEqual(seen, ['keys', 'new-categories'], 'what was followed is not told again');
  isBroken = false;
  await look();
  assert.deepEqual(seen, ['keys', 'new-categories', 'categories']);
});

test('ids that vanish reveal that an earlier state of the database was restored', async () => {
  const versions = new Map<Change, number>([['new-categories', 5]]);
  const seen: Change[] = [];
  const { look } = await followChanges(
    async () => versions,
    async (change) => void seen.push(change),
  );
  versions.set('new-categories', 6);
  await look();
  versions.set('new-categories', 5);
  await look();
  assert.deepEqual(seen, ['new-categories', 'restored']);
});

test('a change of this process is not followed again, unless others changed something before it', async () => {
  const versions = new Map<Change, number>([['keys', 5]]);
  const seen: Change[] = [];
  const { look, followed } = await followChanges(
    async () => versions,
    async (change) => void seen.push(change),
  );
  versions.set('keys', 6);
  followed('keys', 6);
  await look();
  assert.deepEqual(seen, []);
  // 7 is another's, 8 this process's own.
  versions.set('keys', 8);
  followed('keys', 8);
  await look();
  assert.deepEqual(seen, ['keys']);
  await look();
  assert.deepEqual(seen, ['keys']);
});
