import { CsvError, type Options as CsvOptions } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { Category, NewCategory, newCategory } from './category.ts';
import { CatalogError, invalid } from './error.ts';
import { nearest } from './nearest-name.ts';
import { asText, fromText } from './operator/csv.ts';
import { mistyped, quote } from './validate.ts';

export const FILE_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const MEMBERS = Object.keys(NewCategory.properties);
/** Reading stops after this many mistakes: it is probably the wrong file. */
const MISTAKES_MAX = 1_000;
/** The longest row of CSV: six of the longest records; a lost quote would take the rest of the file. */
const ROW_BYTES_MAX = 64 * 1024;
/** Empty lines of CSV in all; each costs as much as a row. */
const EMPTY_LINES_MAX = 1_000;
const LINE_BREAKS = /\r\n|\r|\n/g;

/** A mistake in a record, or in the file as a whole. */
interface FileMistake {
  /** Counted from 1; absent for the file as a whole. */
  readonly record?: number | undefined;
  /** The line on which the record starts, counted from 1; absent in JSON. */
  readonly line?: number | undefined;
  readonly message: string;
}

/** A category with the id that the file gives it, which an import replaces. */
export type FileCategory = NewCategory & { readonly id?: number };

export interface ReadCategories {
  readonly categories: FileCategory[];
  /** By record. After a thousand mistakes a last one says that the rest was not read. */
  readonly mistakes: FileMistake[];
}

interface FoundRecord extends Omit<FileMistake, 'message'> {
  readonly value: unknown;
}

type Found = FoundRecord | FileMistake;

/** The format by a file name's extension; undefined if unknown. */
export function formatOf(fileName: string): FileFormat | undefined {
  const extension = fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase();
  return FILE_FORMATS.find((format) => format === (extension === 'jsonl' ? 'ndjson' : extension));
}

/**
 * Reads categories from a file in UTF-8: a JSON array, a JSON object per line, or CSV with the columns `name` and
 * `description`. Ignores members beside those and the id: an import assigns new ids. Refuses a member or a column that
 * is nearly `description`. Reads in one go, so it is for a process of its own. Throws `validation_failed` if the file
 * is not UTF-8, or CSV with many empty lines.
 */
export function readCategories(file: Uint8Array, format: FileFormat): ReadCategories {
  const categories: FileCategory[] = [];
  const mistakes: FileMistake[] = [];
  for (const found of { json: jsonRecords, ndjson: lineRecords, csv: csvRecords }[format](textOf(file))) {
    if (mistakes.length >= MISTAKES_MAX) {
      const { record, line } = found;
      mistakes.push({ record, line, message: 'The rest of the file was not read: it has too many mistakes' });
      break;
    }
    const category = 'message' in found ? found : readRecord(found);
    if ('message' in category) mistakes.push(category);
    else categories.push(category);
  }
  if (categories.length === 0 && mistakes.length === 0) mistakes.push({ message: 'The file contains no categories' });
  return { categories, mistakes };
}

/** Without the byte order mark, which spreadsheets write. */
function textOf(file: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw invalid('The file is not UTF-8 text; save it as UTF-8');
  }
}

/** Writes categories as a file that `readCategories` reads. */
export function writeCategories(categories: readonly Category[], format: FileFormat): string {
  if (format === 'json') return `[\n${categories.map((category) => `  ${JSON.stringify(category)}`).join(',\n')}\n]\n`;
  if (format === 'ndjson') return categories.map((category) => `${JSON.stringify(category)}\n`).join('');
  // An empty description is quoted, a missing one is not, to tell them apart.
  const string = (value: string) => (value === '' ? { value, quoted_empty: true } : asText(value));
  return stringify([...categories], { header: true, columns: Object.keys(Category.properties), cast: { string } });
}

function readRecord({ value, ...place }: FoundRecord): FileCategory | FileMistake {
  const mistake = (message: string) => ({
    ...place,
    message: message.replace('The body', 'The record').replace('the body', 'the record'),
  });
  try {
    const category = newCategory(value);
    const members = value as { id?: unknown };
    const odd = 'description' in members ? undefined : mistyped(members, MEMBERS, ['description']);
    if (odd !== undefined) return mistake(odd);
    return Number(members.id) > 0 ? { ...category, id: Number(members.id) } : category;
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return mistake(error.message);
  }
}

