import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/**
 * Creates the tokens of the operator API, the roles of the console's sessions, the owners of keys, and the indexes by
 * which operators list keys and the audit.
 */
export async function operators(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table operator_tokens (
      id text primary key,
      hash text not null unique,
      name text not null,
      prefix text not null,
      role text not null,
      created_at ${int} not null,
      expires_at ${int},
      revoked_at ${int}
    )`);
  // Every session of the previous version could do everything.
  await trx.run(sql`alter table console_logins add column role text not null default 'admin'`);
  await trx.run(sql`alter table console_sessions add column role text not null default 'admin'`);
  await trx.run(sql`alter table api_keys add column owner text`);
  await trx.run(sql`create index api_keys_by_owner on api_keys (owner, created_at, id)`);
  await trx.run(sql`create index api_keys_by_plan on api_keys (plan, created_at, id)`);
  await trx.run(sql`create index api_keys_by_name on api_keys (lower(name), id)`);
  await trx.run(sql`create index api_keys_by_expiry on api_keys (expires_at, id)`);
  await trx.run(sql`create index api_keys_by_state on api_keys (revoked_at, expires_at, id)`);
  await trx.run(sql`create index audit_entries_by_actor on audit_entries (actor, id)`);
  await trx.run(sql`create index audit_entries_by_action on audit_entries (action, id)`);
}
