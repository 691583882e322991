import sql from 'sql-template-tag';
import { insertInto } from '../../storage/sql/statement.ts';
import type { Tables } from '../../storage/sql/tables.ts';
import type { Transactions } from '../../storage/sql/transactions.ts';
import type { Position } from '../script/progress.ts';
import { NOTES_MAX, type Note, type Rehearsed } from './note.ts';

/** State from which a service goes on with a rehearsal. */
interface SavedProgress extends Position {
  readonly script: string;
  readonly nextNumber: number;
}

export interface RehearsedKey extends Omit<Rehearsed, 'requests'> {
  readonly keyId: string;
  readonly name: string;
}

/** Attaches a valid script to a new key. */
export function insertScript(transactions: Transactions, { keyId, script }: { keyId: string; script: string }) {
  return transactions.transact(async (trx) => {
    await trx.run(insertInto('rehearsed_keys', [{ key_id: keyId, script, position: 0, holds_until_ms: null }]));
  });
}

/** The rehearsal of a key; undefined if it follows no script. */
export function readRehearsal(transactions: Transactions, keyId: string): Promise<Rehearsed | undefined> {
  return transactions.read(async (db) => {
    const [key] = await db.all<Tables['rehearsed_keys']>(sql`select * from rehearsed_keys where key_id = ${keyId}`);
    if (!key) return undefined;
    const rows = await db.all<Tables['rehearsal_notes']>(
      sql`select * from rehearsal_notes where key_id = ${keyId} order by number`,
    );
    return { keyId, script: key.script, reached: key.position, requests: rows.map(toNote) };
  });
}

/** The keys that follow a script, with their names, newest first. */
export function listRehearsed(transactions: Transactions, limit: number): Promise<RehearsedKey[]> {
  return transactions.read((db) =>
    db.all<RehearsedKey>(sql`
      select rehearsed_keys.key_id as "keyId", api_keys.name, rehearsed_keys.script, rehearsed_keys.position as reached
      from rehearsed_keys
      join api_keys on api_keys.id = rehearsed_keys.key_id
      order by api_keys.created_at desc, rehearsed_keys.key_id desc
      limit ${limit}`),
  );
}

/** The progress of a key's rehearsal; undefined if it follows no script. */
export function readProgress(transactions: Transactions, keyId: string): Promise<SavedProgress | undefined> {
  return transactions.read(async (db) => {
    const [progress] = await db.all<SavedProgress>(sql`
      select script, position as reached, holds_until_ms as "holdsUntilMs",
        (select coalesce(max(number), -1) + 1 from rehearsal_notes where key_id = ${keyId}) as "nextNumber"
      from rehearsed_keys
      where key_id = ${keyId}`);
    return progress;
  });
}

/** Stores how far a key's script was followed, and a note unless there are enough of them. */
export function saveProgress(
  transactions: Transactions,
  keyId: string,
  { position, number, note }: { readonly position: Position; readonly number: number; readonly note: Note },
): Promise<void> {
  const { reached, holdsUntilMs } = position;
  return transactions.batch(async (trx) => {
    await trx.run(sql`
      update rehearsed_keys set position = ${reached}, holds_until_ms = ${holdsUntilMs} where key_id = ${keyId}`);
    if (number >= NOTES_MAX) return;
    await trx.run(insertInto('rehearsal_notes', [{ key_id: keyId, number, ...toRow(note) }]));
  });
}

function toRow(note: Note): Omit<Tables['rehearsal_notes'], 'key_id' | 'number'> {
  return {
    at_ms: Math.round(note.at),
    answered_at_ms: Math.round(note.answeredAt),
    method: note.method,
    route: note.route,
    target_digest: note.target,
    body_digest: note.body,
    idempotency_digest: note.idempotencyKey,
    step: note.step,
    is_early: Number(note.isEarly),
    status: note.status,
    retry_after: note.retryAfter === null ? null : Math.ceil(note.retryAfter),
    retry_after_ms: note.retryAfter === null ? null : Math.round(note.retryAfter * 1_000),
    is_delivered: Number(note.isDelivered),
    is_done: Number(note.isDone),
    has_created: Number(note.hasCreated),
    turned_by: note.turnedBy,
  };
}

function toNote(row: Tables['rehearsal_notes']): Note {
  return {
    at: row.at_ms,
    answeredAt: row.answered_at_ms,
    turnedBy: row.turned_by,
    method: row.method,
    route: row.route,
    target: row.target_digest,
    body: row.body_digest,
    idempotencyKey: row.idempotency_digest,
    credentials: null,
    step: row.step,
    isEarly: row.is_early === 1,
    status: row.status,
    retryAfter: row.retry_after_ms === null ? row.retry_after : row.retry_after_ms / 1_000,
    isDelivered: row.is_delivered === 1,
    isDone: row.is_done === 1,
    hasCreated: row.has_created === 1,
  };
}
