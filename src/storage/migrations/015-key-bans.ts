import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/**
 * Makes bans a fact about their key: the epoch of each key, the log of which keys changed, and at most one ban of a key
 * from one second, of which two instances could impose one each.
 */
export async function keyBans(trx: Transaction, int64: Int64): Promise<void> {
  const int = raw(int64);
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
