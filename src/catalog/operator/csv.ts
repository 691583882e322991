import { stringify } from 'csv-stringify/sync';
import { asText } from '../category-file.ts';

/** Usage as CSV, with a header unless it is empty. Names cannot run as formulas of a spreadsheet. */
export function usageCsv(rows: readonly Readonly<Record<string, string | number>>[]): string {
  return stringify([...rows], { header: true, cast: { string: asText } });
}
