import { Category } from '../../catalog/category.ts';
import { CatalogError } from '../../catalog/error.ts';
import { deleteCategory, renameCategory } from '../../catalog/operator/changes.ts';
import { validator } from '../../catalog/validate.ts';
import { changedAnswer, preconditionOf } from '../../http/operations/conditional.ts';
import { readId } from '../../http/operations/query.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { type ApiContext, type ApiOperation, apiOperation } from './operation.ts';
import { CategoryChange, CategoryId } from './schema.ts';

const TAG = 'categories';
const PATH = '/categories/{categoryId}';
const CATEGORY_ID = { name: 'categoryId', description: CategoryId.description, schema: CategoryId };

const checkChange = validator(CategoryChange);

const rename = apiOperation('renameCategory', `PATCH ${PATH}`, {
  tag: TAG,
  summary: 'Rename a category',
  description: 'Renames a category; lists of all instances follow within a second.',
  permission: 'admin',
  pathParameters: [CATEGORY_ID],
  body: { schema: CategoryChange, example: { name: 'Cats' } },
  success: { status: 200, description: 'The category', schema: Category, example: { id: 1, name: 'Cats' } },
  errors: ['not_found', 'catalog_full', 'precondition_failed'],
  async handle(context, exchange) {
    const { name } = checkChange(exchange.body);
    return changedAnswer(await renameCategory(guarded(context, exchange), categoryIdOf(exchange), name));
  },
});

const remove = apiOperation('deleteCategory', `DELETE ${PATH}`, {
  tag: TAG,
  summary: 'Delete a category',
  description: 'Deletes a category that no pet belongs to. Its id is never reused.',
  permission: 'admin',
  pathParameters: [CATEGORY_ID],
  success: { status: 204, description: 'The category is deleted' },
  errors: ['not_found', 'category_in_use', 'precondition_failed'],
  async handle(context, exchange) {
    await deleteCategory(guarded(context, exchange), categoryIdOf(exchange));
    return { status: 204 };
  },
});

/** Operations on categories for operators alone. */
export const categoryOperations: readonly ApiOperation[] = [rename, remove];

/** The same with `If-Match`, which takes the `ETag` that the public API gives the category. */
function guarded({ storage, by }: ApiContext, exchange: Exchange) {
  return { storage, by, precondition: preconditionOf(exchange) };
}

function categoryIdOf({ params }: Exchange): number {
  const id = readId(params.categoryId);
  if (id === undefined) throw new CatalogError('not_found', 'There is no category with this id');
  return id;
}
