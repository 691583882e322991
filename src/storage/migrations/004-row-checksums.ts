import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/** Adds a checksum to each row worth protecting; existing rows have none until they are written again. */
export async function rowChecksums(trx: Transaction, int64: Int64): Promise<void> {
  for (const table of ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets']) {
    await trx.run(sql`alter table ${raw(table)} add column checksum ${raw(int64)}`);
  }
}
