import type { Operator } from '../audit.ts';
import { type Category, newCategory } from '../category.ts';
import { CatalogError } from '../error.ts';
import type { Precondition } from '../precondition.ts';
import type { Storage } from '../storage.ts';

/** Changes of operators to categories, called by the commands, the console and the API. */

interface Change {
  readonly storage: Pick<Storage, 'categories'>;
  readonly by: Operator;
  readonly precondition?: Precondition<Category> | undefined;
}

/** Renames a category. Throws `validation_failed`, `not_found` or `catalog_full`. */
export async function renameCategory(
  { storage, by, precondition }: Change,
  id: number,
  name: unknown,
): Promise<Category> {
  const renamed = await storage.categories.rename(id, newCategory({ name }).name, by, precondition);
  if (!renamed) throw noCategory(id);
  return renamed;
}

/** Deletes a category for good. Throws `not_found`, or `category_in_use` if a pet belongs to it. */
export async function deleteCategory({ storage, by, precondition }: Change, id: number): Promise<void> {
  const outcome = await storage.categories.delete(id, by, precondition);
  if (outcome === 'not found') throw noCategory(id);
  if (outcome === 'in use') {
    throw new CatalogError('category_in_use', `The category ${id} has pets, so it was not deleted`);
  }
}

function noCategory(id: number): CatalogError {
  return new CatalogError('not_found', `There is no category ${id}; the list of categories shows them all`);
}
