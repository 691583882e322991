import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { temporaryFolder } from '../../../test/kit/service.ts';
import type { Change } from '../../catalog/storage.ts';
import { openEngine } from '../open.ts';
import { followChanges, readVersions } from './change-feed.ts';

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

test('a lower version of anything but the ids is a change of its own kind, and so is a first version', async () => {
  let versions = new Map<Change, number>([['keys', 5]]);
  const seen: Change[] = [];
  const { look } = await followChanges(
    async () => versions,
    async (change) => void seen.push(change),
  );
  versions = new Map<Change, number>([
    ['keys', 4],
    ['bans', 1],
    ['categories', 0],
  ]);
  await look();
  assert.deepEqual(seen, ['keys', 'bans']);
});

test('the versions are those of the tables, and of new categories the last id', async () => {
  using folder = temporaryFolder();
  const { db } = await openEngine({ engine: 'sqlite', file: join(folder.path, 'x.db') });
  try {
    await db.run(sql`update change_versions set version = 7 where kind = 'keys'`);
    await db.run(sql`update category_counter set last_id = 9`);
    const versions = await readVersions(db);
    assert.deepEqual([versions.get('keys'), versions.get('new-categories')], [7, 9]);
  } finally {
    await db.close();
  }
});
