import { Category, type Category as CategoryRow, newCategory } from '../../catalog/category.ts';
import { CatalogError } from '../../catalog/error.ts';
import { html } from '../../http/html.ts';
import { readId } from '../../http/operations/query.ts';
import { type Action, action, type Noun } from '../action.ts';
import { CategoryChange, CategoryId } from '../api/schema.ts';
import { foreign } from '../frame/element.ts';

/** Categories, as operators change them. */
const categoryNoun: Noun<CategoryRow> = {
  path: 'categories',
  group: 'categories',
  title: 'Categories',
  noun: 'category',
  parameter: { name: 'categoryId', description: CategoryId.description, schema: CategoryId },
  async find({ storage }, id) {
    const category = await storage.categories.find(idIn(id));
    if (category) return category;
    throw noCategory(id);
  },
  guarded: (category) => category,
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  json: (_context, category) => category,
  back: (id) => `/categories/${id}`,
};

/** Renames a category. */
export const renameCategory = action<{ name: string }, CategoryRow>({
  name: 'category.rename',
  role: 'admin',
  of: categoryNoun,
  input: CategoryChange,
  async run({ storage, by, precondition }, id, input) {
    const renamed = await storage.categories.rename(idIn(id), newCategory(input).name, by, precondition);
    if (!renamed) throw noCategory(id);
    return { row: renamed };
  },
  api: {
    id: 'renameCategory',
    route: 'PATCH /categories/{categoryId}',
    tag: 'categories',
    summary: 'Rename a category',
    description: 'Renames a category; lists of all instances follow within a second.',
    example: { name: 'Cats' },
    success: { status: 200, description: 'The category', schema: Category, example: { id: 1, name: 'Cats' } },
    errors: ['catalog_full'],
  },
  console: {
    verb: 'rename',
    title: 'Rename the category',
    button: 'Rename',
    first: (category) => ({ name: category?.name }),
    done: 'The category was renamed.',
  },
  command: { usage: 'rename <id> <name>', about: 'Rename a category' },
});

/** Deletes a category that no pet belongs to. */
export const deleteCategory = action<object, CategoryRow>({
  name: 'category.delete',
  role: 'admin',
  of: categoryNoun,
  async run({ storage, by, precondition }, id) {
    const outcome = await storage.categories.delete(idIn(id), by, precondition);
    if (outcome === 'not found') throw noCategory(id);
    if (outcome === 'in use')
      throw new CatalogError('category_in_use', `The category ${id} has pets, so it was not deleted`);
    return { row: undefined, note: `Deleted the category ${id}` };
  },
  api: {
    id: 'deleteCategory',
    route: 'DELETE /categories/{categoryId}',
    tag: 'categories',
    summary: 'Delete a category',
    description: 'Deletes a category that no pet belongs to. Its id is never reused.',
    success: { status: 204, description: 'The category is deleted' },
    errors: ['category_in_use'],
  },
  console: {
    verb: 'delete',
    title: 'Delete the category?',
    button: 'Delete the category',
    isDangerous: true,
    ask: (_context, { id, name }) =>
      html`<p class="lead"><strong>${foreign(name)}</strong> is deleted permanently, unless a pet belongs to it. Its id, ${id}, is never reused.</p>`,
    done: 'The category was deleted.',
  },
  command: { usage: 'delete <id>', about: 'Delete a category that has no pets' },
});

/** Every change of a single category. */
export const categoryActions: readonly Action[] = [renameCategory, deleteCategory];

/** The id in a path or an operand; 0, which no category has, where it is none. */
function idIn(text: string): number {
  return readId(text) ?? 0;
}

function noCategory(id: string): CatalogError {
  return new CatalogError('not_found', `There is no category ${id}; the list of categories shows them all`);
}
