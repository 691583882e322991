import sql, { type Sql } from 'sql-template-tag';
import { newId } from '../../catalog/api-key.ts';
import type { Transaction } from '../engine.ts';
import { insertInto } from '../sql/statement.ts';

/** Gives the database an id, which its backups carry. Releases before neither read nor write the table. */
export async function databaseProperties(trx: Transaction, _int: Sql): Promise<void> {
  await trx.run(sql`create table database_properties (name text primary key, value text not null)`);
  await trx.run(insertInto('database_properties', [{ name: 'id', value: newId('db_') }]));
}
