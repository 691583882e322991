import sql from 'sql-template-tag';
import type { Change, OnChange } from '../../catalog/storage.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Connection, Transaction } from '../engine.ts';
import { insertInto, one } from './statement.ts';
import type { Tables } from './tables.ts';

/** Changes of keys that are named. A process that missed more takes every key for changed. */
const KEY_CHANGES_KEPT = 10_000;

type Versions = ReadonlyMap<Change, number>;

/** Reads what other processes have to follow. */
export interface Followed {
  versions(): Promise<Versions>;
  /** The keys that were changed after one version of them up to another; undefined if that is too long ago to tell. */
  changedKeys(after: number, upTo: number): Promise<readonly string[] | undefined>;
}

export interface Following {
  /**
   * Polls once and calls back for each kind of change since the last poll. Rejects if a callback failed; the next
   * poll retries that kind.
   */
  readonly look: () => Promise<void>;
  /** Marks a change made by this process as followed, so that the next poll does not repeat it. */
  followed(kind: Change, version: number): void;
}

/** Follows the changes of other processes, from now on. */
export async function followChanges(followed: Followed, onChange: OnChange): Promise<Following> {
  const seen = new Map(await followed.versions());
  const lookOnce = async () => {
    const failures: unknown[] = [];
    const atFirst = new Map(seen);
    for (const [kind, version] of await followed.versions()) {
      const before = seen.get(kind) ?? 0;
      // This process made a change after the versions were read, and follows it already.
      const isOutrun = version < before && before !== atFirst.get(kind);
      if (version === before || isOutrun) continue;
      try {
        // The highest id went down: the database was restored to an earlier state.
        if (kind === 'new-categories' && version < before) await onChange('restored');
        else await onChange(kind, kind === 'keys' ? await followed.changedKeys(before, version) : undefined);
        seen.set(kind, version);
      } catch (error) {
        // Keep following the other kinds: a list that cannot be read must not keep a revoked key valid.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  return {
    look: oneAtATime(lookOnce),
    followed(kind, version) {
      // A gap means that another process made changes in between; the next poll follows them.
      if (seen.get(kind) === version - 1) seen.set(kind, version);
    },
  };
}

/** The version of each kind of change; it differs after each change of the kind. */
export async function readVersions(db: Connection): Promise<Versions> {
  const rows = await db.all<Tables['change_versions']>(sql`select kind, version from change_versions`);
  const { last_id } = await one<Tables['category_counter']>(db, sql`select * from category_counter`);
  return new Map<Change, number>([
    ...rows.map(({ kind, version }) => [kind, version] as const),
    ['new-categories', last_id],
  ]);
}

/** Notes which key a change of keys changed: the change that raised their version to this one. */
export async function noteChangedKey(trx: Transaction, version: number, keyId: string): Promise<void> {
  await trx.run(insertInto('key_changes', [{ version, key_id: keyId }]));
  await trx.run(sql`delete from key_changes where version <= ${version - KEY_CHANGES_KEPT}`);
}

/** The keys changed from one version up to another. Any may have changed in a version that is no longer kept. */
export async function readChangedKeys(db: Connection, after: number, upTo: number): Promise<string[] | undefined> {
  const rows = await db.all<Pick<Tables['key_changes'], 'key_id'>>(sql`
    select key_id from key_changes where version > ${after} and version <= ${upTo}`);
  return rows.length === upTo - after ? rows.map(({ key_id }) => key_id) : undefined;
}
