import { stringify } from 'csv-stringify/sync';

/** The cells of a line, by the names of their columns. */
export type CsvRow = Readonly<Record<string, string | number | null>>;

/** Rows as CSV, under their columns. */
export function csvOf(columns: readonly string[], rows: readonly CsvRow[]): string {
  return `${columns.join()}\n${csvLines(columns, rows)}`;
}

/** Rows as lines of CSV. */
export function csvLines(columns: readonly string[], rows: readonly CsvRow[]): string {
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
