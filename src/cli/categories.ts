import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { NewCategory } from '../catalog/category.ts';
import {
  FILE_FORMATS,
  type FileFormat,
  formatOf,
  type ReadCategories,
  readCategories,
  writeCategories,
} from '../catalog/category-file.ts';
import { deleteCategory, getCategory, listCategories, renameCategory } from '../operator/api/categories.ts';
import { addOperations } from '../operator/command/commands.ts';
import { runOnDatabase } from './command-runner.ts';
import { type Invocation, UsageError, withSettings } from './invocation.ts';
import { operationsOf } from './operations.ts';

const USED_SETTINGS = ['DATABASE_URL', 'CATEGORIES_MAX', 'CATEGORIES_BYTES_MAX'] as const;
const STDIN = '-';

/** Adds `categories …`. */
export function addCategoriesCommand(program: Command, invocation: Invocation): void {
  const categories = program
    .command('categories')
    .description('List, show, import, export, rename and delete categories');
  const withFormat = (command: Command, about: string) =>
    command.option('--format <format>', `${FILE_FORMATS.join(', ')} (default: ${about})`);

  addOperations(operationsOf(categories, invocation, USED_SETTINGS), [
    listCategories,
    getCategory,
    renameCategory,
    deleteCategory,
  ]);

  const importing = categories.command('import <file>');
  importing.description('Add the categories of a file, or of stdin (-): all of them, or none');
  importing.option('--as <name>', 'who does it; the actor in the audit');
  withFormat(withSettings(importing, USED_SETTINGS), "by the file's extension").action(
    async (file: string, { format }: { format?: string }, self: Command) => {
      const read = await readRecords(file, format, invocation);
      await runOnDatabase(self, {
        invocation,
        purpose: 'create',
        async work({ storage, by }) {
          const onProgress = (done: number) => invocation.progress('Importing', done, read.length);
          await storage.categories.import(read, by, { file: basename(nameOf(file)), onProgress });
          invocation.tell(`Imported ${read.length} ${read.length === 1 ? 'category' : 'categories'}`);
        },
      });
    },
  );

  const exporting = categories.command('export').description('Print all categories as a file');
  withFormat(withSettings(exporting, USED_SETTINGS), 'json').action(
    ({ format = 'json' }: { format?: string }, self: Command) =>
      runOnDatabase(self, {
        invocation,
        purpose: 'read',
        async work({ storage }) {
          invocation.print(writeCategories(await storage.categories.list(), readFormat(format)).replace(/\n$/, ''));
        },
      }),
  );
}

/** Reads the categories of a file, or reports every bad record and throws. */
async function readRecords(
  file: string,
  format: string | undefined,
  invocation: Invocation,
): Promise<readonly NewCategory[]> {
  const { categories, mistakes } = await readFile(file, format, invocation);
  if (mistakes.length === 0) return categories;
  const name = nameOf(file);
  for (const { record, line, message } of mistakes) {
    const place = [
      line === undefined ? name : `${name}:${line}`,
      ...(record === undefined ? [] : [`record ${record}`]),
    ];
    invocation.tell(`${place.join(': ')}: ${message}`);
  }
  const records = mistakes.length === 1 ? 'record' : 'records';
  throw new UsageError(`Nothing was imported: ${name} has ${mistakes.length} invalid ${records}`, 1);
}

async function readFile(file: string, format: string | undefined, { input }: Invocation): Promise<ReadCategories> {
  const named = format === undefined ? formatOf(file) : readFormat(format);
  if (!named && file === STDIN) throw new UsageError('stdin has no file name that shows the format; add --format');
  if (!named) throw new UsageError(`Cannot tell the format of ${file} by its extension; add --format`);
  try {
    return readCategories(file === STDIN ? await input() : readFileSync(file), named);
  } catch (error) {
    throw new UsageError(`Cannot read ${nameOf(file)}: ${(error as Error).message}`, 1);
  }
}

function nameOf(file: string): string {
  return file === STDIN ? 'stdin' : file;
}

function readFormat(text: string): FileFormat {
  const format = FILE_FORMATS.find((name) => name === text);
  if (!format) throw new UsageError(`There is no format ${text}; the formats are ${FILE_FORMATS.join(', ')}`);
  return format;
}
