import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Creates the tables of categories, keys with their secrets, and the limiter. */
export async function categoriesKeysLimits(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table categories (
      id ${int} primary key,
      name text not null,
      description text,
      created_at ${int} not null,
      created_by text not null
    )`);

  await trx.run(sql`
    create table category_counter (
      last_id ${int} not null,
      count ${int} not null
    )`);

  await trx.run(sql`
    create table api_keys (
      id text primary key,
      name text not null,
      environment text not null,
      plan text not null,
      per_minute ${int} not null,
      per_day ${int} not null,
      scopes text not null,
      created_at ${int} not null,
      expires_at ${int},
      revoked_at ${int}
    )`);

  await trx.run(sql`
    create table api_key_secrets (
      hash text primary key,
      key_id text not null references api_keys (id),
      prefix text not null,
      created_at ${int} not null,
      ends_at ${int}
    )`);
  await trx.run(sql`create index api_key_secrets_by_key on api_key_secrets (key_id)`);

  await trx.run(sql`
    create table window_counts (
      key_id text primary key references api_keys (id),
      minute_ends ${int} not null,
      minute_used ${int} not null,
      day ${int} not null,
      day_used ${int} not null
    )`);

  await trx.run(sql`
    create table bans (
      key_id text not null references api_keys (id),
      started_at ${int} not null,
      ends_at ${int} not null,
      level ${int} not null,
      reason text not null,
      lifted_at ${int}
    )`);
  await trx.run(sql`create index bans_by_key on bans (key_id, started_at)`);

  await trx.run(sql`
    create table change_versions (
      kind text primary key,
      version ${int} not null
    )`);

  await trx.run(sql`insert into category_counter (last_id, count) values (0, 0)`);
  await trx.run(sql`insert into change_versions (kind, version) values ('categories', 0), ('keys', 0), ('bans', 0)`);
}
