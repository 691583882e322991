import { InventoryItem, NewQuantity, newQuantity } from '../../catalog/pet.ts';
import { authorOf, changedAnswer, changedOf, currentAnswer, preconditionOf } from './conditional.ts';
import { operation } from './operation.ts';
import { PAGE_PARAMETERS, pageAnswer, pageOf, readPage } from './paging.ts';
import { noPet, PET_ID } from './pets.ts';
import { findById } from './query.ts';

const PATH = '/inventory';
const EXAMPLE = { petId: 1, quantity: 1, status: 'available' };

export const LIST_INVENTORY = operation('listInventory', `GET ${PATH}`, {
  tag: 'store',
  summary: 'List the inventory',
  description: 'One page of the stock, in ascending order of petId. The `Link` header names the next page.',
  permission: 'store:read',
  queryParameters: PAGE_PARAMETERS,
  success: pageOf(InventoryItem, 'The stock', EXAMPLE),
  conditional: true,
  async handle({ storage }, exchange) {
    const { after, limit } = readPage(exchange.query);
    const found = await storage.pets.listInventory({ after, limit: limit + 1 });
    return pageAnswer(exchange, { limit, found, idOf: ({ petId }) => petId });
  },
});

export const GET_INVENTORY = operation('getInventory', `GET ${PATH}/{petId}`, {
  tag: 'store',
  summary: 'Get the stock of a pet',
  description: 'The stock of one pet.',
  permission: 'store:read',
  pathParameters: [PET_ID],
  success: { status: 200, description: 'The stock', schema: InventoryItem, example: EXAMPLE },
  conditional: true,
  errors: ['not_found'],
  async handle({ storage }, exchange) {
    const item = await findById(exchange.params.petId, noPet, (id) => storage.pets.findInventory(id));
    return currentAnswer(exchange, JSON.stringify(item));
  },
});

export const UPDATE_INVENTORY = operation('updateInventory', `PATCH ${PATH}/{petId}`, {
  tag: 'store',
  summary: 'Set the stock of a pet',
  description:
    'Sets the stock of a pet. A stock of 0 marks the pet as sold; a sold pet that is back in stock becomes available.',
  permission: 'store:write',
  stability: 'beta',
  pathParameters: [PET_ID],
  body: { schema: NewQuantity, example: { quantity: 5 } },
  success: changedOf(InventoryItem, 'The updated stock', { ...EXAMPLE, quantity: 5 }),
  errors: ['not_found', 'precondition_failed'],
  async handle({ storage }, exchange) {
    const quantity = newQuantity(exchange.body);
    const set = (id: number) =>
      storage.pets.setQuantity(id, quantity, authorOf(exchange), preconditionOf(exchange.request.headers['if-match']));
    return changedAnswer(await findById(exchange.params.petId, noPet, set));
  },
});
