import { raw, type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Creates the tables of 0.2.0, the first release whose databases this one upgrades. */
export async function tablesOfSecondRelease(trx: Transaction, int: Sql): Promise<void> {
  for (const statement of tables(int.sql).split(';\n')) await trx.run(raw(statement));
}

/** The columns of the counts by duration: `took_0` is up to the first bound, the last is above all bounds. */
const DURATIONS = Array.from({ length: 14 }, (_, index) => `took_${index}`);

const tables = (int: string) => `
create table categories (
  id ${int} primary key,
  name text not null,
  description text,
  created_at ${int} not null,
  created_by text not null,
  checksum ${int}
);
create table category_counter (
  last_id ${int} not null,
  count ${int} not null,
  bytes ${int} not null default 0
);
insert into category_counter (last_id, count) values (0, 0);
create table category_changes (
  version ${int} primary key,
  category_id ${int} not null
);
create table pets (
  id ${int} primary key,
  name text not null,
  category_id ${int} not null references categories (id),
  status text not null,
  quantity ${int} not null,
  created_at ${int} not null,
  created_by text not null,
  checksum ${int}
);
-- One index per combination of filters, in the order of a page; on the spelling of id see sql/pets.ts.
create index pets_by_category on pets (category_id, (id + 0));
create index pets_by_status on pets (status, (id + 0));
create index pets_by_category_and_status on pets (category_id, status, (id - 0));
create table orders (
  id ${int} primary key,
  pet_id ${int} not null references pets (id),
  quantity ${int} not null,
  ship_date text,
  created_at ${int} not null,
  created_by text not null,
  checksum ${int}
);
create index orders_by_pet on orders (pet_id, (id + 0));
create table last_ids (
  kind text primary key,
  last_id ${int} not null
);
insert into last_ids (kind, last_id) values ('pets', 0), ('orders', 0), ('audit_entries', 0);
create table outcomes (
  key_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  resource text not null,
  created_at ${int} not null,
  constraint create_outcomes_by_key primary key (key_id, idempotency_key)
);
create index create_outcomes_by_age on outcomes (created_at);
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
  revoked_at ${int},
  checksum ${int},
  owner text,
  epoch ${int} not null default 0
);
create index api_keys_by_age on api_keys (created_at, id);
create index api_keys_by_owner on api_keys (owner, created_at, id);
create index api_keys_by_plan on api_keys (plan, created_at, id);
create index api_keys_by_name on api_keys (lower(name), id);
create index api_keys_by_expiry on api_keys (expires_at, id);
create index api_keys_by_state on api_keys (revoked_at, expires_at, id);
create table api_key_secrets (
  hash text primary key,
  key_id text not null references api_keys (id),
  prefix text not null,
  created_at ${int} not null,
  ends_at ${int},
  checksum ${int}
);
create index api_key_secrets_by_key on api_key_secrets (key_id);
create table window_counts (
  key_id text primary key references api_keys (id),
  minute_ends ${int} not null,
  minute_used ${int} not null,
  day ${int} not null,
  day_used ${int} not null
);
create table bans (
  key_id text not null references api_keys (id),
  started_at ${int} not null,
  ends_at ${int} not null,
  level ${int} not null,
  reason text not null,
  lifted_at ${int}
);
create index bans_by_key on bans (key_id, started_at);
create index bans_by_end on bans (ends_at);
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
);
create index usage_by_key on usage (key_id, period, starts_at);
create table route_usage (
  period text not null,
  starts_at ${int} not null,
  route text not null,
  served ${int} not null,
  client_errors ${int} not null,
  refused ${int} not null,
  server_errors ${int} not null,
  ${DURATIONS.map((name) => `${name} ${int} not null`)},
  constraint route_usage_by_time primary key (period, starts_at, route)
);
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
);
create index key_route_usage_by_key on key_route_usage (key_id, period, starts_at);
create table audit_entries (
  id ${int} primary key,
  at ${int} not null,
  actor text not null,
  via text not null,
  action text not null,
  target text not null,
  before text not null,
  after text not null
);
create index audit_entries_by_target on audit_entries (target, id);
create index audit_entries_by_actor on audit_entries (actor, id);
create index audit_entries_by_action on audit_entries (action, id);
create table operator_tokens (
  id text primary key,
  hash text not null unique,
  name text not null,
  prefix text not null,
  role text not null,
  created_at ${int} not null,
  expires_at ${int},
  revoked_at ${int}
);
create table console_logins (
  hash text primary key,
  actor text not null,
  ends_at ${int} not null,
  role text not null default 'admin'
);
create table console_sessions (
  hash text primary key,
  id text not null unique,
  actor text not null,
  opened_at ${int} not null,
  ends_at ${int} not null,
  last_seen_at ${int} not null default 0,
  role text not null default 'admin'
);
-- A release up to 0.2.0 marked a database in it whose clock it turned.
create table rehearsal (
  turned_by ${int} not null,
  turned_at ${int} not null,
  taken_by ${int} not null
);
create table key_changes (
  version ${int} primary key,
  key_id text not null
);
create table change_versions (
  kind text primary key,
  version ${int} not null
);
insert into change_versions (kind, version) values ('categories', 0), ('keys', 0), ('clock', 0)`;
