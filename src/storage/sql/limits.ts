import { randomUUID } from 'node:crypto';
import sql, { join } from 'sql-template-tag';
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
import { insertInto, one, RowsInsert } from './statement.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** How far the clock by which a ban starts and the one by which it is lifted may be apart. */
const CLOCKS_APART_SECONDS = 1;

const LATER_MINUTE = sql`(excluded.minute_ends, excluded.minute_used) >
  (window_counts.minute_ends, window_counts.minute_used)`;
const LATER_DAY = sql`(excluded.day, excluded.day_used) > (window_counts.day, window_counts.day_used)`;

const REPLACE = sql`on conflict (key_id) do update set
  minute_ends = excluded.minute_ends,
  minute_used = excluded.minute_used,
  day = excluded.day,
  day_used = excluded.day_used`;

/** Of each window keeps the later one, or the greater count if both rows are in the same window. */
const RAISE = sql`on conflict (key_id) do update set
  minute_ends = case when ${LATER_MINUTE} then excluded.minute_ends else window_counts.minute_ends end,
  minute_used = case when ${LATER_MINUTE} then excluded.minute_used else window_counts.minute_used end,
  day = case when ${LATER_DAY} then excluded.day else window_counts.day end,
  day_used = case when ${LATER_DAY} then excluded.day_used else window_counts.day_used end`;

/** The limiter's counts and bans in SQL. */
export class SqlLimits implements LimitStorage {
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  readonly #replaceCounts = new RowsInsert('window_counts', REPLACE);
  readonly #raiseCounts = new RowsInsert('window_counts', RAISE);

  constructor(transactions: Transactions, clock: Clock) {
    this.#transactions = transactions;
    this.#clock = clock;
  }

  memory(keyId: string): Promise<LimiterMemory> {
    return this.#transactions.read(async (db) => {
      const [counts] = await db.all<Tables['window_counts']>(sql`
        select * from window_counts where key_id = ${keyId}`);
      const [ban] = await db.all<Tables['bans']>(sql`
        select * from bans where key_id = ${keyId} and lifted_at is null order by started_at desc limit 1`);
      return { counts: counts && toCounts(counts), ban: ban && toBan(ban) };
    });
  }

  memories(keyIds: readonly string[]): Promise<SharedMemory[]> {
    return this.#transactions.read(async (db) => {
      const counts = await db.all<Tables['window_counts']>(sql`
        select * from window_counts where key_id in (${join(keyIds)})`);
      // Of each key the last one that was lifted, and the last one that was not.
      const bans = await db.all<Tables['bans']>(sql`
        select * from bans
        where key_id in (${join(keyIds)}) and not exists (
          select later.key_id from bans as later
          where later.key_id = bans.key_id and later.started_at > bans.started_at
            and (later.lifted_at is null) = (bans.lifted_at is null)
        )`);
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
    const inOrder = counts.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
    return this.#transactions.transactUnlocked((trx) => this.#raiseCounts.run(trx, inOrder.map(fromCounts)));
  }

  move(seconds: number, attempt: string = randomUUID()): Promise<void> {
    return this.#transactions.transact((trx) =>
      onceByAttempt(trx, { attempt, now: this.#clock().unix }, async () => {
        await trx.run(sql`update window_counts set minute_ends = minute_ends + ${seconds}`);
        await trx.run(sql`
          update bans set
            started_at = started_at + ${seconds},
            ends_at = ends_at + ${seconds},
            lifted_at = lifted_at + ${seconds}`);
      }),
    );
  }

  insertBan(ban: Ban, { attempt = randomUUID(), followedLift = 0 }: BanOrigin = {}): Promise<void> {
    return this.#transactions.transact((trx) =>
      onceByAttempt(trx, { attempt, now: this.#clock().unix }, async () => {
        const { keyId, startedAt, endsAt, level, reason } = ban;
        const { lifted_at } = await one<Pick<Tables['bans'], 'lifted_at'>>(
          trx,
          sql`
            select max(lifted_at) as lifted_at from bans
            where key_id = ${keyId} and lifted_at > ${followedLift}
              and lifted_at >= ${startedAt - CLOCKS_APART_SECONDS} and lifted_at < ${endsAt}`,
        );
        const row = { key_id: keyId, started_at: startedAt, ends_at: endsAt, level, reason, lifted_at };
        await trx.run(insertInto('bans', [row]));
        // Other instances may enforce it, as they met it where they count.
        if (lifted_at !== null) await this.#transactions.raiseVersion(trx, 'bans');
      }),
    );
  }

  listBans(now: number): Promise<Ban[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db.all<Tables['bans']>(sql`
        select * from bans where ends_at > ${now} and lifted_at is null`);
      return rows.map(toBan);
    });
  }

  listLiftedBans(now: number): Promise<LiftedBan[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db.all<Tables['bans'] & { lifted_at: number }>(sql`
        select * from bans where ends_at > ${now} and lifted_at is not null`);
      return rows.map((row) => ({ ...toBan(row), liftedAt: row.lifted_at }));
    });
  }

  liftBan(keyId: string, now: number, by: Operator): Promise<boolean> {
    return this.#transactions.change('bans', async (trx) => {
      const lifted = await trx.run(sql`
        update bans set lifted_at = ${now} where key_id = ${keyId} and ends_at > ${now} and lifted_at is null`);
      if (lifted === 0) return false;
      const [before, after] = [{ banned: true }, { banned: false }];
      await recordAudit(trx, { at: now, by, action: 'ban.lift', target: keyId, before, after });
      return true;
    });
  }

  banHistory(keyId: string, limit: number): Promise<(Ban & { liftedAt: number | null })[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db.all<Tables['bans']>(sql`
        select * from bans where key_id = ${keyId} order by started_at desc limit ${limit}`);
      return rows.map((row) => ({ ...toBan(row), liftedAt: row.lifted_at }));
    });
  }
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
