import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { raw } from 'sql-template-tag';
import type { DatabaseAddress } from '../config.ts';
import { type Connection, DatabaseNotOpened, type Engine, type Transaction } from './engine.ts';
import { claimForTransfer, openEngine } from './open.ts';
import { insertInto } from './sql/statement.ts';
import type { Tables } from './sql/tables.ts';

type Table = keyof Tables;
type Row = Readonly<Record<string, unknown>>;

/** Every table, after those that it references, and whether migrations insert rows into it. */
export const TRANSFERRED: Readonly<Record<Table, 'empty' | 'made with rows'>> = {
  categories: 'empty',
  category_counter: 'made with rows',
  category_changes: 'empty',
  key_changes: 'empty',
  pets: 'empty',
  orders: 'empty',
  changes: 'empty',
  last_ids: 'made with rows',
  api_keys: 'empty',
  api_key_secrets: 'empty',
  window_counts: 'empty',
  bans: 'empty',
  outcomes: 'empty',
  usage: 'empty',
  route_usage: 'empty',
  key_route_usage: 'empty',
  audit_entries: 'empty',
  operator_tokens: 'empty',
  console_logins: 'empty',
  console_sessions: 'empty',
  change_versions: 'made with rows',
  database_properties: 'made with rows',
};
const TABLES = Object.keys(TRANSFERRED) as Table[];

const CHECKSUM_MODULUS = 1n << 256n;

export interface TransferredTable {
  readonly table: string;
  readonly rows: number;
  /** The sum of every row's SHA-256, modulo 2^256, in hexadecimal. Independent of row order. */
  readonly checksum: string;
}

/**
 * Copies a snapshot of one database into another, empty one of either engine, and verifies it by reading it back before
 * the commit. It is one transaction, so an interrupted transfer leaves nothing. No service may run on either database.
 * Returns the rows and checksum of every table. Throws `DatabaseNotOpened`.
 */
export async function transfer({ from, to }: Record<'from' | 'to', DatabaseAddress>): Promise<TransferredTable[]> {
  if (from.engine === 'sqlite' && !existsSync(from.file)) {
    throw new DatabaseNotOpened(`There is no database ${from.file}`);
  }
  if (JSON.stringify(from) === JSON.stringify(to)) throw new DatabaseNotOpened('Both addresses are the same database');
  await using opened = new AsyncDisposableStack();
  opened.use(await claimForTransfer(from));
  opened.use(await claimForTransfer(to));
  const source = await openEngine(from, { purpose: 'read', patient: true });
  opened.defer(() => source.db.close());
  const target = await openEngine(to, { purpose: 'migrate', patient: true });
  opened.defer(() => target.db.close());
  try {
    return await target.db.transaction(async (into) => {
      await target.lock?.(into, 'writers');
      await assertEmpty(into, target.place);
      const copied = await copy(source, into);
      const stored = await readTables(target, into);
      for (const [index, { table, checksum }] of stored.entries()) {
        if (copied[index]?.checksum !== checksum) {
          throw new DatabaseNotOpened(`${table} does not read back as it was written; nothing was kept`);
        }
      }
      return stored;
    });
  } catch (error) {
    if (error instanceof DatabaseNotOpened) throw error;
    const failure = source.classify(error) ?? target.classify(error);
    if (!failure) throw error;
    const kept =
      failure === 'unknown'
        ? 'either everything was kept or nothing: run it again to find out'
        : 'nothing was kept: run it again';
    throw new DatabaseNotOpened(`The transfer was interrupted: ${(error as Error).message}; ${kept}`, { cause: error });
  }
}

async function assertEmpty(into: Connection, place: string): Promise<void> {
  for (const table of TABLES.filter((each) => TRANSFERRED[each] === 'empty')) {
    const rows = await into.all(sql`select 1 from ${raw(table)} limit 1`);
    if (rows.length === 0) continue;
    throw new DatabaseNotOpened(`The database ${place} is not empty (${table} has rows); name an empty one`);
  }
}

/** Copies every table from one snapshot. */
async function copy(source: Engine, into: Transaction): Promise<TransferredTable[]> {
  return source.db.transaction(async (from) => {
    await source.lock?.(from, 'writers');
    for (const table of TABLES) await into.run(sql`delete from ${raw(table)}`);
    return readTables(source, from, async (table, rows) => {
      // A batch of a thousand rows binds fewer values than SQLite allows, as long as no table has 33 columns.
      await into.run(insertInto(table, rows as never));
    });
  }, 'snapshot');
}

/** Reads every table, counts its rows and sums their hashes. */
async function readTables(
  engine: Engine,
  trx: Transaction,
  onRows: (table: Table, rows: readonly Row[]) => Promise<void> = async () => {},
): Promise<TransferredTable[]> {
  const found: TransferredTable[] = [];
  for (const table of TABLES) {
    let [count, sum] = [0, 0n];
    for await (const rows of engine.readAll(trx, table)) {
      count += rows.length;
      sum = (sum + hashesOf(rows)) % CHECKSUM_MODULUS;
      await onRows(table, rows);
      // SQLite runs synchronously: yield, so that signals are handled in between.
      await nextTurn();
    }
    found.push({ table, rows: count, checksum: sum.toString(16).padStart(64, '0') });
  }
  return found;
}

function hashesOf(rows: readonly Row[]): bigint {
  const columns = Object.keys(rows[0] ?? {}).sort();
  return rows.reduce((sum, row) => {
    const text = JSON.stringify(columns.map((column) => [column, row[column]]));
    return sum + BigInt(`0x${hash('sha256', text)}`);
  }, 0n);
}
