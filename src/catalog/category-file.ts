import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, type Options as CsvOptions, Parser } from 'csv-parse';
import { stringify } from 'csv-stringify/sync';
import { Category, NewCategory, newCategory } from './category.ts';
import { CatalogError, invalid } from './error.ts';
import { nearest } from './nearest-name.ts';
import { asText, fromText } from './operator/csv.ts';
import { mistyped, quote } from './validate.ts';

export const FILE_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const MEMBERS = Object.keys(NewCategory.properties);
const RECORDS_MAX = 1_000_000;
/** Reading stops after this many mistakes: it is probably the wrong file. */
const MISTAKES_MAX = 1_000;
/** The most bytes of one record; one with the longest name and description, all of it escaped, has half of this. */
const RECORD_BYTES_MAX = 64 * 1024;
const DEPTH_MAX = 64;
const COLUMNS_MAX = 1_000;
/** Read before yielding to the event loop: a millisecond or two. By bytes, so that no clock decides how often. */
const SLICE_BYTES = 64 * 1024;
/** Csv-parse takes as long for these, up to 10 ms. */
const CSV_SLICE_BYTES = 4 * 1024;
/** Spreadsheets write it at the start of a file in UTF-8. */
const BYTE_ORDER_MARK = Buffer.from('\u{FEFF}');
const REST_UNREAD = 'the rest of the file was not read';

const BYTE = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;

/** The mistake in a record, and the line that it starts on, counted from 1. */
export interface FileMistake {
  readonly line: number;
  readonly message: string;
}

export interface ReadCategories {
  readonly categories: NewCategory[];
  /** By line. After a thousand mistakes or a million records, a last one says that the rest was not read. */
  readonly mistakes: FileMistake[];
}

interface FoundRecord {
  readonly line: number;
  readonly value: unknown;
}

/** Undefined where a slice ended without a record, so that the reader can yield to the event loop. */
type Found = FoundRecord | FileMistake | undefined;

/** The format by a file name's extension; undefined if unknown. */
export function formatOf(fileName: string): FileFormat | undefined {
  const extension = fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase();
  return FILE_FORMATS.find((format) => format === (extension === 'jsonl' ? 'ndjson' : extension));
}

/**
 * Reads categories from a file in UTF-8: a JSON array, a JSON object per line, or CSV with the columns `name` and
 * `description`. Ignores ids and other members: an import assigns new ids. Refuses a member or a column that is nearly
 * `description`. Yields to the event loop after every 64 KiB, however hostile the file. Throws `validation_failed` if
 * it is not UTF-8.
 */
export async function readCategories(file: Uint8Array, format: FileFormat): Promise<ReadCategories> {
  if (!isUtf8(file)) throw invalid('The file is not UTF-8 text; save it as UTF-8');
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const categories: NewCategory[] = [];
  const mistakes: FileMistake[] = [];
  const cursor = { at: isMarked ? BYTE_ORDER_MARK.length : 0, line: 1 };
  let sliceEnd = SLICE_BYTES;
  for await (const found of { json: jsonRecords, ndjson: lineRecords, csv: csvRecords }[format](bytes, cursor)) {
    if (cursor.at >= sliceEnd) {
      await nextTurn();
      sliceEnd = cursor.at + SLICE_BYTES;
    }
    if (!found) continue;
    if (mistakes.length >= MISTAKES_MAX || categories.length >= RECORDS_MAX) {
      const message = 'The rest of the file was not read: it has too many records or too many mistakes';
      mistakes.push({ line: found.line, message });
      break;
    }
    const category = 'message' in found ? found : readRecord(found);
    if ('message' in category) mistakes.push(category);
    else categories.push(category);
  }
  if (categories.length === 0 && mistakes.length === 0) {
    mistakes.push({ line: 1, message: 'The file contains no categories' });
  }
  return { categories, mistakes };
}

/** Writes categories as a file that `readCategories` reads. */
export function writeCategories(categories: readonly Category[], format: FileFormat): string {
  if (format === 'json') return `[\n${categories.map((category) => `  ${JSON.stringify(category)}`).join(',\n')}\n]\n`;
  if (format === 'ndjson') return categories.map((category) => `${JSON.stringify(category)}\n`).join('');
  // An empty description is quoted, a missing one is not, to tell them apart.
  const string = (value: string) => (value === '' ? { value, quoted_empty: true } : asText(value));
  return stringify([...categories], { header: true, columns: Object.keys(Category.properties), cast: { string } });
}

function readRecord({ line, value }: FoundRecord): NewCategory | FileMistake {
  const mistake = (message: string) => ({
    line,
    message: message.replace('The body', 'The record').replace('the body', 'the record'),
  });
  try {
    const category = newCategory(value);
    const members = value as object;
    const odd = 'description' in members ? undefined : mistyped(members, MEMBERS, ['description']);
    return odd === undefined ? category : mistake(odd);
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return mistake(error.message);
  }
}

