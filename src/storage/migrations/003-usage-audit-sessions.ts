import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Creates the tables of usage, the audit log, and the console's logins and sessions. */
export async function usageAuditSessions(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table usage (
      period text not null,
      starts_at ${int} not null,
      key_id text not null,
      served ${int} not null,
      client_errors ${int} not null,
      refused ${int} not null,
      server_errors ${int} not null,
      first_at ${int} not null,
      last_at ${int} not null,
      constraint usage_by_time primary key (period, starts_at, key_id)
    )`);
  await trx.run(sql`create index usage_by_key on usage (key_id, period, starts_at)`);

  await trx.run(sql`
    create table audit_entries (
      id ${int} primary key,
      at ${int} not null,
      actor text not null,
      via text not null,
      action text not null,
      target text not null,
      before text not null,
      after text not null
    )`);
  await trx.run(sql`create index audit_entries_by_target on audit_entries (target, id)`);

  await trx.run(sql`
    create table console_logins (
      hash text primary key,
      actor text not null,
      ends_at ${int} not null
    )`);
  await trx.run(sql`
    create table console_sessions (
      hash text primary key,
      id text not null unique,
      actor text not null,
      opened_at ${int} not null,
      ends_at ${int} not null
    )`);

  // Active bans are few among expired ones.
  await trx.run(sql`create index bans_by_end on bans (ends_at)`);

  // Keys are listed and searched in pages, newest first.
  await trx.run(sql`create index api_keys_by_age on api_keys (created_at, id)`);

  await trx.run(sql`insert into last_ids (kind, last_id) values ('audit_entries', 0)`);
}
