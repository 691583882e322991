import { setImmediate as nextTurn } from 'node:timers/promises';
import { stringify } from 'csv-stringify/sync';
import type { KeyFilter, KeyPosition } from '../api-key.ts';
import type { AuditQuery } from '../audit.ts';
import type { Storage } from '../storage.ts';
import { NO_USAGE, type UsageGroup, type UsageSum } from '../usage.ts';
import { auditJson, type KeyJson, keysJson } from './json.ts';
import { usageRow } from './usage-rows.ts';

/** Rows that are read and written before the event loop turns. */
const ROWS_AT_ONCE = 200;
const KEY_COLUMNS = [
  'id',
  'name',
  'prefix',
  'owner',
  'environment',
  'plan',
  'perMinute',
  'perDay',
  'scopes',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
  'bannedUntil',
];
const AUDIT_COLUMNS = ['at', 'actor', 'via', 'action', 'target', 'before', 'after'];

const NOTHING_USED: UsageSum = { id: '', name: null, owner: null, ...NO_USAGE, first: 0, last: 0, at: 0 };

type Row = Readonly<Record<string, string | number | null>>;

/** Usage by a group as CSV, with a column for each member of a row. */
export function usageCsv(rows: readonly Row[], group: UsageGroup | 'all', isSeries: boolean): string {
  const columns = Object.keys(usageRow(NOTHING_USED, group, isSeries ? 0 : undefined));
  return headerOf(columns) + rowsOf(rows, columns);
}

/** The keys that a filter selects as CSV, newest first. */
export async function keysCsv(
  { storage, now }: { storage: Pick<Storage, 'keys' | 'limits' | 'usage'>; now: number },
  filter: KeyFilter,
): Promise<string> {
  const parts = [headerOf(KEY_COLUMNS)];
  for (let behind: KeyPosition | undefined; ; ) {
    const { keys, last } = await storage.keys.page({ ...filter, now, behind, limit: ROWS_AT_ONCE });
    parts.push(rowsOf((await keysJson({ storage, now }, keys)).map(keyRow), KEY_COLUMNS));
    if (!last) return parts.join('');
    behind = last;
    await nextTurn();
  }
}

/** The entries of the audit that a query selects as CSV, newest first. */
export async function auditCsv(
  { storage }: { storage: Pick<Storage, 'audit'> },
  query: Omit<AuditQuery, 'limit' | 'before' | 'after'>,
): Promise<string> {
  const parts = [headerOf(AUDIT_COLUMNS)];
  for (let before: number | undefined; ; ) {
    const entries = await storage.audit.list({ ...query, limit: ROWS_AT_ONCE, before });
    const rows = entries.map((entry) => {
      const { before: old, after, ...rest } = auditJson(entry);
      return { ...rest, before: JSON.stringify(old), after: JSON.stringify(after) };
    });
    parts.push(rowsOf(rows, AUDIT_COLUMNS));
    before = entries.at(-1)?.id;
    if (entries.length < ROWS_AT_ONCE) return parts.join('');
    await nextTurn();
  }
}

function keyRow({ limits, scopes, ban, graces: _, ...key }: KeyJson): Row {
  return {
    ...key,
    perMinute: limits.minute,
    perDay: limits.day,
    scopes: scopes.join(' '),
    bannedUntil: ban?.until ?? null,
  };
}

function headerOf(columns: readonly string[]): string {
  return `${columns.join()}\n`;
}

function rowsOf(rows: readonly Row[], columns: readonly string[]): string {
  return stringify([...rows], { columns: [...columns], cast: { string: asText } });
}

/**
 * Keeps a spreadsheet from running a cell as a formula: it takes what follows a `'` for text. Reading removes one `'`,
 * so a cell that begins with one gets another.
 */
export function asText(value: string): string {
  return /^(?:[\t\r']|\s*[=+\-@＝＋－＠])/.test(value) ? `'${value}` : value;
}

/** The cell that `asText` wrote. */
export function fromText(value: string): string {
  return value.startsWith("'") ? value.slice(1) : value;
}
