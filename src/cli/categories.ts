import { readFileSync } from 'node:fs';
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
import { deleteCategory, renameCategory } from '../catalog/operator/changes.ts';
import { commandsOf, runOnDatabase } from './command-runner.ts';
import { type Invocation, UsageError, withSettings } from './invocation.ts';
import { table } from './table.ts';

const USED_SETTINGS = ['DATABASE_URL', 'CATEGORIES_MAX', 'CATEGORIES_BYTES_MAX'] as const;
const STDIN = '-';

interface WithFormat {
  readonly format?: string;
}

/** Adds `categories …`. */
export function addCategoriesCommand(program: Command, invocation: Invocation): void {
  const categories = program.command('categories').description('List, import, export, rename and delete categories');
  const add = commandsOf(categories, invocation, { settings: USED_SETTINGS });
  const withFormat = (command: Command, about: string) =>
    command.option('--format <format>', `${FILE_FORMATS.join(', ')} (default: ${about})`);

  add('list', 'List the categories', 'read', async ({ storage }) => {
    const listed = await storage.categories.list();
    const none = 'No categories yet; `pet-catalog categories import FILE`';
    if (listed.length === 0) return { json: listed, text: '', note: none };
    const rows = listed.map(({ id, name, description = '' }) => [`${id}`, name, description]);
    return { json: listed, text: table(['ID', 'NAME', 'DESCRIPTION'], rows) };
  }).option('--json', 'print JSON');

  const importing = categories.command('import <file>');
  importing.description('Add the categories of a file, or of stdin (-): all of them, or none');
  withFormat(withSettings(importing, USED_SETTINGS), "by the file's extension").action(
    async (file: string, { format }: { format?: string }, self: Command) => {
      const read = await readRecords(file, format, invocation);
      await runOnDatabase(self, {
        invocation,
        purpose: 'create',
        async work({ storage, by }) {
          const onProgress = (done: number) => invocation.progress('Importing', done, read.length);
          await storage.categories.import(read, by, onProgress);
          invocation.tell(`Imported ${read.length} ${read.length === 1 ? 'category' : 'categories'}`);
        },
      });
    },
  );

  const exporting = add<WithFormat>(
    'export',
    'Print all categories as a file',
    'read',
    async ({ storage, options }) => {
      const { format = 'json' } = options;
      invocation.print(writeCategories(await storage.categories.list(), readFormat(format)).replace(/\n$/, ''));
    },
  );
  withFormat(exporting, 'json');

  add('rename <id> <name>', 'Rename a category', 'change', async (context, id, name) => {
    invocation.print(JSON.stringify(await renameCategory(context, readId(id), name)));
  });

  add('delete <id>', 'Delete a category that has no pets', 'change', async (context, id) => {
    await deleteCategory(context, readId(id));
    invocation.tell(`Deleted the category ${id}`);
  });
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
  for (const { line, message } of mistakes) invocation.tell(`${name}:${line}: ${message}`);
  const records = mistakes.length === 1 ? 'record' : 'records';
  throw new UsageError(`Nothing was imported: ${name} has ${mistakes.length} invalid ${records}`, 1);
}

async function readFile(file: string, format: string | undefined, { input }: Invocation): Promise<ReadCategories> {
  const named = format === undefined ? formatOf(file) : readFormat(format);
  if (!named && file === STDIN) throw new UsageError('stdin has no file name that shows the format; add --format');
  if (!named) throw new UsageError(`Cannot tell the format of ${file} by its extension; add --format`);
  try {
    return await readCategories(file === STDIN ? await input() : readFileSync(file), named);
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

function readId(text: string): number {
  const id = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (!Number.isSafeInteger(id) || id < 1) throw new UsageError(`The id is "${text}"; write a whole number`);
  return id;
}
