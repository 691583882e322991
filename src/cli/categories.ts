import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { Category } from '../catalog/category.ts';
import {
  FILE_FORMATS,
  type FileCategory,
  type FileFormat,
  formatOf,
  type ReadCategories,
  readCategories,
  writeCategories,
} from '../catalog/category-file.ts';
import { deleteCategory, getCategory, listCategories, renameCategory } from '../operator/api/categories.ts';
import { byText } from '../operator/api/filters.ts';
import { operate } from '../operator/api/operation.ts';
import { addOperation, addOperations } from '../operator/command/commands.ts';
import { runOnDatabase } from './command-runner.ts';
import { type Invocation, UsageError, withSettings } from './invocation.ts';
import { operationsOf } from './operations.ts';

const USED_SETTINGS = ['DATABASE_URL', 'CATEGORIES_MAX', 'CATEGORIES_BYTES_MAX'] as const;
const STDIN = '-';

/** No route of the operator API: an import may have 100,000 categories, whose deletion would hold a service up. */
const deleteImported = operate('categories.delete', 'deleteImported', 'DELETE /categories', {
  tag: 'categories',
  summary: 'Delete a category that no pet belongs to, or undo an import',
  description: 'Deletes every category of an import, or none if one has pets or was renamed.',
  permission: 'admin',
  filters: { imported: byText('All of the import that is this entry of the audit', { isRequired: true }) },
  async handle({ storage, by }, { query: { imported = '' } }) {
    const { made, deleted } = await storage.categories.deleteImported(imported, by);
    const others = deleted < made ? '; the others were deleted before' : '';
    return { note: `Deleted ${deleted} of the ${made} categories of the import${others}` };
  },
});

/** Adds `categories …`. */
export function addCategoriesCommand(program: Command, invocation: Invocation): void {
  const categories = program
    .command('categories')
    .description('List, show, import, export, rename and delete categories');
  const withFormat = (command: Command, about: string) =>
    command.option('--format <format>', `${FILE_FORMATS.join(', ')} (default: ${about})`);

  const add = operationsOf(categories, invocation, USED_SETTINGS);
  addOperations(add, [listCategories, getCategory, renameCategory]);
  addOperation(add, deleteCategory, { usage: 'delete [id]', about: deleteImported.summary, other: deleteImported });

  const importing = categories.command('import <file>');
  importing.description('Add the categories of a file, or of stdin (-): all of them, or none');
  importing.option('--as <name>', 'who does it; the actor in the audit');
  importing.option('--again', 'import categories that are there already once more');
  withFormat(withSettings(importing, USED_SETTINGS), "by the file's extension").action(
    async (file: string, { format, again }: { format?: string; again?: true }, self: Command) => {
      const read = await readRecords(file, format, invocation);
      await runOnDatabase(self, {
        invocation,
        purpose: 'create',
        async work({ storage, by }) {
          if (!again) assertNew(read, await storage.categories.list());
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

/** Throws if a category of a file is there already: one of its name and, where the file has it, of its id. */
function assertNew(read: readonly FileCategory[], present: readonly Category[]): void {
  const names = new Map(present.map(({ id, name }) => [id, name]));
  const unnumbered = new Set(names.values());
  const isThere = ({ id, name }: FileCategory) => (id === undefined ? unnumbered.has(name) : names.get(id) === name);
  const there = read.filter(isThere).length;
  if (there === 0) return;
  const first = `the first is record ${read.findIndex(isThere) + 1}`;
  throw new UsageError(`Nothing was imported: ${there} of ${read.length} are there already, ${first}; see --again`, 1);
}

/** Reads the categories of a file, or reports every bad record and throws. */
async function readRecords(
  file: string,
  format: string | undefined,
  invocation: Invocation,
): Promise<readonly FileCategory[]> {
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
