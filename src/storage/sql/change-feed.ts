import sql from 'sql-template-tag';
import type { Change } from '../../catalog/storage.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Connection } from '../engine.ts';
import { one } from './statement.ts';
import type { Tables } from './tables.ts';

type Versions = ReadonlyMap<Change, number>;

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
export async function followChanges(
  read: () => Promise<Versions>,
  onChange: (change: Change) => Promise<void>,
): Promise<Following> {
  const seen = new Map(await read());
  const lookOnce = async () => {
    const failures: unknown[] = [];
    for (const [kind, version] of await read()) {
      const before = seen.get(kind) ?? 0;
      if (version === before) continue;
      try {
        // The highest id went down: the database was restored to an earlier state.
        await onChange(kind === 'new-categories' && version < before ? 'restored' : kind);
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
  const { last_id } = await one<Pick<Tables['category_counter'], 'last_id'>>(
    db,
    sql`select last_id from category_counter`,
  );
  return new Map<Change, number>([
    ...rows.map(({ kind, version }) => [kind, version] as const),
    ['new-categories', last_id],
  ]);
}
