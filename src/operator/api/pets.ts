import { PET_STATUSES } from '../../catalog/pet.ts';
import { pageById } from './categories.ts';
import { byChoice, byNumber } from './filters.ts';
import { withHistory } from './history.ts';
import { operate } from './operation.ts';
import { ListedPet, PetHistory } from './schema.ts';

/** The operations on pets, which read: pets are changed through the public API. */

/** An id in a query. */
export const ID = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

export const listPets = operate('pet.list', 'listPets', 'GET /pets', {
  summary: 'List pets',
  description: 'A page of the pets with their stock, by ascending ids. The filters combine.',
  permission: 'viewer',
  filters: {
    status: byChoice('Only pets in this state', PET_STATUSES, { label: 'Status' }),
    category: byNumber('Only pets of this category', ID, { label: 'Category (id)' }),
  },
  list: {
    noun: ['pet', 'pets'],
    schema: ListedPet,
    columns: [
      { member: 'id', label: 'Id', isNumber: true },
      { member: 'name', label: 'Name' },
      { member: 'status', label: 'Status' },
      { member: 'categoryName', label: 'Category' },
      { member: 'quantity', label: 'Stock', isNumber: true },
    ],
    csv: { columns: ['id', 'name', 'status', 'categoryId', 'categoryName', 'quantity'] },
  },
  async handle({ storage }, { query: { status, category: categoryId }, limit, behind }) {
    const page = { after: behind?.number ?? 0, limit: limit + 1 };
    const { json: rows, last } = pageById(await storage.pets.list({ ...page, status, categoryId }), limit);
    const categories = await Promise.all(rows.map(({ categoryId: id }) => storage.categories.find(id)));
    const stocks = await Promise.all(rows.map(({ id }) => storage.pets.findInventory(id)));
    const json = rows.map((pet, index) => ({
      ...pet,
      categoryName: categories[index]?.name ?? null,
      quantity: stocks[index]?.quantity ?? 0,
    }));
    return { json, last };
  },
});

export const getPet = operate('pet.show', 'getPet', 'GET /pets/{petId}', {
  summary: 'Get a pet and its history',
  description:
    'One pet with its stock: who created and changed it, when, under which request id. Stock that an order takes or returns is in the history of the order.',
  permission: 'viewer',
  parameter: {
    name: 'petId',
    description: 'The id, or the request id or `Idempotency-Key` that made it',
    schema: { type: 'string', example: '1' },
  },
  success: {
    status: 200,
    description: 'The pet',
    schema: PetHistory,
  },
  handle: async (caller, { id }) => ({ json: (await withHistory('pet', caller, id)).json }),
});
