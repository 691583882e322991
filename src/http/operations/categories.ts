import { Category, NewCategory, newCategory } from '../../catalog/category.ts';
import type { CategoryList } from '../../catalog/category-list.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { createdAnswer, createdOf, currentAnswer, isCurrent, onceIdOf } from './conditional.ts';
import { operation } from './operation.ts';
import { CURSOR, nextPage, pageLimit, pageOf, readPage } from './paging.ts';
import { findById, notFound } from './query.ts';

const PATH = '/categories';
const PAGE_ITEMS_MAX = 1_000;
const EXAMPLE = { id: 1, name: 'Dog', description: 'Loyal, social, needs walks' };
const noCategory = notFound('category', 'list them all to find one');

/** GET /categories [published]. */
export const LIST_CATEGORIES = operation('listCategories', `GET ${PATH}`, {
  tag: 'categories',
  summary: 'List all categories',
  description:
    'Every category as one JSON array, in ascending order of id. With `limit` or `cursor`, one page, also an array; the `Link` header names the next page.',
  permission: 'categories:read',
  queryParameters: [pageLimit(PAGE_ITEMS_MAX), CURSOR],
  success: pageOf(Category, 'The categories', EXAMPLE, { id: 2, name: 'Cat' }),
  conditional: true,
  handle({ categories }, exchange) {
    if (exchange.query.size > 0) return answerPage(categories, exchange);
    const { etag } = categories;
    const headers = ['ETag', etag];
    const cacheControl = 'private, no-cache';
    if (isCurrent(exchange.request.headers['if-none-match'], etag)) return { status: 304, headers, cacheControl };
    return { status: 200, headers, cacheControl, body: categories.body };
  },
});

/** POST /categories [published]. */
export const CREATE_CATEGORY = operation('createCategory', `POST ${PATH}`, {
  tag: 'categories',
  summary: 'Create a category',
  description: 'Stores a category under a new id. It is durable when the response arrives. Names need not be unique.',
  permission: 'categories:write',
  body: { schema: NewCategory, example: { name: EXAMPLE.name, description: EXAMPLE.description } },
  success: createdOf(Category, EXAMPLE, {
    description: 'The created category',
    location: 'The address of the created category',
  }),
  errors: ['catalog_full'],
  async handle({ storage, categories, catchUp }, exchange) {
    const created = await storage.categories.insert(newCategory(exchange.body), onceIdOf(exchange, exchange.key.id));
    // A replayed category may have been stored by another instance and renamed since, so read it again.
    // Behind smaller ids of other instances, which are all committed by now, its own would leave a hole: read them.
    if (created.isReplay || !categories.append(created.resource, created.json)) await catchUp().catch(() => {});
    return createdAnswer(`${PATH}/`, created);
  },
});

export const GET_CATEGORY = operation('getCategory', `GET ${PATH}/{categoryId}`, {
  tag: 'categories',
  summary: 'Get a category',
  description: 'One category by its id.',
  permission: 'categories:read',
  pathParameters: [{ name: 'categoryId', description: 'The id of a category', schema: Category.properties.id }],
  success: { status: 200, description: 'The category', schema: Category, example: EXAMPLE },
  conditional: true,
  errors: ['not_found'],
  async handle({ storage }, exchange) {
    const category = await findById(exchange.params.categoryId, noCategory, (id) => storage.categories.find(id));
    return currentAnswer(exchange, JSON.stringify(category));
  },
});

function answerPage(categories: CategoryList, exchange: Exchange): Answer {
  const { limit, after } = readPage(exchange.query, PAGE_ITEMS_MAX, PAGE_ITEMS_MAX);
  const { body, moreAfter } = categories.page({ limit, after });
  return currentAnswer(exchange, body, moreAfter === undefined ? [] : nextPage(exchange, { limit, after: moreAfter }));
}
