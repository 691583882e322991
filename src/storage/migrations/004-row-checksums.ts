import sql, { raw, type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Adds a checksum to each row worth protecting; existing rows have none until they are written again. */
export async function rowChecksums(trx: Transaction, int: Sql): Promise<void> {
  for (const table of ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets']) {
    await trx.run(sql`alter table ${raw(table)} add column checksum ${int}`);
  }
}
