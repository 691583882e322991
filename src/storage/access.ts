import type { DatabaseSync } from 'node:sqlite';
import sql, { raw } from 'sql-template-tag';
import { type Operator, SERVICE_TARGET } from '../catalog/audit.ts';
import type { Connection, Transaction } from './engine.ts';
import { recordAudit } from './sql/audit.ts';
import { insertInto } from './sql/statement.ts';
import type { SqlStorage } from './sql/storage.ts';
import type { Tables } from './sql/tables.ts';
import { propertyOf } from './sqlite/contents.ts';

/** The tables that say who is let in, each after those that it references. */
const ACCESS = ['api_keys', 'api_key_secrets', 'window_counts', 'bans', 'operator_tokens'] as const;
const OF_ACCESS = ['key', 'ban', 'operator', 'console'].map((noun) => `action like '${noun}.%'`).join(' or ');

/**
 * Replaces the access in a restored copy by that of the database that it replaces, maybe of an earlier release, which
 * lacks columns: keys, bans, tokens, counts, their entries in the audit, and the greater last id of each kind.
 */
export async function takeAccess(trx: Transaction, replaced: DatabaseSync): Promise<void> {
  for (const table of ACCESS.toReversed()) await trx.run(sql`delete from ${raw(table)}`);
  for (const table of ACCESS) {
    for (const row of replaced.prepare(`select * from ${table}`).iterate())
      await trx.run(insertInto(table, [row as never]));
  }
  for (const row of replaced.prepare(`select * from audit_entries where ${OF_ACCESS}`).iterate())
    await trx.run(insertInto('audit_entries', [row as never], sql`on conflict (id) do nothing`));
  for (const { kind, last_id } of replaced.prepare('select * from last_ids').iterate())
    await trx.run(sql`update last_ids set last_id = ${last_id} where kind = ${kind} and last_id < ${last_id}`);
  for (const { last_id } of replaced.prepare('select last_id from category_counter').iterate())
    await trx.run(sql`update category_counter set last_id = ${last_id} where last_id < ${last_id}`);
  for (const name of ['id', 'access_unchecked'] as const) {
    const value = propertyOf(replaced, name);
    if (value !== undefined) await setProperty(trx, name, value);
  }
}

/** The secrets of keys, and the tokens, that are let in. */
export function validIn(on: Connection, now: number): Promise<Record<'id' | 'name' | 'prefix', string>[]> {
  const lasting = sql`revoked_at is null and (expires_at is null or expires_at > ${now})`;
  return on.all(sql`
    select id, name, prefix from api_keys inner join api_key_secrets on key_id = id
      where ${lasting} and paused_at is null and (ends_at is null or ends_at > ${now})
    union all select id, name, prefix from operator_tokens where ${lasting}`);
}

/** Sets a property of the database. */
export async function setProperty(trx: Transaction, name: Tables['database_properties']['name'], value: string) {
  await trx.run(
    insertInto('database_properties', [{ name, value }], sql`on conflict (name) do update set value = excluded.value`),
  );
}

/** Ends what a restore noted, that access is unchecked. */
export function confirmAccess({ transactions }: SqlStorage, at: number, by: Operator): Promise<void> {
  return transactions.transact(async (trx) => {
    await trx.run(sql`delete from database_properties where name = 'access_unchecked'`);
    await recordAudit(trx, { at, by, action: 'access_checked', target: SERVICE_TARGET });
  });
}
