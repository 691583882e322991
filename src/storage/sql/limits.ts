import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { Operator } from '../../catalog/audit.ts';
import type {
  Ban,
  BanOrigin,
  LiftedBan,
  LimiterMemory,
  LimitStorage,
  SharedMemory,
  WindowCounts,
} from '../../catalog/limit.ts';
import type { Clock } from '../../stdx/clock.ts';
import { recordAudit } from './audit.ts';
import { onceByAttempt } from './outcomes.ts';
import { RowsInsert, Statement } from './statement.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** How far the clock by which a ban starts and the one by which it is lifted may be apart. */
const CLOCKS_APART_SECONDS = 1;

/** The limiter's counts and bans in SQL. */
export class SqlLimits implements LimitStorage {
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  readonly #findCounts = new Statement((db, keyId: string) =>
    db.selectFrom('window_counts').selectAll().where('key_id', '=', keyId),
  );
  readonly #findLastBan = new Statement((db, keyId: string) =>
    db
      .selectFrom('bans')
      .selectAll()
      .where('key_id', '=', keyId)
      .where('lifted_at', 'is', null)
      .orderBy('started_at', 'desc')
      .limit(sql.lit(1)),
  );
  readonly #replaceCounts = new RowsInsert<Tables['window_counts']>((db, rows) =>
    db
      .insertInto('window_counts')
      .values(rows)
      .onConflict((conflict) =>
        conflict.column('key_id').doUpdateSet((set) => ({
          minute_ends: set.ref('excluded.minute_ends'),
          minute_used: set.ref('excluded.minute_used'),
          day: set.ref('excluded.day'),
          day_used: set.ref('excluded.day_used'),
        })),
      ),
  );
  readonly #raiseCounts = new RowsInsert<Tables['window_counts']>((db, rows) =>
    db
      .insertInto('window_counts')
      .values(rows)
      .onConflict((conflict) =>
        conflict.column('key_id').doUpdateSet({
          minute_ends: laterOf('minute', 'minute_ends'),
          minute_used: laterOf('minute', 'minute_used'),
          day: laterOf('day', 'day'),
          day_used: laterOf('day', 'day_used'),
        }),
      ),
  );

  constructor(transactions: Transactions, clock: Clock) {
    this.#transactions = transactions;
    this.#clock = clock;
  }

  memory(keyId: string): Promise<LimiterMemory> {
    return this.#transactions.read(async (db) => {
      const [counts] = await this.#findCounts.run(db, keyId);
      const [ban] = await this.#findLastBan.run(db, keyId);
      return { counts: counts && toCounts(counts), ban: ban && toBan(ban) };
    });
  }

  memories(keyIds: readonly string[]): Promise<SharedMemory[]> {
    return this.#transactions.read(async (db) => {
      const counts = await db.selectFrom('window_counts').selectAll().where('key_id', 'in', keyIds).execute();
      // Of each key the last one that was lifted, and the last one that was not.
      const bans = await db
        .selectFrom('bans')
        .selectAll()
        .where('key_id', 'in', keyIds)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('bans as later')
                .select('later.key_id')
                .whereRef('later.key_id', '=', 'bans.key_id')
                .whereRef('later.started_at', '>', 'bans.started_at')
                .where(sql<boolean>`(later.lifted_at is null) = (bans.lifted_at is null)`),
            ),
          ),
        )
        .execute();
      const countsByKey = new Map(counts.map((row) => [row.key_id, toCounts(row)]));
      const bansByKey = new Map(bans.filter(wasKept).map((row) => [row.key_id, toBan(row)]));
      const lifted = new Map(bans.filter((row) => !wasKept(row)).map((row) => [row.key_id, row.started_at]));
      return keyIds.map((keyId) => ({
        counts: countsByKey.get(keyId),
        ban: bansByKey.get(keyId),
        lifted: lifted.get(keyId),
      }));
    });
  }

  saveCounts(counts: readonly WindowCounts[]): Promise<void> {
    return this.#transactions.transactUnlocked((trx) => this.#replaceCounts.run(trx, counts.map(fromCounts)));
  }

  raiseCounts(counts: readonly WindowCounts[]): Promise<void> {
    // Every instance locks rows in key order, so that two that save the same keys cannot deadlock.
    const inOrder = counts.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1));
    return this.#transactions.transactUnlocked((trx) => this.#raiseCounts.run(trx, inOrder.map(fromCounts)));
  }

  move(seconds: number, attempt: string = randomUUID()): Promise<void> {
    return this.#transactions.transact((trx) =>
      onceByAttempt(trx, { attempt, now: this.#clock().unix }, async () => {
        await trx
          .updateTable('window_counts')
          .set((set) => ({ minute_ends: set('minute_ends', '+', seconds) }))
          .execute();
        await trx
          .updateTable('bans')
          .set((set) => ({
            started_at: set('started_at', '+', seconds),
            ends_at: set('ends_at', '+', seconds),
            lifted_at: set('lifted_at', '+', seconds),
          }))
          .execute();
      }),
    );
  }

  insertBan(ban: Ban, { attempt = randomUUID(), followedLift = 0 }: BanOrigin = {}): Promise<void> {
    return this.#transactions.transact((trx) =>
      onceByAttempt(trx, { attempt, now: this.#clock().unix }, async () => {
        const { keyId, startedAt, endsAt, level, reason } = ban;
        const { lifted_at } = await trx
          .selectFrom('bans')
          .select(({ fn }) => fn.max('lifted_at').as('lifted_at'))
          .where('key_id', '=', keyId)
          .where('lifted_at', '>', followedLift)
          .where('lifted_at', '>=', startedAt - CLOCKS_APART_SECONDS)
          .where('lifted_at', '<', endsAt)
          .executeTakeFirstOrThrow();
        const row = { key_id: keyId, started_at: startedAt, ends_at: endsAt, level, reason, lifted_at };
        await trx.insertInto('bans').values(row).execute();
        // Other instances may enforce it, as they met it where they count.
        if (lifted_at !== null) await this.#transactions.raiseVersion(trx, 'bans');
      }),
    );
  }

  listBans(now: number): Promise<Ban[]> {
    return this.#transactions.read(async (db) =>
      (await selectBans(db, now).where('lifted_at', 'is', null).execute()).map(toBan),
    );
  }

  listLiftedBans(now: number): Promise<LiftedBan[]> {
    return this.#transactions.read(async (db) => {
      const rows = await selectBans(db, now).where('lifted_at', 'is not', null).execute();
      return rows.flatMap((row) => (row.lifted_at === null ? [] : [{ ...toBan(row), liftedAt: row.lifted_at }]));
    });
  }

  liftBan(keyId: string, now: number, by: Operator): Promise<boolean> {
    return this.#transactions.change('bans', async (trx) => {
      const { numUpdatedRows } = await trx
        .updateTable('bans')
        .set({ lifted_at: now })
        .where('key_id', '=', keyId)
        .where('ends_at', '>', now)
        .where('lifted_at', 'is', null)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      const [before, after] = [{ banned: true }, { banned: false }];
      await recordAudit(trx, { at: now, by, action: 'ban.lift', target: keyId, before, after });
      return true;
    });
  }

  banHistory(keyId: string, limit: number): Promise<(Ban & { liftedAt: number | null })[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db
        .selectFrom('bans')
        .selectAll()
        .where('key_id', '=', keyId)
        .orderBy('started_at', 'desc')
        .limit(limit)
        .execute();
      return rows.map((row) => ({ ...toBan(row), liftedAt: row.lifted_at }));
    });
  }
}

