import { NewPet, newPet, PET_STATUSES, Pet, PetStatus, PetUpdate, petUpdate } from '../../catalog/pet.ts';
import {
  authorOf,
  changedAnswer,
  changedOf,
  createdAnswer,
  createdOf,
  currentAnswer,
  onceIdOf,
  preconditionOf,
} from './conditional.ts';
import { operation, type Parameter } from './operation.ts';
import { PAGE_ITEMS_MAX, PAGE_PARAMETERS, pageAnswer, pageOf, readPage } from './paging.ts';
import { choiceIn, findById, notFound, readIdParameter, readIdsParameter } from './query.ts';

const PATH = '/pets';
const EXAMPLE = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };
/** The error for the id of a pet that does not exist. */
export const noPet = notFound('pet', 'list the pets to find one');

/** The address of a pet up to its id, which outlasts `getPet`. */
const BY_ID = `${PATH}?ids=`;

/** `getPet` answers 410 from here on (RFC 8594): Thu, 05 Dec 2030 00:00:00 GMT. */
const SUNSET = Date.UTC(2030, 11, 5) / 1000;

const FILTERS: readonly Parameter[] = [
  {
    name: 'ids',
    description: `Only pets with one of these ids, up to ${PAGE_ITEMS_MAX}, with commas or repeated; on one page without \`limit\``,
    schema: { type: 'array', items: Pet.properties.id, minItems: 1, maxItems: PAGE_ITEMS_MAX },
  },
  { name: 'status', description: 'Only pets with this status', schema: PetStatus },
  { name: 'categoryId', description: 'Only pets of this category', schema: Pet.properties.categoryId },
];

export const PET_ID: Parameter = { name: 'petId', description: 'The id of a pet', schema: Pet.properties.id };

export const LIST_PETS = operation('listPets', `GET ${PATH}`, {
  tag: 'pets',
  summary: 'List pets',
  description:
    'One page of the pets that fit every filter, in ascending order of id. The `Link` header names the next page. With one id in `ids`, the `ETag` is that of the pet, for `If-Match`.',
  permission: 'pets:read',
  queryParameters: [...FILTERS, ...PAGE_PARAMETERS],
  success: pageOf(Pet, 'The pets', EXAMPLE),
  conditional: true,
  async handle({ storage }, exchange) {
    const { query } = exchange;
    const ids = readIdsParameter(query, 'ids', PAGE_ITEMS_MAX);
    const { after, limit } = ids ? readPage(query, PAGE_ITEMS_MAX, PAGE_ITEMS_MAX) : readPage(query);
    const status = choiceIn(query, 'status', PET_STATUSES);
    const categoryId = readIdParameter(query, 'categoryId');
    const found = await storage.pets.list({ after, limit: limit + 1, ids, status, categoryId });
    return pageAnswer(exchange, { limit, found, idOf: ({ id }) => id, isOfOne: ids?.length === 1 });
  },
});

export const CREATE_PET = operation('createPet', `POST ${PATH}`, {
  tag: 'pets',
  summary: 'Create a pet',
  description: 'Stores a pet of an existing category. Its stock is 1, or 0 if it is created as sold.',
  permission: 'pets:write',
  body: { schema: NewPet, example: { name: 'Rex', categoryId: 1 } },
  success: createdOf(Pet, EXAMPLE, { description: 'The created pet', location: 'The address of the created pet' }),
  async handle({ storage }, exchange) {
    const created = await storage.pets.insert(newPet(exchange.body), onceIdOf(exchange, exchange.key.id));
    return createdAnswer(BY_ID, created);
  },
});

/** GET /pets/{petId} [published: deprecated, with a sunset date]. */
export const GET_PET = operation('getPet', `GET ${PATH}/{petId}`, {
  tag: 'pets',
  summary: 'Get a pet',
  description: 'One pet by its id. After the sunset the response is 410.',
  permission: 'pets:read',
  deprecation: { since: Date.UTC(2026, 0, 1) / 1000, sunset: SUNSET, successor: `${BY_ID}{petId}` },
  pathParameters: [PET_ID],
  success: { status: 200, description: 'The pet', schema: Pet, example: EXAMPLE },
  conditional: true,
  errors: ['not_found', 'gone'],
  async handle({ storage }, exchange) {
    const pet = await findById(exchange.params.petId, noPet, (id) => storage.pets.find(id));
    return currentAnswer(exchange, JSON.stringify(pet));
  },
});

export const UPDATE_PET = operation('updatePet', `PATCH ${PATH}/{petId}`, {
  tag: 'pets',
  summary: 'Update a pet',
  description:
    'Changes the members that the body has. The stock follows the status: a sold pet has none, and any other at least 1. A `pending` pet is reserved and cannot be ordered.',
  permission: 'pets:write',
  stability: 'beta',
  pathParameters: [PET_ID],
  body: { schema: PetUpdate, example: { name: 'Max' } },
  success: changedOf(Pet, 'The updated pet', { ...EXAMPLE, name: 'Max' }),
  errors: ['not_found', 'precondition_failed'],
  async handle({ storage }, exchange) {
    const update = petUpdate(exchange.body);
    const change = (id: number) =>
      storage.pets.update(id, update, authorOf(exchange), preconditionOf(exchange.request.headers['if-match']));
    return changedAnswer(await findById(exchange.params.petId, noPet, change));
  },
});