/** Parses an array item by item: parsing it whole would block the event loop. */
function* jsonRecords(bytes: Buffer, cursor: Cursor): Generator<Found> {
  yield* skipSpace(bytes, cursor);
  if (bytes[cursor.at] !== BYTE.openBracket) {
    yield { line: 1, message: 'The file is not a JSON array; write [ … ], or import it as ndjson' };
    return;
  }
  for (let next: number = BYTE.comma, isFirst = true; next === BYTE.comma; isFirst = false) {
    cursor.at += 1;
    yield* skipSpace(bytes, cursor);
    if (!(isFirst && bytes[cursor.at] === BYTE.closeBracket)) {
      const { at, line } = cursor;
      const found = jsonItem(bytes, cursor);
      if (!('message' in found)) {
        yield found;
        yield* skipSpace(bytes, cursor);
      } else {
        Object.assign(cursor, { at, line });
        const isResumed = yield* skipToObject(bytes, cursor);
        yield isResumed ? found : { ...found, message: `${found.message}; ${REST_UNREAD}` };
        if (!isResumed) return;
        continue;
      }
    }
    next = bytes[cursor.at] ?? 0;
    if (next !== BYTE.comma && next !== BYTE.closeBracket) return yield invalidJson(cursor.line);
  }
  cursor.at += 1;
  yield* skipSpace(bytes, cursor);
  if (cursor.at < bytes.length) yield invalidJson(cursor.line);
}

/** Moves the cursor before the next line that begins with an object; false if there is none. */
function* skipToObject(bytes: Buffer, cursor: Cursor): Generator<undefined, boolean> {
  for (;;) {
    const end = bytes.indexOf(BYTE.lineFeed, cursor.at);
    if (end === -1) return false;
    cursor.at = end;
    yield* skipSpace(bytes, cursor);
    if (bytes[cursor.at] === BYTE.openBrace) {
      cursor.at -= 1;
      return true;
    }
    yield undefined;
  }
}

function* lineRecords(bytes: Buffer, cursor: Cursor): Generator<Found> {
  for (;;) {
    yield* skipSpace(bytes, cursor);
    if (cursor.at >= bytes.length) return;
    const { at, line } = cursor;
    const lineEnd = bytes.indexOf(BYTE.lineFeed, at);
    cursor.at = lineEnd === -1 ? bytes.length : lineEnd;
    if (cursor.at - at > RECORD_BYTES_MAX) {
      yield { line, message: `The line is longer than ${RECORD_BYTES_MAX} bytes` };
      continue;
    }
    let found: Found;
    try {
      found = { line, value: JSON.parse(bytes.toString('utf8', at, cursor.at)) };
    } catch {
      found = { line, message: 'The line is not valid JSON' };
    }
    yield found;
  }
}

/** Reads rows as RFC 4180 has them, up to the first broken quote: the next row has no known beginning. */
async function* csvRecords(bytes: Buffer, cursor: Cursor): AsyncGenerator<Found> {
  let header: readonly string[] | undefined;
  for await (const row of csvRows(bytes, cursor)) {
    if ('message' in row) yield row;
    else if (!header) {
      header = row.cells.map((column) => column ?? '');
      const message = wrongHeader(header);
      if (message !== undefined) return yield { line: row.line, message };
    } else if (row.cells.length === header.length) {
      const { line, cells } = row;
      yield { line, value: Object.fromEntries(header.map((column, index) => [column, asWritten(cells[index])])) };
    } else {
      const message = `The row has another number of cells (${row.cells.length}) than the header (${header.length})`;
      yield { line: row.line, message };
    }
  }
}

interface CsvRow {
  readonly line: number;
  readonly cells: readonly (string | undefined)[];
}

/** Every row but empty lines, in slices between which the event loop turns. */
async function* csvRows(bytes: Buffer, cursor: Cursor): AsyncGenerator<CsvRow | FileMistake> {
  const start = cursor.at;
  const rows: CsvRow[] = [];
  const on_record: CsvOptions['on_record'] = (cells: CsvRow['cells'], { bytes: length }) => {
    const { line } = cursor;
    moveTo(bytes, cursor, start + length);
    if (cells.length > 1 || cells[0] !== undefined) rows.push({ line, cells });
    // The stream, which drops what waits in it when it fails, gets nothing.
    return null;
  };
  const parser = new Parser({ ...CSV_OPTIONS, on_record });
  const { promise: ended, resolve } = Promise.withResolvers<Error | undefined>();
  parser
    .on('error', resolve)
    .on('end', () => resolve(undefined))
    .resume();
  for (let at = start; at < bytes.length && !parser.errored; at += CSV_SLICE_BYTES) {
    parser.write(bytes.subarray(at, at + CSV_SLICE_BYTES));
    yield* rows.splice(0);
    await nextTurn();
  }
  parser.end();
  const error = await ended;
  yield* rows;
  if (!error) return;
  if (!(error instanceof CsvError) && !(error instanceof TooManyColumns)) throw error;
  yield { line: cursor.line, message: `${brokenRow(error)}; ${REST_UNREAD}` };
}

