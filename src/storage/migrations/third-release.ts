import sql, { type Sql } from 'sql-template-tag';
import { isAscii, searchedText } from '../../catalog/search.ts';
import type { Transaction } from '../engine.ts';
import type { Tables } from '../sql/tables.ts';

/**
 * Adds what operators see and do: when a key was paused, the text that it is found by, and the system's user beside a
 * name that was given.
 */
export async function pausesAndUsers(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`alter table api_keys add column paused_at ${int}`);
  await trx.run(sql`alter table audit_entries add column system_user text`);
  await trx.run(sql`alter table api_keys add column search text`);
  // Without a checksum, so that one tells of a change that the release before made later, beside this one.
  await trx.run(sql`
    update api_keys set checksum = null, search = lower(name || '\n' || coalesce(owner, '') || '\n' || id)`);
  // Only these differ from what an engine makes of them, by its own rules for other letters.
  const keys = await trx.all<Pick<Tables['api_keys'], 'id' | 'name' | 'owner'>>(
    sql`select id, name, owner from api_keys`,
  );
  for (const key of keys.filter(({ name, owner }) => !isAscii(`${name}${owner ?? ''}`)))
    await trx.run(sql`update api_keys set search = ${searchedText(key)} where id = ${key.id}`);
}

/** Adds the last resets of both windows, to keys and to the counts that know of them. */
export async function resets(trx: Transaction, int: Sql): Promise<void> {
  for (const table of [sql`api_keys`, sql`window_counts`]) {
    await trx.run(sql`alter table ${table} add column minute_reset ${int} not null default 0`);
    await trx.run(sql`alter table ${table} add column day_reset ${int} not null default 0`);
  }
}

/** Creates the table of the audit's entries by keys. */
export async function changes(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table changes (
      id ${int} primary key,
      kind text not null,
      target ${int} not null,
      at ${int} not null,
      verb text not null,
      key_id text not null,
      request_id text,
      idempotency_key text,
      before text not null,
      after text not null
    )`);
  await trx.run(sql`create index changes_by_target on changes (kind, target, at, id)`);
  await trx.run(sql`create index changes_by_key on changes (key_id, at, id)`);
  await trx.run(sql`create index changes_by_age on changes ((at + 0), id)`);
  await trx.run(sql`create index changes_by_request on changes (request_id)`);
  await trx.run(sql`
    create index changes_by_idempotency_key on changes (idempotency_key) where idempotency_key is not null`);
}
