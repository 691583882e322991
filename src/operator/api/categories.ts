import { Category, newCategory } from '../../catalog/category.ts';
import { CatalogError } from '../../catalog/error.ts';
import { folded } from '../../catalog/search.ts';
import { readId } from '../../http/operations/query.ts';
import { BY_MAKER, MAKER, makerColumns, newestPage, withHistory } from './catalog.ts';
import { byText } from './filters.ts';
import { type Body, operate } from './operation.ts';
import { CategoryChange, CategoryHistory, CategoryId, ListedCategory } from './schema.ts';

/** The operations on categories. */

const CATEGORY_ID = { name: 'categoryId', description: CategoryId.description, schema: CategoryId } as const;
const EXAMPLE = { id: 1, name: 'Cats' } as const;

export const listCategories = operate('category.list', 'listCategories', 'GET /categories', {
  summary: 'List categories',
  description: 'A page of the categories, newest first. The filters combine.',
  permission: 'viewer',
  filters: {
    q: byText('Part of a name or a description, regardless of case, or an id', {
      label: 'Name, description or id',
      isWide: true,
    }),
    ...BY_MAKER,
  },
  list: {
    noun: ['category', 'categories'],
    schema: ListedCategory,
    columns: [
      { member: 'id', label: 'Id', isNumber: true },
      { member: 'name', label: 'Name' },
      { member: 'description', label: 'Description', isLong: true },
      ...makerColumns('Created'),
    ],
    csv: { columns: ['id', 'name', 'description', ...MAKER] },
  },
  async handle(caller, call) {
    const { storage } = caller;
    const { q: text = '' } = call.query;
    const wanted = folded(text);
    const { rows: json, last } = await newestPage<Category>(
      caller,
      call,
      (query) => storage.categories.newest(query),
      ({ id, name, description = '' }) => `${id}` === text || folded(`${name}\n${description}`).includes(wanted),
    );
    return { json, last };
  },
});

export const getCategory = operate('category.show', 'getCategory', 'GET /categories/{categoryId}', {
  summary: 'Get a category and its history',
  description:
    'One category, also a deleted one (`removed`): who created, renamed and deleted it, and when. Its creation has no request id.',
  permission: 'viewer',
  parameter: CATEGORY_ID,
  success: {
    status: 200,
    description: 'The category',
    schema: CategoryHistory,
    headers: { ETag: 'The validator of the category for If-Match' },
  },
  handle: (caller, { id }) => withHistory('category', caller, id),
});

export const renameCategory = operate('category.rename', 'renameCategory', 'PATCH /categories/{categoryId}', {
  summary: 'Rename a category',
  description: 'Renames a category; lists of all instances follow within a second.',
  permission: 'admin',
  parameter: CATEGORY_ID,
  body: { schema: CategoryChange, example: { name: 'Cats' } } as Body<{ name: string }>,
  success: { status: 200, description: 'The category', schema: Category, example: EXAMPLE },
  errors: ['catalog_full', 'precondition_failed'],
  async handle({ storage, by }, { id, body, precondition }) {
    const renamed = await storage.categories.rename(idIn(id), newCategory(body).name, by, precondition);
    if (!renamed) throw noCategory(id);
    return { row: renamed, json: renamed };
  },
});

export const deleteCategory = operate('category.delete', 'deleteCategory', 'DELETE /categories/{categoryId}', {
  summary: 'Delete a category',
  description: 'Deletes a category that no pet belongs to. Its id is never reused.',
  permission: 'admin',
  parameter: CATEGORY_ID,
  success: { status: 204, description: 'The category is deleted' },
  errors: ['category_in_use', 'precondition_failed'],
  async handle({ storage, by }, { id, precondition }) {
    const outcome = await storage.categories.delete(idIn(id), by, precondition);
    if (outcome === 'not found') throw noCategory(id);
    if (outcome === 'in use')
      throw new CatalogError('category_in_use', `The category ${id} has pets, so it was not deleted`);
    return { note: `Deleted the category ${id}` };
  },
});

/** The id in a path or an operand; 0, which no category has, where it is none. */
function idIn(text: string): number {
  return readId(text) ?? 0;
}

function noCategory(id: string): CatalogError {
  return new CatalogError('not_found', `There is no category ${id}; the list of categories shows them all`);
}
