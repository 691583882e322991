import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Adds to the note of a rehearsed request how far the clock was turned, and its `Retry-After` in milliseconds. */
export async function rehearsalTurns(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`alter table rehearsal_notes add column turned_by ${int} not null default 0`);
  await trx.run(sql`alter table rehearsal_notes add column retry_after_ms ${int}`);
}

/** Brings the tables to those of 0.2.0. */
export async function outcomesBansUsage(trx: Transaction, int: Sql): Promise<void> {
  await keepOutcomes(trx);
  await keepBans(trx, int);
  await countByRoute(trx, int);
}

/**
 * Keeps the outcomes of all work that is done once in one table. Attempts are dropped: a service repeats none but its
 * own, and stops for this migration.
 */
async function keepOutcomes(trx: Transaction): Promise<void> {
  await trx.run(sql`alter table create_outcomes rename to outcomes`);
  await trx.run(sql`drop table attempts`);
}

/**
 * Makes bans a fact about their key: the epoch of each key, the log of which keys changed, and at most one ban of a key
 * from one second, of which two instances could impose one each.
 */
async function keepBans(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`alter table api_keys add column epoch ${int} not null default 0`);
  await trx.run(sql`
    create table key_changes (
      version ${int} primary key,
      key_id text not null
    )`);
  await trx.run(sql`delete from change_versions where kind = 'bans'`);

  await trx.run(sql`alter table bans rename to old_bans`);
  await trx.run(sql`
    create table bans (
      key_id text not null references api_keys (id),
      started_at ${int} not null,
      ends_at ${int} not null,
      level ${int} not null,
      reason text not null,
      lifted_at ${int}
    )`);
  await trx.run(sql`
    insert into bans (key_id, started_at, ends_at, level, reason, lifted_at)
    select key_id, started_at, max(ends_at), max(level), max(reason), max(lifted_at)
    from old_bans group by key_id, started_at`);
  await trx.run(sql`drop table old_bans`);
  await trx.run(sql`create index bans_by_key on bans (key_id, started_at)`);
  await trx.run(sql`create index bans_by_end on bans (ends_at)`);
}

/** Creates the table of the usage by key and route. The hours and days in `usage` are those of earlier releases. */
async function countByRoute(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table key_route_usage (
      period text not null,
      starts_at ${int} not null,
      key_id text not null,
      route text not null,
      served ${int} not null,
      client_errors ${int} not null,
      refused ${int} not null,
      server_errors ${int} not null,
      first_at ${int} not null,
      last_at ${int} not null,
      constraint key_route_usage_by_time primary key (period, starts_at, key_id, route)
    )`);
  await trx.run(sql`create index key_route_usage_by_key on key_route_usage (key_id, period, starts_at)`);
}
