import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** A checksum beside each row that is worth one; rows that are there have none until they are written again. */
export async function rowChecksums(db: Kysely<unknown>, int64: Int64): Promise<void> {
  for (const table of ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets']) {
    await db.schema.alterTable(table).addColumn('checksum', int64).execute();
  }
}
