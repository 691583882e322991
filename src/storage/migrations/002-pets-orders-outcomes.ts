import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Creates the tables of pets with their stock, orders, and create outcomes for retries. */
export async function petsOrdersOutcomes(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table pets (
      id ${int} primary key,
      name text not null,
      category_id ${int} not null references categories (id),
      status text not null,
      quantity ${int} not null,
      created_at ${int} not null,
      created_by text not null
    )`);
  await trx.run(sql`create index pets_by_category on pets (category_id)`);
  await trx.run(sql`create index pets_by_status on pets (status, id)`);

  await trx.run(sql`
    create table orders (
      id ${int} primary key,
      pet_id ${int} not null references pets (id),
      quantity ${int} not null,
      ship_date text,
      created_at ${int} not null,
      created_by text not null
    )`);

  await trx.run(sql`
    create table last_ids (
      kind text primary key,
      last_id ${int} not null
    )`);

  await trx.run(sql`
    create table create_outcomes (
      key_id text not null,
      idempotency_key text not null,
      fingerprint text not null,
      resource text not null,
      created_at ${int} not null,
      constraint create_outcomes_by_key primary key (key_id, idempotency_key)
    )`);
  await trx.run(sql`create index create_outcomes_by_age on create_outcomes (created_at)`);

  await trx.run(sql`insert into last_ids (kind, last_id) values ('pets', 0), ('orders', 0)`);
}
