import type { Kysely } from 'kysely';
import type { Change } from '../../catalog/storage.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Tables } from './tables.ts';

type Versions = ReadonlyMap<Change, number>;

export interface Following {
  /**
   * Looks once, calls back for each kind of change that was made since it last did, and rejects if one could not be
   * followed, which the next look tries again.
   */
  readonly look: () => Promise<void>;
  /** A change that was made here, and followed, is not told again. */
  followed(kind: Change, version: number): void;
}

/** Follows what others change, from now on. */
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
        // Ids that are gone again: the database was put back to an earlier state.
        await onChange(kind === 'new-categories' && version < before ? 'categories' : kind);
        seen.set(kind, version);
      } catch (error) {
        // The other kinds are followed all the same: a list that cannot be read must not keep a revoked key open.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  };
  return {
    look: oneAtATime(lookOnce),
    followed(kind, version) {
      // Others' changes in between are still to be followed.
      if (seen.get(kind) === version - 1) seen.set(kind, version);
    },
  };
}

/** A number for each kind of change, another one after each change of the kind. */
export async function readVersions(db: Kysely<Tables>): Promise<Versions> {
  const rows = await db.selectFrom('change_versions').select(['kind', 'version']).execute();
  const { last_id } = await db.selectFrom('category_counter').select('last_id').executeTakeFirstOrThrow();
  return new Map<Change, number>([
    ...rows.map(({ kind, version }) => [kind, version] as const),
    ['new-categories', last_id],
  ]);
}
