import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { temporaryFolder } from '../../../test/kit/service.ts';
import type { Change } from '../../catalog/storage.ts';
import { openEngine } from '../open.ts';
import { followChanges, noteChange, readChanges, readVersions } from './change-feed.ts';

/** What is followed, where no key is named. */
function follow(versions: () => ReadonlyMap<Change, number>, run = () => 'first') {
  return { versions: async () => ({ run: run(), byKind: versions() }), changedKeys: async () => [] };
}

test('a change that cannot be followed blocks no other, and is retried', async () => {
  const versions = new Map<Change, number>([
    ['categories', 1],
    ['keys', 1],
    ['new-categories', 1],
  ]);
  const seen: Change[] = [];
  let isBroken = true;
  const { look } = await followChanges(
    follow(() => versions),
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
    follow(() => versions),
    async (change) => void seen.push(change),
  );
  versions.set('new-categories', 6);
  await look();
  versions.set('new-categories', 5);
  await look();
  assert.deepEqual(seen, ['new-categories', 'restored']);
});

test('of another run of the server everything is read anew, whatever its versions, until that succeeds', async () => {
  const versions = new Map<Change, number>([
    ['keys', 7],
    ['new-categories', 5],
  ]);
  const seen: Change[] = [];
  const failure = new Error('the list cannot be read');
  let [run, isBroken] = ['first', true];
  const followed = follow(
    () => versions,
    () => run,
  );
  const { look } = await followChanges(followed, async (change) => {
    seen.push(change);
    if (isBroken) throw failure;
  });
  await look();
  assert.deepEqual(seen, []);
  run = 'second';
  await assert.rejects(look(), failure);
  isBroken = false;
  await look();
  await look();
  assert.deepEqual(seen, ['restored', 'restored']);
  versions.set('keys', 8);
  await look();
  assert.deepEqual(seen, ['restored', 'restored', 'keys']);
});

test('a change of this process is not followed again, unless others changed something before it', async () => {
  const versions = new Map<Change, number>([['keys', 5]]);
  const seen: Change[] = [];
  const { look, followed } = await followChanges(
    follow(() => versions),
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

test('a change that this process makes while the versions are read is not taken for a step back', async () => {
  const versions = new Map<Change, number>([
    ['keys', 5],
    ['new-categories', 5],
  ]);
  const seen: Change[] = [];
  const onRead: (() => void)[] = [];
  const reading = {
    async versions() {
      const read = new Map(versions);
      onRead.pop()?.();
      return { run: '', byKind: read };
    },
    changedKeys: async () => [],
  };
  const { look, followed } = await followChanges(reading, async (change) => void seen.push(change));
  onRead.push(() => {
    for (const kind of versions.keys()) {
      versions.set(kind, 6);
      followed(kind, 6);
    }
  });
  await look();
  assert.deepEqual(onRead, []);
  assert.deepEqual(seen, []);
  await look();
  assert.deepEqual(seen, []);
});

test('a lower version of anything but the ids is a change of its own kind, and so is a first version', async () => {
  let versions = new Map<Change, number>([['keys', 5]]);
  const seen: Change[] = [];
  const { look } = await followChanges(
    follow(() => versions),
    async (change) => void seen.push(change),
  );
  versions = new Map<Change, number>([
    ['keys', 4],
    ['restored', 1],
    ['categories', 0],
  ]);
  await look();
  assert.deepEqual(seen, ['keys', 'restored']);
});

test('the versions are those of the tables, and of new categories the last id', async () => {
  using folder = temporaryFolder();
  const { db } = await openEngine({ engine: 'sqlite', file: join(folder.path, 'x.db') });
  try {
    await db.run(sql`update change_versions set version = 7 where kind = 'keys'`);
    await db.run(sql`update category_counter set last_id = 9`);
    const { run, byKind } = await readVersions(db, sql`'this run'`);
    assert.deepEqual([run, byKind.get('keys'), byKind.get('new-categories')], ['this run', 7, 9]);
  } finally {
    await db.close();
  }
});

test('the keys that changed are named, for the last ten thousand changes', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  try {
    await db.transaction(async (trx) => {
      for (let version = 1; version <= 10_005; version += 1)
        await noteChange(trx, version, { kind: 'keys', id: `key_${version}` });
    });
    const changed = (after: number, upTo: number) => readChanges(db, 'keys', { after, upTo });
    assert.deepEqual(await changed(10_002, 10_004), ['key_10003', 'key_10004']);
    assert.deepEqual(await changed(10_005, 10_005), []);
    assert.equal((await changed(5, 10_005))?.length, 10_000);
    assert.equal(await changed(4, 10_005), undefined, 'more were missed than are kept');
    assert.equal(await changed(10_006, 7), undefined, 'an earlier state was restored');
  } finally {
    await db.close();
  }
});

test('a follower of keys is told which changed since it looked last', async () => {
  const versions = new Map<Change, number>([['keys', 5]]);
  const asked: [number, number][] = [];
  const changedKeys = async (after: number, upTo: number) => {
    asked.push([after, upTo]);
    return upTo === 9 ? undefined : ['key_1', 'key_2'];
  };
  const told: (readonly string[] | undefined)[] = [];
  const { look } = await followChanges({ ...follow(() => versions), changedKeys }, async (_change, keyIds) => {
    told.push(keyIds);
  });
  for (const version of [7, 9]) {
    versions.set('keys', version);
    await look();
  }
  assert.deepEqual(asked, [
    [5, 7],
    [7, 9],
  ]);
  assert.deepEqual(told, [['key_1', 'key_2'], undefined]);
});
