import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Adds a checksum to each row worth protecting; existing rows have none until they are written again. */
export async function rowChecksums(db: Kysely<unknown>, int64: Int64): Promise<void> {
  for (const table of ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets']) {
    await db.schema.alterTable(table).addColumn('checksum', int64).execute();
  }
}
