import { CatalogError } from '../../catalog/error.ts';
import { InventoryItem, NewQuantity, newQuantity } from '../../catalog/pet.ts';
import { quote } from '../../catalog/validate.ts';
import type { Operation } from './operation.ts';
import { PAGE_PARAMETERS, pageAnswer, readId, readPage } from './paging.ts';

const PATH = '/inventory';
const EXAMPLE = { petId: 1, quantity: 1, status: 'available' };

/** GET /inventory. */
export const listInventory: Operation = {
  id: 'listInventory',
  method: 'GET',
  path: PATH,
  tag: 'store',
  summary: 'List the inventory',
  description: 'One page of the stock, in ascending order of petId. The `Link` header names the next page.',
  scope: 'store:read',
  queryParameters: PAGE_PARAMETERS,
  success: {
    status: 200,
    description: 'The stock',
    schema: { type: 'array', items: InventoryItem },
    example: [EXAMPLE],
    headers: { Link: 'The next page, if there is one' },
  },
  errors: ['validation_failed'],
  async handle({ storage }, { query }) {
    const page = readPage(query);
    const found = await storage.pets.listInventory({ after: page.after, limit: page.limit + 1 });
    return pageAnswer(PATH, page, { found, idOf: ({ petId }) => petId });
  },
};

/** PATCH /inventory/{petId}. */
export const updateInventory: Operation = {
  id: 'updateInventory',
  method: 'PATCH',
  path: `${PATH}/{petId}`,
  tag: 'store',
  summary: 'Set the stock of a pet',
  description:
    'Sets the stock of a pet. A stock of 0 marks the pet as sold; a sold pet that is back in stock becomes available.',
  scope: 'store:write',
  stability: 'experimental',
  pathParameters: [{ name: 'petId', description: 'The id of a pet', schema: InventoryItem.properties.petId }],
  body: { schema: NewQuantity, example: { quantity: 5 } },
  success: { status: 200, description: 'The updated stock', schema: InventoryItem, example: EXAMPLE },
  errors: ['not_found'],
  async handle({ storage }, { params, body }) {
    const quantity = newQuantity(body);
    const id = readId(params.petId);
    const item = id === undefined ? undefined : await storage.pets.setQuantity(id, quantity);
    if (!item) throw new CatalogError('not_found', `There is no pet ${quote(params.petId)}`);
    return { status: 200, body: JSON.stringify(item) };
  },
};
