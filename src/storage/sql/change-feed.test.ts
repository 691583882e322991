import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import type { Change } from '../../catalog/storage.ts';
import { openEngine } from '../open.ts';
import { followChanges, noteChange, readChanges, readVersions } from './change-feed.ts';

type Numbers = Partial<Record<Change, number>>;

/** What one look reads, and what it follows. */
interface Look {
  /** The versions that changed since the look before. */
  readonly now?: Numbers;
  /** Another run of the server than that of the look before. */
  readonly run?: string;
  /** Versions that this process raised itself, before the look, or while the versions are read. */
  readonly own?: Numbers;
  readonly ownMeanwhile?: Numbers;
  /** The change that cannot be followed now. */
  readonly broken?: Change;
  readonly seen: readonly Change[];
}

const ALL = { categories: 1, keys: 1, 'new-categories': 1 };
const LOOKS: Readonly<Record<string, readonly [first: Numbers, ...looks: Look[]]>> = {
  'a change that cannot be followed blocks no other, and is retried': [
    ALL,
    { now: { categories: 2, keys: 2, 'new-categories': 2 }, broken: 'categories', seen: ['keys', 'new-categories'] },
    { broken: 'categories', seen: [] },
    { seen: ['categories'] },
  ],
  'ids that vanish reveal that an earlier state of the database was restored': [
    ALL,
    { now: { 'new-categories': 2 }, seen: ['new-categories'] },
    { now: { 'new-categories': 1 }, seen: ['restored'] },
  ],
  'of another run of the server everything is read anew, whatever its versions, until that succeeds': [
    ALL,
    { seen: [] },
    { run: 'second', broken: 'restored', seen: [] },
    { seen: ['restored'] },
    { seen: [] },
    { now: { keys: 2 }, seen: ['keys'] },
  ],
  'a change of this process is not followed again, unless others changed something before it': [
    ALL,
    { now: { keys: 2 }, own: { keys: 2 }, seen: [] },
    { now: { keys: 4 }, own: { keys: 4 }, seen: ['keys'] },
    { seen: [] },
  ],
  'a change that this process makes while the versions are read is not taken for a step back': [
    ALL,
    { ownMeanwhile: { keys: 2, 'new-categories': 2 }, seen: [] },
    { now: { keys: 2, 'new-categories': 2 }, seen: [] },
  ],
  'a lower version of anything but the ids is a change of its own kind, and so is a first version': [
    { keys: 5 },
    { now: { keys: 4, restored: 1, categories: 0 }, seen: ['keys', 'restored'] },
  ],
};

const entries = (numbers: Numbers = {}) => Object.entries(numbers) as [Change, number][];

for (const [name, [first, ...looks]] of Object.entries(LOOKS)) {
  test(name, async () => {
    const versions = new Map(entries(first));
    let [run, seen, broken]: [string, Change[], Change | undefined] = ['first', [], undefined];
    let meanwhile = () => {};
    const followed = {
      async versions() {
        const read = { run, byKind: new Map(versions) };
        meanwhile();
        return read;
      },
      changedKeys: async () => [],
    };
    const following = await followChanges(followed, async (change) => {
      if (change === broken) throw new Error('it cannot be read');
      seen.push(change);
    });
    for (const look of looks) {
      for (const [kind, version] of entries(look.now)) versions.set(kind, version);
      for (const [kind, version] of entries(look.own)) following.followed(kind, version);
      meanwhile = () => {
        for (const [kind, version] of entries(look.ownMeanwhile)) following.followed(kind, version);
      };
      [run, seen, broken] = [look.run ?? run, [], look.broken];
      if (broken) await assert.rejects(following.look(), /cannot be read/);
      else await following.look();
      assert.deepEqual(seen, look.seen);
    }
  });
}

test('the keys that changed are named, for the last ten thousand changes', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  try {
    await db.run(sql`update change_versions set version = 5 where kind = 'keys'`);
    const told: (readonly string[] | undefined)[] = [];
    const { look } = await followChanges(
      {
        versions: () => readVersions(db),
        changedKeys: (after, upTo) => readChanges<string>(db, 'keys', { after, upTo }),
      },
      async (_change, keyIds) => void told.push(keyIds),
    );
    const change = (first: number, last: number) =>
      db.transaction(async (trx) => {
        for (let version = first; version <= last; version += 1)
          await noteChange(trx, version, { kind: 'keys', id: `key_${version}` });
        await trx.run(sql`update change_versions set version = ${last} where kind = 'keys'`);
      });
    await change(6, 7);
    await look();
    await change(8, 10_007);
    await look();
    await change(10_008, 20_008);
    await look();
    assert.deepEqual(
      [told[0], told[1]?.length, told.slice(2)],
      [['key_6', 'key_7'], 10_000, [undefined]],
      'a process that missed more takes all keys for changed',
    );
  } finally {
    await db.close();
  }
});
