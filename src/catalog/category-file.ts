import { type CastingContext, parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { Category, type NewCategory, newCategory } from './category.ts';
import { CatalogError } from './error.ts';

export const FILE_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** The upper bound of `CATEGORIES_MAX`. */
const RECORDS_MAX = 1_000_000;
/** After this many mistakes it is the wrong file, so reading stops. */
const MISTAKES_MAX = 1_000;

/** What is wrong with a record, and the line that it starts on, counted from 1. */
export interface FileMistake {
  readonly line: number;
  readonly message: string;
}

export interface ReadCategories {
  readonly categories: NewCategory[];
  /** By line. After a thousand mistakes or a million records, a last one says that the rest was not read. */
  readonly mistakes: FileMistake[];
}

/** A parsed record, before validation. */
interface FoundRecord {
  readonly line: number;
  readonly value: unknown;
}

/** The format by a file name's extension; undefined if unknown. */
export function formatOf(fileName: string): FileFormat | undefined {
  const extension = fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase();
  return FILE_FORMATS.find((format) => format === (extension === 'jsonl' ? 'ndjson' : extension));
}

/**
 * Reads categories from a file: a JSON array, a JSON object per line, or CSV with the columns `name` and `description`.
 * Ignores ids and other members: an import assigns new ids.
 */
export function readCategories(text: string, format: FileFormat): ReadCategories {
  const categories: NewCategory[] = [];
  const mistakes: FileMistake[] = [];
  const found: Iterable<FoundRecord> = { json: jsonRecords, ndjson: lineRecords, csv: csvRecords }[format](
    text,
    mistakes,
  );
  for (const { line, value } of found) {
    if (mistakes.length >= MISTAKES_MAX || categories.length >= RECORDS_MAX) {
      mistakes.push({
        line,
        message: 'The rest of the file was not read: it has too many records or too many mistakes',
      });
      break;
    }
    try {
      categories.push(newCategory(value));
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      mistakes.push({
        line,
        message: error.message.replace('The body', 'The record').replace('the body', 'the record'),
      });
    }
  }
  return { categories, mistakes: mistakes.sort((a, b) => a.line - b.line) };
}

/** Writes categories as a file that `readCategories` reads. */
export function writeCategories(categories: readonly Category[], format: FileFormat): string {
  if (format === 'json') return `[\n${categories.map((category) => `  ${JSON.stringify(category)}`).join(',\n')}\n]\n`;
  if (format === 'ndjson') return categories.map((category) => `${JSON.stringify(category)}\n`).join('');
  // An empty description is quoted, a missing one is not, to tell them apart.
  const string = (value: string) => (value === '' ? { value, quoted_empty: true } : asText(value));
  return stringify([...categories], { header: true, columns: Object.keys(Category.properties), cast: { string } });
}

function jsonRecords(text: string, mistakes: FileMistake[]): FoundRecord[] {
  try {
    const values: unknown = JSON.parse(text);
    if (Array.isArray(values)) {
      const lines = itemLines(text);
      return values.map((value, index) => ({ line: lines[index] ?? 1, value }));
    }
    mistakes.push({ line: 1, message: 'The file is not a JSON array; write [ … ], or import it as ndjson' });
  } catch (error) {
    const position = Number(/at position (\d+)/.exec((error as Error).message)?.[1] ?? text.length);
    mistakes.push({ line: lineAt(text, position), message: 'The file is not valid JSON from here on' });
  }
  return [];
}

function* lineRecords(text: string, mistakes: FileMistake[]): Generator<FoundRecord> {
  for (let [start, end, line] = [0, 0, 1]; start <= text.length; [start, line] = [end + 1, line + 1]) {
    end = text.indexOf('\n', start);
    if (end < 0) end = text.length;
    const json = text.slice(start, end);
    if (json.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      mistakes.push({ line, message: 'The line is not valid JSON' });
      if (mistakes.length < MISTAKES_MAX) continue;
    }
    yield { line, value };
  }
}

function csvRecords(text: string, mistakes: FileMistake[]): FoundRecord[] {
  try {
    // Fast path: the first record rules out most foreign files.
    const [first] = parseCsv(text, 1);
    if (first && !('name' in first.record)) {
      mistakes.push({ line: 1, message: 'The header has no column `name`; write `name,description`' });
      return [];
    }
    return parseCsv(text, RECORDS_MAX + 1).map(({ info, record }) => ({ line: info.lines, value: record }));
  } catch (error) {
    const { lines = 1, message } = error as Error & { lines?: number };
    mistakes.push({ line: lines, message: `The file is not valid CSV: ${message}` });
    return [];
  }
}

interface CsvRecord {
  readonly info: { readonly lines: number };
  readonly record: Record<string, unknown>;
}

function parseCsv(text: string, recordsMax: number): CsvRecord[] {
  const options = { columns: true, info: true, skip_empty_lines: true, cast: emptyOrMissing, to: recordsMax } as const;
  return parse(text, options) as unknown as CsvRecord[];
}

function emptyOrMissing(value: string, { header, quoting }: CastingContext): string | undefined {
  if (header) return value;
  return value === '' && !quoting ? undefined : fromText(value);
}

/**
 * Keeps a spreadsheet from running a cell as a formula: it takes what follows a `'` for text. Reading removes one `'`,
 * so a cell that begins with one gets another.
 */
function asText(value: string): string {
  return /^[=+\-@\t\r']/.test(value) ? `'${value}` : value;
}

function fromText(value: string): string {
  return value.startsWith("'") ? value.slice(1) : value;
}

/** The line on which each item of a JSON array starts. The text must be a valid array. */
function itemLines(text: string): number[] {
  const lines: number[] = [];
  let [line, depth, isInString, awaitsItem] = [1, 0, false, false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '\n') line += 1;
    if (isInString) {
      if (character === '\\') at += 1;
      else if (character === '"') isInString = false;
      continue;
    }
    if (awaitsItem && !/[\s,\]]/.test(character)) {
      lines.push(line);
      awaitsItem = false;
    }
    if (character === '"') isInString = true;
    if (character === '[' || character === '{') depth += 1;
    if (character === ']' || character === '}') depth -= 1;
    if (depth === 1 && (character === ',' || (character === '[' && lines.length === 0))) awaitsItem = true;
  }
  return lines;
}

function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}
