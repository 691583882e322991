import { PET_STATUSES, type StockedPet } from '../../catalog/pet.ts';
import { BY_MAKER, MAKER, makerColumns, newestPage, withHistory } from './catalog.ts';
import { byChoice, byNumber } from './filters.ts';
import { operate } from './operation.ts';
import { ListedPet, PetHistory } from './schema.ts';

/** The operations on pets, which read: pets are changed through the public API. */

/** An id in a query. */
export const ID = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

export const listPets = operate('pet.list', 'listPets', 'GET /pets', {
  summary: 'List pets',
  description: 'A page of the pets with their stock, newest first. The filters combine.',
  permission: 'viewer',
  filters: {
    status: byChoice('Only pets in this state', PET_STATUSES, { label: 'Status' }),
    category: byNumber('Only pets of this category', ID, { label: 'Category (id)' }),
    ...BY_MAKER,
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
      ...makerColumns('Created'),
    ],
    csv: { columns: ['id', 'name', 'status', 'categoryId', 'categoryName', 'quantity', ...MAKER] },
  },
  async handle(caller, call) {
    const { storage } = caller;
    const { status, category } = call.query;
    const { rows, last } = await newestPage<StockedPet>(
      caller,
      call,
      (query) => storage.pets.newest(query),
      (pet) => pet.status === (status ?? pet.status) && pet.categoryId === (category ?? pet.categoryId),
    );
    const categories = await Promise.all(rows.map(({ categoryId }) => storage.categories.find(categoryId)));
    return { json: rows.map((pet, index) => ({ ...pet, categoryName: categories[index]?.name ?? null })), last };
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
  success: { status: 200, description: 'The pet', schema: PetHistory },
  handle: async (caller, { id }) => ({ json: (await withHistory('pet', caller, id)).json }),
});