/** The bans that have not ended by a second. */
function selectBans(db: Kysely<Tables>, now: number) {
  return db.selectFrom('bans').selectAll().where('ends_at', '>', now);
}

/** Per window: the column that orders it, and its count. */
const WINDOWS = { minute: ['minute_ends', 'minute_used'], day: ['day', 'day_used'] } as const;

/** The column's value from the later window, or from the greater count if both rows are in the same window. */
function laterOf(window: keyof typeof WINDOWS, column: string) {
  const columns = (table: string) => sql.join(WINDOWS[window].map((each) => sql.ref(`${table}.${each}`)));
  const stored = 'window_counts';
  const incoming = 'excluded';
  return sql<number>`case when (${columns(incoming)}) > (${columns(stored)})
    then ${sql.ref(`${incoming}.${column}`)} else ${sql.ref(`${stored}.${column}`)} end`;
}

function toCounts(row: Tables['window_counts']): WindowCounts {
  const { key_id, minute_ends, minute_used, day, day_used } = row;
  return { keyId: key_id, minuteEnds: minute_ends, minuteUsed: minute_used, day, dayUsed: day_used };
}

function fromCounts(counts: WindowCounts): Tables['window_counts'] {
  const { keyId, minuteEnds, minuteUsed, day, dayUsed } = counts;
  return { key_id: keyId, minute_ends: minuteEnds, minute_used: minuteUsed, day, day_used: dayUsed };
}

function wasKept({ lifted_at }: Tables['bans']): boolean {
  return lifted_at === null;
}

function toBan(row: Tables['bans']): Ban {
  const { key_id, started_at, ends_at, level, reason } = row;
  return { keyId: key_id, startedAt: started_at, endsAt: ends_at, level, reason };
}
