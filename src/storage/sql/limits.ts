import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { join, raw, type Sql } from 'sql-template-tag';
import { CatalogError } from '../../catalog/error.ts';
import {
  type KeyNearLimit,
  type LimitStorage,
  NEAR_LIMIT_PERCENT,
  type WindowCounts,
} from '../../catalog/window-counts.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { DAY_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import type { Transaction } from '../engine.ts';
import { coalesceLookups } from './lookups.ts';
import { attemptOf, once } from './once.ts';
import { rowsInsert } from './statement.ts';
import type { Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

/** So few that reading them takes some milliseconds. */
const ROWS_AT_ONCE = 2_000;
/** Keys told of lately; of one that is forgotten here storage is asked. */
const TOLD_MAX = 200_000;
/** The columns of each window, in the order in which `merged` compares them. */
const WINDOWS = [
  ['minute_reset', 'minute_ends', 'minute_used'],
  ['day_reset', 'day', 'day_used'],
] as const;
type Column = (typeof WINDOWS)[number][number];

/** Replaces both windows. A process that does not know of a reset yet still knows the end of the window best. */
const REPLACE = onConflict(([reset, window], column) =>
  column === window
    ? given(column)
    : sql`case when ${given(reset)} < ${kept(reset)} then ${kept(column)} else ${given(column)} end`,
);

/** The limiter's counts in SQL. */
export class SqlLimits extends SqlNoun implements LimitStorage {
  readonly #replaceCounts = rowsInsert('window_counts', REPLACE);
  readonly #raiseCounts = rowsInsert('window_counts');
  readonly #told = new BoundedMap<true>(TOLD_MAX);

  readonly counts = coalesceLookups(async (keyIds) => {
    const rows = await this.rows<Tables['window_counts']>(sql`
      select * from window_counts where key_id in (${join([...keyIds])})`);
    return new Map(rows.map((row) => [row.key_id, toCounts(row)]));
  });

  async saveCounts(counts: readonly WindowCounts[]): Promise<void> {
    const replace = (find: typeof rowsOfKeys) =>
      this.transactions.transactUnsynced(async (trx) => this.#replaceCounts(trx, await find(trx, counts)));
    try {
      await replace(async () => counts.map(fromCounts));
    } catch (error) {
      if (error instanceof CatalogError) throw error;
      // A key that the database lost fails them all. To look for each key first would cost as much as to save.
      await replace(rowsOfKeys);
    }
  }

  sync(): Promise<void> {
    return this.transactions.sync();
  }

  raiseCounts(counts: readonly WindowCounts[], now: () => number): Promise<void> {
    // The clock is read under the lock: a window that another instance stored was counted before that.
    return this.transactions.transact(
      async (trx) => this.#raiseCounts(trx, await rowsOfKeys(trx, counts), mergedAt(now())),
      'counts',
    );
  }

  /** The keys near the limit of this day. Lets requests be served between parts of the counts. */
  async findNearDayLimit(): Promise<KeyNearLimit[]> {
    const today = Math.floor(this.now / DAY_SECONDS);
    const found: KeyNearLimit[] = [];
    for (let behind: string | undefined = ''; behind !== undefined; await nextTurn()) {
      const after: string = behind;
      // The last of the part is there in any case, and without a share if its key is not near.
      const rows = await this.rows<{ key_id: string; percent: number | null }>(sql`
        with part as (select * from window_counts where key_id > ${after} order by key_id limit ${ROWS_AT_ONCE})
        select key_id, 100 * day_used / per_day as percent from part left join api_keys on id = key_id
          and day >= ${today} and 100 * day_used >= ${NEAR_LIMIT_PERCENT} * per_day
        where id is not null or key_id = (select max(key_id) from part) order by key_id`);
      for (const { key_id: keyId, percent } of rows) {
        if (percent !== null) found.push({ keyId, use: percent < 100 ? 'near' : 'reached' });
      }
      behind = rows.at(-1)?.key_id;
    }
    return found;
  }

  async news(found: readonly KeyNearLimit[]): Promise<KeyNearLimit[]> {
    const today = Math.floor(this.now / DAY_SECONDS);
    const attempts = new Map(found.map((each) => [`${each.use} limit of ${each.keyId} on ${today}`, each]));
    const unknown = [...attempts].filter(([attempt]) => !this.#told.has(attempt)).slice(0, ROWS_AT_ONCE);
    if (unknown.length === 0) return [];
    const news = await this.transactions.transactUnlocked(async (trx) => {
      const first: KeyNearLimit[] = [];
      for (const [attempt, each] of unknown) {
        const { isReplay } = await once(trx, { ...attemptOf(attempt), now: this.now }, async () => {});
        if (!isReplay) first.push(each);
      }
      return first;
    });
    for (const [attempt] of unknown) this.#told.set(attempt, true);
    return news;
  }
}

/** The rows of the keys that there are: a server that took over may lack one, which must keep no others unsaved. */
async function rowsOfKeys(trx: Transaction, counts: readonly WindowCounts[]): Promise<Tables['window_counts'][]> {
  if (counts.length === 0) return [];
  const ids = join(counts.map(({ keyId }) => keyId));
  const keys = await trx.all<{ id: string }>(sql`select id from api_keys where id in (${ids})`);
  const known = new Set(keys.map(({ id }) => id));
  return counts.filter(({ keyId }) => known.has(keyId)).map(fromCounts);
}

/** Says `merged` in SQL, of what is stored after `capped`, and of the counts of a statement. */
function mergedAt(now: number): Sql {
  const stored = (column: Column) => {
    if (column !== 'minute_ends' && column !== 'day') return kept(column);
    const last = column === 'day' ? Math.floor(now / DAY_SECONDS) : now + MINUTE_SECONDS;
    return sql`case when ${kept(column)} > ${last} then ${last} else ${kept(column)} end`;
  };
  return onConflict((columns, column) => {
    const isLater = sql`(${join(columns.map(given))}) > (${join(columns.map(stored))})`;
    return sql`case when ${isLater} then ${given(column)} else ${stored(column)} end`;
  });
}

function onConflict(assign: (columns: (typeof WINDOWS)[number], column: Column) => Sql): Sql {
  const assigned = WINDOWS.flatMap((columns) =>
    columns.map((column) => sql`${raw(column)} = ${assign(columns, column)}`),
  );
  return sql`on conflict (key_id) do update set ${join(assigned)}`;
}

function given(column: Column): Sql {
  return sql`excluded.${raw(column)}`;
}

function kept(column: Column): Sql {
  return sql`window_counts.${raw(column)}`;
}

function toCounts(row: Tables['window_counts']): WindowCounts {
  return {
    keyId: row.key_id,
    minuteEnds: row.minute_ends,
    minuteUsed: row.minute_used,
    day: row.day,
    dayUsed: row.day_used,
    minuteReset: row.minute_reset,
    dayReset: row.day_reset,
  };
}

function fromCounts(counts: WindowCounts): Tables['window_counts'] {
  return {
    key_id: counts.keyId,
    minute_ends: counts.minuteEnds,
    minute_used: counts.minuteUsed,
    day: counts.day,
    day_used: counts.dayUsed,
    minute_reset: counts.minuteReset,
    day_reset: counts.dayReset,
  };
}
