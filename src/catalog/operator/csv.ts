import { stringify } from 'csv-stringify/sync';

/** The cells of a line, by the names of their columns. */
export type CsvRow = Readonly<Record<string, string | number | null>>;

/** Rows as lines of CSV. */
export function csvLines(columns: readonly string[], rows: readonly CsvRow[]): string {
  return stringify([...rows], { columns: [...columns], cast: { string: asText } });
}

/** Within a cell, where one would begin as a formula for a program that separates by other characters than a comma. */
const BEGINNING = /(?<=[;|\t\r\n])(?=['"\p{Zs}]*[=+\-@＝＋－＠])/gu;
const MARKED_BEGINNING = /(?<=[;|\t\r\n])'(?=['"\p{Zs}]*[=+\-@＝＋－＠])/gu;

/**
 * Keeps a spreadsheet from running a cell, or a part of it, as a formula: it takes what follows a `'` for text. Reading
 * removes one `'`, so a cell that begins with one gets another.
 */
export function asText(value: string): string {
  const marked = value.replaceAll(BEGINNING, "'");
  return /^(?:[\t\r']|\s*[=+\-@＝＋－＠])/.test(marked) ? `'${marked}` : marked;
}

/** The cell that `asText` wrote. */
export function fromText(value: string): string {
  return value.replace(/^'/, '').replaceAll(MARKED_BEGINNING, '');
}