function jsonRecords(text: string): Iterable<Found> {
  let records: unknown;
  try {
    records = JSON.parse(text);
  } catch (error) {
    return [{ message: `The file is not valid JSON: ${(error as Error).message}` }];
  }
  if (Array.isArray(records)) return records.map((value, index) => ({ record: index + 1, value }));
  return [{ message: 'The file is not a JSON array; write [ … ], or import it as ndjson' }];
}

function* lineRecords(text: string): Generator<Found> {
  let record = 0;
  for (const [index, json] of text.split('\n').entries()) {
    if (json.trim() === '') continue;
    record += 1;
    const place = { record, line: index + 1 };
    let found: Found;
    try {
      found = { ...place, value: JSON.parse(json) };
    } catch {
      found = { ...place, message: 'The line is not valid JSON' };
    }
    yield found;
  }
}

/** Reads rows as RFC 4180 has them, up to the first broken quote: the next row has no known beginning. */
function* csvRecords(text: string): Generator<Found> {
  const { rows, broken } = csvRows(text);
  const [{ cells: header, line } = { cells: undefined, line: 1 }, ...others] = rows;
  const message = header && wrongHeader(header.map((column) => column ?? ''));
  if (message !== undefined) return yield { line, message };
  for (const [index, { cells, ...row }] of others.entries()) {
    const place = { ...row, record: index + 1 };
    if (cells.length === header?.length) {
      yield {
        ...place,
        value: Object.fromEntries(header.map((column, at) => [column ?? '', cells[at] && fromText(cells[at])])),
      };
    } else {
      const message = `The row has another number of cells (${cells.length}) than the header (${header?.length})`;
      yield { ...place, message };
    }
  }
  if (broken) yield { ...broken, record: others.length + 1 };
}

interface CsvRow {
  readonly line: number;
  readonly cells: readonly (string | undefined)[];
}

/** Every row but empty lines, and the mistake that ends them. */
function csvRows(text: string): { rows: CsvRow[]; broken?: FileMistake } {
  const bytes = Buffer.from(text);
  const rows: CsvRow[] = [];
  let [line, at, emptyLines] = [1, 0, 0];
  const on_record: CsvOptions['on_record'] = (cells: CsvRow['cells'], { bytes: end }) => {
    if (cells.length > 1 || cells[0] !== undefined) rows.push({ line, cells });
    else emptyLines += 1;
    if (emptyLines > EMPTY_LINES_MAX)
      throw invalid(`The file has more than ${EMPTY_LINES_MAX} empty lines; remove them`);
    // Csv-parse itself counts a CRLF within a cell as two lines.
    line += bytes.toString('latin1', at, end).match(LINE_BREAKS)?.length ?? 0;
    at = end;
    return null;
  };
  try {
    parse(bytes, { ...CSV_OPTIONS, on_record });
    return { rows };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { rows, broken: { line, message: `${brokenRow(error)}; the rest of the file was not read` } };
  }
}

const CSV_OPTIONS: CsvOptions = {
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  max_record_size: ROW_BYTES_MAX,
  /** A cell that is empty without quotes is missing. */
  cast: (cell, { quoting }) => (cell === '' && !quoting ? undefined : cell),
};

/** The mistake in a header; undefined if there is none. */
function wrongHeader(header: readonly string[]): string | undefined {
  if (!header.includes('name')) return 'The header has no column `name`; write `name,description`';
  const columns = new Map<string, string>();
  for (const column of header.filter((each) => each !== '')) {
    const meant = nearest(column, MEMBERS) ?? column;
    const other = columns.get(meant);
    if (other !== undefined) {
      return `The header has the columns ${quote(other)} and ${quote(column)}, which may mean the same; keep one of them`;
    }
    columns.set(meant, column);
  }
  const odd = columns.get('description') ?? 'description';
  return odd === 'description' ? undefined : `The header has the column ${quote(odd)}; did you mean description?`;
}

function brokenRow(error: CsvError): string {
  switch (error.code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `The row is longer than ${ROW_BYTES_MAX} bytes; close its quotes, and write a quote within a cell twice`;
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'A quote of the row is not closed; close it, and write a quote within a cell twice';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'Text follows the quote that ends a cell of the row; write a quote within a cell twice';
    default:
      return 'A cell of the row holds a quote; put the cell into quotes, and write that quote twice';
  }
}
