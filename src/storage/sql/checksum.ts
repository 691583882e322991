import { crc32 } from 'node:zlib';
import { CatalogError } from '../../catalog/error.ts';
import type { PageQuery } from '../../catalog/resource.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Tables } from './tables.ts';

/**
 * The columns that the checksum of a row covers, a list for each version that this release reads. A version that was
 * released never changes.
 */
const COVERED = {
  categories: [['id', 'name', 'description', 'created_at', 'created_by']],
  pets: [['id', 'name', 'category_id', 'status', 'quantity', 'created_at', 'created_by']],
  orders: [['id', 'pet_id', 'quantity', 'ship_date', 'created_at', 'created_by']],
  api_keys: [
    [
      'id',
      'name',
      'environment',
      'plan',
      'per_minute',
      'per_day',
      'scopes',
      'created_at',
      'expires_at',
      'revoked_at',
      'owner',
    ],
  ],
  api_key_secrets: [['hash', 'key_id', 'prefix', 'created_at', 'ends_at']],
} as const satisfies { [Table in keyof Tables]?: readonly (readonly string[])[] };

/** The version that is written, one release after it is first read: the release before runs on, or comes back. */
const WRITTEN: Readonly<Record<keyof typeof COVERED, number>> = {
  categories: 1,
  pets: 1,
  orders: 1,
  api_keys: 1,
  api_key_secrets: 1,
};

export type CheckedTable = keyof typeof COVERED;
export const CHECKED_TABLES = Object.keys(COVERED) as CheckedTable[];

interface Checked {
  readonly checksum: number | null;
}

/** A stored checksum is its version times this and the CRC-32. */
const VERSION_FACTOR = 2 ** 32;
/** More versions than a table will ever have: a checksum that names a higher one is damaged itself. */
const VERSIONS_MAX = 100;
/** Characters that no stored text holds: where a column ends, and one without a value. */
const [END, NULL] = ['\u0000', '\u0001'];
/** Damaged rows that are remembered as told; with more of them the database is lost anyway. */
const REPORTED_MAX = 1_000;

/** The row with the checksum of the version that this release writes. */
export function seal<Table extends CheckedTable>(table: Table, row: Omit<Tables[Table], 'checksum'>): Tables[Table] {
  const version = WRITTEN[table];
  return { ...row, checksum: checksumOf(table, version, row) } as Tables[Table];
}

/**
 * True if a row is as it was written, as far as this release can tell: one without a checksum was written before there
 * were any, and one with a version that is not known yet by a later release.
 */
export function isIntact<Row extends Checked>(table: CheckedTable, row: Row): boolean {
  if (row.checksum === null) return true;
  const version = Math.floor(row.checksum / VERSION_FACTOR);
  if (row.checksum === checksumOf(table, version, row)) return true;
  if (version <= COVERED[table].length || version > VERSIONS_MAX) return false;
  // The sum of a known version under an unknown number: then it is the number that is damaged.
  const sum = row.checksum % VERSION_FACTOR;
  return !COVERED[table].some((_, index) => (checksumOf(table, index + 1, row) ?? 0) % VERSION_FACTOR === sum);
}

/** Identifies a row: its id, or for a secret the id of its key. */
export function nameOf(table: CheckedTable, row: object): string {
  return `${(row as Record<string, unknown>)[table === 'api_key_secrets' ? 'key_id' : 'id']}`;
}

function checksumOf(table: CheckedTable, version: number, row: object): number | undefined {
  const columns: readonly string[] | undefined = COVERED[table][version - 1];
  if (!columns) return undefined;
  let text = '';
  for (const column of columns) text += `${(row as Record<string, unknown>)[column] ?? NULL}${END}`;
  return version * VERSION_FACTOR + crc32(text);
}

/** Keeps damaged rows out of what is served, and tells each of them once. */
export class RowGuard {
  readonly #events: Pick<Events, 'rowDamaged'> | undefined;
  readonly #reported = new Set<string>();

  constructor(events?: Pick<Events, 'rowDamaged'>) {
    this.#events = events;
  }

  isIntact<Row extends Checked>(table: CheckedTable, row: Row): boolean {
    if (isIntact(table, row)) return true;
    const id = nameOf(table, row);
    const name = `${table} ${id}`;
    if (!this.#reported.has(name) && this.#reported.size < REPORTED_MAX) {
      this.#reported.add(name);
      this.#events?.rowDamaged(table, id);
    }
    return false;
  }

  /** The row itself. Throws `internal_error` if it is damaged. */
  intact<Row extends Checked>(table: CheckedTable, row: Row): Row {
    if (this.isIntact(table, row)) return row;
    throw new CatalogError('internal_error', 'What is stored under this id is damaged; tell the operator');
  }

  filter<Row extends Checked>(table: CheckedTable, rows: Row[]): Row[] {
    return rows.every((row) => this.isIntact(table, row)) ? rows : rows.filter((row) => this.isIntact(table, row));
  }

  /** A page of rows, ids ascending; it is full unless there are no more, whatever was left out. */
  async page<Row extends Checked & { readonly id: number }>(
    table: CheckedTable,
    { after, limit }: PageQuery,
    read: (page: PageQuery) => Promise<Row[]>,
  ): Promise<Row[]> {
    const found: Row[] = [];
    for (let last = after; ; ) {
      const missing = limit - found.length;
      const rows = await read({ after: last, limit: missing });
      const intact = this.filter(table, rows);
      if (found.length === 0 && (intact === rows || rows.length < missing)) return intact;
      found.push(...intact);
      last = rows.at(-1)?.id ?? last;
      if (rows.length < missing || found.length === limit) return found;
    }
  }
}
