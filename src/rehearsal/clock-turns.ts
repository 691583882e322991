import sql from 'sql-template-tag';
import type { Operator } from '../catalog/audit.ts';
import { invalid } from '../catalog/error.ts';
import type { Once, OnceId } from '../catalog/idempotency.ts';
import { quote } from '../catalog/validate.ts';
import { momentOf } from '../http/operations/query.ts';
import { parseDuration } from '../stdx/duration.ts';
import { type Time, utc } from '../stdx/time.ts';
import { DatabaseNotOpened } from '../storage/engine.ts';
import { recordAudit } from '../storage/sql/audit.ts';
import { once } from '../storage/sql/once.ts';
import { one } from '../storage/sql/statement.ts';
import type { Tables } from '../storage/sql/tables.ts';
import type { Transactions } from '../storage/sql/transactions.ts';

/** Later moments could have five digits in their year, with the years that some of them are ahead. */
const UNIX_MAX = Date.UTC(9000, 0, 1) / 1000;

/** The distance to turn the time: by a duration, or to a moment by RFC 3339. */
export type Turn = { readonly advance: string } | { readonly set: string };

/** The time in Unix seconds, and by how many seconds it is turned. */
export interface ShownTime {
  readonly now: number;
  readonly turnedBy: number;
}

/** The time as commands and API print it. */
export function timeJson({ now, turnedBy }: ShownTime) {
  return { now: utc(now), turnedBy };
}

/**
 * Marks the database as used in rehearsal, unless it is so already. Throws `DatabaseNotOpened` if it has a key of
 * production: no production service would start on it again.
 */
export function markRehearsed(transactions: Transactions): Promise<void> {
  return transactions.transact(async (trx) => {
    const marks = await trx.all(sql`select turned_by from rehearsal`);
    if (marks.length > 0) return;
    const productions = await trx.all(sql`select id from api_keys where environment = 'production' limit 1`);
    if (productions.length > 0) {
      throw new DatabaseNotOpened(
        'The database has keys of production, whose service would refuse it after a rehearsal: set DATABASE_URL to another one, or use --ephemeral',
      );
    }
    await trx.run(sql`insert into rehearsal (turned_by, turned_at, taken_by) values (0, 0, 0)`);
  });
}

/**
 * Turns the time of a marked database, for the running service to take, or the next one to start. Throws
 * `validation_failed` if the turn is malformed, or the time would go back or past the year 8999.
 */
export function turnTime(
  transactions: Transactions,
  turn: Turn,
  { machine, by, id = { keyId: by.actor } }: { machine: Time; by: Operator; id?: OnceId },
): Promise<Once<ShownTime>> {
  return transactions.change({ kind: 'clock' }, async (trx) => {
    const { turned_by: before } = await one<Tables['rehearsal']>(trx, sql`select * from rehearsal`);
    const { unix } = machine.now();
    const present = unix + before;
    return once(trx, { ...id, now: present }, async () => {
      const now = targetOf(turn, present);
      const turnedBy = now - unix;
      await trx.run(sql`update rehearsal set turned_by = ${turnedBy}, turned_at = ${unix}`);
      // A turn of a day or more would otherwise end the time in which its own repeat is known.
      await trx.run(
        sql`update outcomes set created_at = ${now} where key_id = ${id.keyId} and created_at = ${present}`,
      );
      const change = { before: { turnedBy: before }, after: { turnedBy } };
      await recordAudit(trx, { at: now, by, action: 'clock.turn', target: 'clock', ...change });
      return { now, turnedBy };
    });
  });
}

function targetOf(turn: Turn, present: number): number {
  const target = 'set' in turn ? momentOf(turn.set, 'set') : present + durationOf(turn.advance);
  if (target < present) throw invalid(`The time is ${utc(present)} already; it can be put forward only`);
  if (target >= UNIX_MAX) throw invalid('The time can be put forward to the year 8999');
  return target;
}

function durationOf(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw invalid(`advance is ${quote(text)}; write a duration such as 90s, 10m, 24h or 30d`);
}

/** Reads by how many seconds the running service is to turn its clock, and notes that it has taken them. */
export function takeTurn(transactions: Transactions, machine: Time): Promise<number> {
  return transactions.transact(async (trx) => {
    const turn = await one<Tables['rehearsal']>(trx, sql`select * from rehearsal`);
    // The clocks of two processes differ by less than a second, and what a command said of the time must hold here.
    const turned_by = turn.turned_by + Math.max(0, turn.turned_at - machine.now().unix);
    if (turned_by !== turn.turned_by || turned_by !== turn.taken_by) {
      await trx.run(sql`update rehearsal set turned_by = ${turned_by}, taken_by = ${turned_by}`);
    }
    return turned_by;
  });
}

/** True if the service that runs has taken a turn. */
export async function isTaken(transactions: Transactions, turnedBy: number): Promise<boolean> {
  const [turn] = await transactions.read((db) => db.all<Tables['rehearsal']>(sql`select * from rehearsal`));
  return turn !== undefined && turn.taken_by >= turnedBy;
}
