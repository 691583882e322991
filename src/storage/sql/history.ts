import { setImmediate as nextTurn } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { FoundChange, HistoryAction, HistoryLine, HistoryStorage } from '../../catalog/history.ts';
import type { OnceId } from '../../catalog/idempotency.ts';
import { USAGE_PERIODS } from '../../catalog/usage.ts';
import type { Connection, Transaction } from '../engine.ts';
import { digestOf } from './once.ts';
import type { Created, Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

/** As long as usage is kept. */
const KEPT_SECONDS = USAGE_PERIODS.day.keptSeconds;
const PURGED_AT_ONCE = 200;
/** The latest changes that a history has, besides the first. */
const LINES_MAX = 200;
const FOUND_MAX = 10;
/** The ways of operators, which stand for the key where an operator made a category. */
const WAYS = ['cli', 'console', 'proxy', 'api', 'service'] as const;

/** Searches and purges histories; each noun reads its own. */
export class SqlHistory extends SqlNoun implements HistoryStorage {
  search(text: string): Promise<FoundChange[]> {
    return this.transactions.read(async (db) => {
      const rows = await db.all<Tables['history']>(sql`
        select * from history where request_id = ${text} or idempotency_key = ${digestOf(text)}
        order by at desc, kind, target desc limit ${FOUND_MAX}`);
      return rows.map(({ kind, target: id, action }) => ({ kind, id, action }));
    });
  }

  async purge(): Promise<void> {
    const oldest = this.now - KEPT_SECONDS;
    // Writes nothing where there is nothing to purge: that would pass for a sign that writes succeed again.
    while (await this.transactions.read((db) => hasOldLines(db, oldest))) {
      await this.transactions.transact((trx) =>
        trx.run(sql`
          delete from history where (kind, target, number) in (
            select kind, target, number from history where at <= ${oldest} order by at limit ${PURGED_AT_ONCE})`),
      );
      await nextTurn();
    }
  }
}

async function hasOldLines(db: Connection, oldest: number): Promise<boolean> {
  const old = await db.all(sql`select number from history where at <= ${oldest} limit 1`);
  return old.length > 0;
}

interface RecordedChange {
  readonly at: number;
  readonly kind: FoundChange['kind'];
  readonly id: number;
  readonly action: HistoryAction;
  readonly by: OnceId;
  /** Null unless given. */
  readonly before?: object;
  readonly after?: object;
}

/** Adds a line to the history of an order or a pet, in the transaction of the change. */
export async function recordChange(trx: Transaction, change: RecordedChange): Promise<void> {
  const { at, kind, id, action, by, before = null, after = null } = change;
  const digest = by.idempotency ? digestOf(by.idempotency.key) : null;
  // The number is found in the statement itself: writers hold their lock, so no other takes it.
  await trx.run(sql`
    insert into history (kind, target, number, at, action, key_id, request_id, idempotency_key, before, after)
    values (
      ${kind}, ${id},
      (select coalesce(max(number), 0) + 1 from history where kind = ${kind} and target = ${id}),
      ${at}, ${action}, ${by.keyId}, ${by.requestId ?? null}, ${digest},
      ${JSON.stringify(before)}, ${JSON.stringify(after)})`);
}

/** The first line of a history and its latest, the oldest first. */
export async function readLines(db: Connection, kind: FoundChange['kind'], id: number): Promise<HistoryLine[]> {
  const rows = await db.all<Tables['history']>(sql`
    select * from history
    where kind = ${kind} and target = ${id} and (number = 1 or number > (
      select max(number) - ${LINES_MAX} from history where kind = ${kind} and target = ${id}))
    order by number`);
  return rows.map(({ at, action, key_id, request_id, before, after }) => ({
    at,
    action,
    keyId: key_id,
    requestId: request_id,
    before: JSON.parse(before),
    after: JSON.parse(after),
  }));
}

/** The line of a creation that has none of its own, from what the row says. */
export function creationLine(
  { created_at, created_by }: Created,
  { action, after = null }: { action: HistoryAction; after?: object | null },
): HistoryLine {
  const via = WAYS.find((way) => way === created_by);
  const who = via ? { operator: { via } } : { keyId: created_by };
  return { at: created_at, action, ...who, requestId: null, before: null, after };
}