class TooManyColumns extends Error {
  override readonly message = `The row has more than ${COLUMNS_MAX} columns`;
}

const CSV_OPTIONS: CsvOptions = {
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  max_record_size: RECORD_BYTES_MAX,
  /** A cell that is empty without quotes is missing. */
  cast(cell, { quoting, index }) {
    if (index >= COLUMNS_MAX) throw new TooManyColumns();
    return cell === '' && !quoting ? undefined : cell;
  },
};

/** Moves to the end of a row. Csv-parse itself counts a CRLF within a cell as two lines. */
function moveTo(bytes: Buffer, cursor: Cursor, end: number): void {
  for (; cursor.at < end; cursor.at += 1) {
    const byte = bytes[cursor.at];
    if (byte === BYTE.lineFeed || (byte === BYTE.carriageReturn && bytes[cursor.at + 1] !== BYTE.lineFeed)) {
      cursor.line += 1;
    }
  }
}

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

function asWritten(cell: string | undefined): string | undefined {
  return cell === undefined ? undefined : fromText(cell);
}

function brokenRow(error: CsvError | TooManyColumns): string {
  if (!('code' in error)) return error.message;
  switch (error.code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `The row is longer than ${RECORD_BYTES_MAX} bytes; close its quotes, and write a quote within a cell twice`;
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'A quote of the row is not closed; close it, and write a quote within a cell twice';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'Text follows the quote that ends a cell of the row; write a quote within a cell twice';
    default:
      return 'A cell of the row holds a quote; put the cell into quotes, and write that quote twice';
  }
}

interface Cursor {
  at: number;
  line: number;
}

/** Skips white space (RFC 8259, section 2). */
function* skipSpace(bytes: Buffer, cursor: Cursor): Generator<undefined> {
  for (;;) {
    const byte = bytes[cursor.at];
    if (byte === BYTE.lineFeed) cursor.line += 1;
    else if (byte !== BYTE.space && byte !== BYTE.tab && byte !== BYTE.carriageReturn) return;
    cursor.at += 1;
    if (cursor.at % SLICE_BYTES === 0) yield undefined;
  }
}

function jsonItem(bytes: Buffer, cursor: Cursor): FoundRecord | FileMistake {
  const { at: start, line } = cursor;
  const bound = moveBehindValue(bytes, cursor);
  if (bound) return { line, message: `The record is ${bound}` };
  const json = bytes.toString('utf8', start, cursor.at);
  try {
    return { line, value: JSON.parse(json) };
  } catch (error) {
    const position = Number(/at position (\d+)/.exec((error as Error).message)?.[1] ?? json.length);
    return { line: line + json.slice(0, position).split('\n').length - 1, message: 'The record is not valid JSON' };
  }
}

/**
 * Moves the cursor past a JSON value by counting brackets and quotes; invalid JSON ends at the error at the earliest.
 * Returns the bound that the value exceeds, if any.
 */
function moveBehindValue(bytes: Buffer, cursor: Cursor): string | undefined {
  const start = cursor.at;
  let depth = 0;
  let isInString = false;
  for (; cursor.at < bytes.length; cursor.at += 1) {
    const byte = bytes[cursor.at] ?? 0;
    if (cursor.at - start >= RECORD_BYTES_MAX) return `longer than ${RECORD_BYTES_MAX} bytes`;
    if (isInString) {
      if (byte === BYTE.backslash) cursor.at += 1;
      else if (byte === BYTE.quote) isInString = false;
      if (byte < BYTE.space || (depth === 0 && !isInString)) break;
    } else if (byte === BYTE.quote) isInString = true;
    else if (byte === BYTE.openBracket || byte === BYTE.openBrace) depth += 1;
    else if (byte === BYTE.closeBracket || byte === BYTE.closeBrace) {
      // The end of the array directly after a number or a literal.
      if (depth === 0) return undefined;
      depth -= 1;
      if (depth === 0) break;
    } else if (depth === 0 && (byte === BYTE.comma || byte <= BYTE.space)) return undefined;
    else if (byte === BYTE.lineFeed) cursor.line += 1;
    if (depth > DEPTH_MAX) return `nested deeper than ${DEPTH_MAX} levels`;
  }
  cursor.at = Math.min(cursor.at + 1, bytes.length);
  return undefined;
}

function invalidJson(line: number): FileMistake {
  return { line, message: 'The file is not valid JSON from here on' };
}
