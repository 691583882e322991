import { type CastingContext, parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { type Category, type NewCategory, newCategory } from './category.ts';
import { CatalogError } from './error.ts';

export const FILE_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** What is wrong with a record of a file, and the line that it begins on, counted from 1. */
export interface FileMistake {
  readonly line: number;
  readonly message: string;
}

export interface ReadCategories {
  readonly categories: NewCategory[];
  /** Every one, in the order of their lines. */
  readonly mistakes: FileMistake[];
}

/** A record as it was found, before anybody looked at what it means. */
interface FoundRecord {
  readonly line: number;
  readonly value: unknown;
}

/** The format that a file's name tells, undefined if it tells none. */
export function formatOf(fileName: string): FileFormat | undefined {
  const ending = fileName.slice(fileName.lastIndexOf('.') + 1).toLowerCase();
  return FILE_FORMATS.find((format) => format === (ending === 'jsonl' ? 'ndjson' : ending));
}

/**
 * Reads categories out of a file: a JSON array, a JSON object on each line, or CSV with the columns `name` and
 * `description`. Ids and other members are ignored: whoever imports gets new ids.
 */
export function readCategories(text: string, format: FileFormat): ReadCategories {
  const categories: NewCategory[] = [];
  const mistakes: FileMistake[] = [];
  const found = { json: jsonRecords, ndjson: lineRecords, csv: csvRecords }[format](text, mistakes);
  for (const { line, value } of found) {
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
  // An empty description is quoted, one that is missing is not, so that they can be told apart.
  const string = (value: string) => (value === '' ? { value, quoted_empty: true } : value);
  return stringify([...categories], { header: true, columns: ['id', 'name', 'description'], cast: { string } });
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

function lineRecords(text: string, mistakes: FileMistake[]): FoundRecord[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [{ line: index + 1, value: JSON.parse(line) }];
    } catch {
      mistakes.push({ line: index + 1, message: 'The line is not valid JSON' });
      return [];
    }
  });
}

function csvRecords(text: string, mistakes: FileMistake[]): FoundRecord[] {
  try {
    const options = { columns: true, info: true, skip_empty_lines: true, cast: emptyOrMissing } as const;
    const records = parse(text, options) as unknown as { info: { lines: number }; record: Record<string, unknown> }[];
    const [first] = records;
    if (first && !('name' in first.record)) {
      mistakes.push({ line: 1, message: 'The first line names no column `name`; write `name,description`' });
      return [];
    }
    return records.map(({ info, record }) => ({ line: info.lines, value: record }));
  } catch (error) {
    const { lines = 1, message } = error as Error & { lines?: number };
    mistakes.push({ line: lines, message: `The file is not valid CSV: ${message}` });
    return [];
  }
}

function emptyOrMissing(value: string, { header, quoting }: CastingContext): string | undefined {
  return value === '' && !header && !quoting ? undefined : value;
}

/** The line on which each item of a JSON array begins; the text is known to be one. */
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
