import { stringify } from 'csv-stringify/sync';
import { NO_USAGE, type UsageGroup, type UsageSum } from '../usage.ts';
import { usageRow } from './usage-rows.ts';

const NOTHING_USED: UsageSum = { id: '', name: null, owner: null, ...NO_USAGE, first: 0, last: 0, at: 0 };

/** The cells of a line, by the names of their columns. */
export type CsvRow = Readonly<Record<string, string | number | null>>;

/** Usage by a group as CSV, with a column for each member of a row. */
export function usageCsv(rows: readonly CsvRow[], group: UsageGroup | 'all', isSeries: boolean): string {
  const columns = Object.keys(usageRow(NOTHING_USED, group, isSeries ? 0 : undefined));
  return csvOf(columns, rows);
}

/** Rows as CSV, under their columns. */
export function csvOf(columns: readonly string[], rows: readonly CsvRow[]): string {
  return `${columns.join()}\n${stringify([...rows], { columns: [...columns], cast: { string: asText } })}`;
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
