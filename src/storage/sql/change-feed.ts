import sql, { raw, type Sql } from 'sql-template-tag';
import type { Change, OnChange } from '../../catalog/storage.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Connection, Transaction } from '../engine.ts';
import type { Tables } from './tables.ts';

/** So that a look at a server that hangs is over when another one takes its place. */
const LOOK_DEADLINE_MS = 2_000;

/** The kinds whose last changes name what changed. A process that missed more takes everything for changed. */
const NAMED = {
  keys: { log: raw('key_changes'), id: raw('key_id'), kept: 10_000 },
  categories: { log: raw('category_changes'), id: raw('category_id'), kept: 100 },
} as const;

/** A change, with the id of what it changed where that is named; without one of many others read all anew. */
export type NamedChange =
  | { readonly kind: 'keys'; readonly id: string }
  | { readonly kind: 'categories'; readonly id: number | undefined }
  | { readonly kind: Exclude<Change, keyof typeof NAMED>; readonly id?: undefined };

/** The version of each kind of change, which rises with each one, and the run of the server that told them. */
export interface Versions {
  /** Versions of different runs say nothing about each other. */
  readonly run: string;
  readonly byKind: ReadonlyMap<Change, number>;
}

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

/**
 * Follows the changes of other processes, from now on. A server that took over may lack the last changes of the one
 * before it, and have others under the same versions, so with a new run everything is read anew.
 */
export async function followChanges(followed: Followed, onChange: OnChange): Promise<Following> {
  const first = await followed.versions();
  const seen = new Map(first.byKind);
  let { run } = first;
  const lookOnce = async () => {
    const failures: unknown[] = [];
    const atFirst = new Map(seen);
    const now = await followed.versions();
    if (now.run !== run) {
      await onChange('restored');
      run = now.run;
      for (const [kind, version] of now.byKind) seen.set(kind, version);
      return;
    }
    for (const [kind, version] of now.byKind) {
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

/** Reads all versions in one statement, so that they are those of one run; `run` is the expression that tells it. */
export async function readVersions(db: Connection, run: Sql = raw(`''`)): Promise<Versions> {
  const {
    sql: text,
    text: numbered,
    values,
  } = sql`
    select kind, version, ${run} as run from change_versions
    union all select 'new-categories', last_id, ${run} from category_counter`;
  const statement = { sql: text, text: numbered, values, deadlineMs: LOOK_DEADLINE_MS };
  const rows = await db.all<Tables['change_versions'] & { run: string }>(statement);
  return { run: rows[0]?.run ?? '', byKind: new Map(rows.map(({ kind, version }) => [kind, version])) };
}

/** Notes what a change changed: the one that raised the version of its kind to this one. */
export async function noteChange(trx: Transaction, version: number, { kind, id }: NamedChange): Promise<void> {
  if (id === undefined) return;
  const { log, id: column, kept } = NAMED[kind];
  await trx.run(sql`insert into ${log} (version, ${column}) values (${version}, ${id})`);
  await trx.run(sql`delete from ${log} where version <= ${version - kept}`);
}

/** The ids of what changed from one version up to another; undefined if some of these versions are no longer kept. */
export async function readChanges<Id extends string | number>(
  db: Connection,
  kind: keyof typeof NAMED,
  { after, upTo }: { after: number; upTo: number },
): Promise<Id[] | undefined> {
  const { log, id } = NAMED[kind];
  const rows = await db.all<{ id: Id }>(sql`
    select ${id} as id from ${log} where version > ${after} and version <= ${upTo} order by version`);
  return rows.length === upTo - after ? rows.map((row) => row.id) : undefined;
}
