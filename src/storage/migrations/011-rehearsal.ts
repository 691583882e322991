import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Creates the mark of a database that was used in rehearsal, the scripts of keys, and the notes of their requests. */
export async function rehearsal(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table rehearsal (
      turned_by ${int} not null,
      turned_at ${int} not null,
      taken_by ${int} not null
    )`);

  await trx.run(sql`
    create table rehearsed_keys (
      key_id text primary key,
      script text not null,
      position ${int} not null,
      holds_until_ms ${int}
    )`);

  await trx.run(sql`
    create table rehearsal_notes (
      key_id text not null,
      number ${int} not null,
      at_ms ${int} not null,
      answered_at_ms ${int} not null,
      method text not null,
      route text not null,
      target_digest text not null,
      body_digest text,
      idempotency_digest text,
      step text,
      is_early ${int} not null,
      status ${int},
      retry_after ${int},
      is_delivered ${int} not null,
      is_done ${int} not null,
      has_created ${int} not null,
      constraint rehearsal_notes_by_key primary key (key_id, number)
    )`);

  await trx.run(sql`insert into change_versions (kind, version) values ('clock', 0)`);
}
