import { CatalogError } from '../../catalog/error.ts';
import { NewPet, newPet, PET_STATUSES, Pet, PetStatus, PetUpdate, petUpdate } from '../../catalog/pet.ts';
import { quote } from '../../catalog/validate.ts';
import { currentAnswer } from './conditional.ts';
import { createdAnswer, originOf } from './idempotency.ts';
import type { Operation, Parameter } from './operation.ts';
import {
  PAGE_ITEMS_MAX,
  PAGE_PARAMETERS,
  pageAnswer,
  readId,
  readIdParameter,
  readIdsParameter,
  readPage,
  readParameter,
} from './paging.ts';

const PATH = '/pets';
const EXAMPLE = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };

/** What stands before the id in the address of a pet, which outlasts `getPet`. */
const BY_ID = `${PATH}?ids=`;

/** `getPet` answers 410 from here on (RFC 8594): Thu, 05 Dec 2030 00:00:00 GMT. */
const SUNSET = Date.UTC(2030, 11, 5) / 1000;

const FILTERS: readonly Parameter[] = [
  {
    name: 'ids',
    description: `Only pets with one of these ids, at most ${PAGE_ITEMS_MAX}, separated by commas; on one page unless \`limit\` is given`,
    schema: { type: 'array', items: Pet.properties.id, minItems: 1, maxItems: PAGE_ITEMS_MAX },
  },
  { name: 'status', description: 'Only pets with this status', schema: PetStatus },
  { name: 'categoryId', description: 'Only pets of this category', schema: Pet.properties.categoryId },
];

/** The path parameter that names a pet. */
export const PET_ID: Parameter = { name: 'petId', description: 'The id of a pet', schema: Pet.properties.id };

/** GET /pets. */
export const listPets: Operation = {
  id: 'listPets',
  method: 'GET',
  path: PATH,
  tag: 'pets',
  summary: 'List pets',
  description:
    'One page of the pets that fit every filter, in ascending order of id. The `Link` header names the next page.',
  scope: 'pets:read',
  queryParameters: [...FILTERS, ...PAGE_PARAMETERS],
  success: {
    status: 200,
    description: 'The pets',
    schema: { type: 'array', items: Pet },
    example: [EXAMPLE],
    headers: { Link: 'The next page; absent on the last' },
  },
  conditional: true,
  errors: ['validation_failed'],
  async handle({ storage }, exchange) {
    const { query } = exchange;
    const ids = readIdsParameter(query, 'ids', PAGE_ITEMS_MAX);
    const { after, limit } = ids ? readPage(query, PAGE_ITEMS_MAX, PAGE_ITEMS_MAX) : readPage(query);
    const status = readStatus(readParameter(query, 'status'));
    const categoryId = readIdParameter(query, 'categoryId');
    const found = await storage.pets.list({ after, limit: limit + 1, ids, status, categoryId });
    return pageAnswer(exchange, { path: PATH, limit, found, idOf: ({ id }) => id, filters: FILTERS });
  },
};

/** POST /pets. */
export const createPet: Operation = {
  id: 'createPet',
  method: 'POST',
  path: PATH,
  tag: 'pets',
  summary: 'Create a pet',
  description: 'Stores a pet of an existing category. Its stock is 1, or 0 if it is created as sold.',
  scope: 'pets:write',
  body: { schema: NewPet, example: { name: 'Rex', categoryId: 1 } },
  success: {
    status: 201,
    description: 'The created pet',
    schema: Pet,
    example: EXAMPLE,
    headers: { Location: 'The address of the created pet' },
  },
  errors: [],
  async handle({ storage }, exchange) {
    return createdAnswer(BY_ID, await storage.pets.insert(newPet(exchange.body), originOf(exchange)));
  },
};

/** GET /pets/{petId} [published: deprecated, with a sunset date]. */
export const getPet: Operation = {
  id: 'getPet',
  method: 'GET',
  path: `${PATH}/{petId}`,
  tag: 'pets',
  summary: 'Get a pet',
  description: 'One pet by its id. After the sunset the response is 410.',
  scope: 'pets:read',
  deprecation: { since: Date.UTC(2026, 0, 1) / 1000, sunset: SUNSET, successor: `${BY_ID}{petId}` },
  pathParameters: [PET_ID],
  success: { status: 200, description: 'The pet', schema: Pet, example: EXAMPLE },
  conditional: true,
  errors: ['not_found', 'gone'],
  async handle({ storage }, exchange) {
    if (exchange.decision.now >= SUNSET)
      throw new CatalogError('gone', `getPet has been removed; list the pet instead, at /v1${BY_ID} and its id`);
    const { petId } = exchange.params;
    const id = readId(petId);
    const pet = id === undefined ? undefined : await storage.pets.find(id);
    if (!pet) throw noPet(petId);
    return currentAnswer(exchange, JSON.stringify(pet));
  },
};

/** PATCH /pets/{petId}. */
export const updatePet: Operation = {
  id: 'updatePet',
  method: 'PATCH',
  path: `${PATH}/{petId}`,
  tag: 'pets',
  summary: 'Update a pet',
  description:
    'Changes the members that the body has. The stock follows the status: a sold pet has none, and any other at least 1.',
  scope: 'pets:write',
  stability: 'experimental',
  pathParameters: [PET_ID],
  body: { schema: PetUpdate, example: { status: 'pending' } },
  success: { status: 200, description: 'The updated pet', schema: Pet, example: { ...EXAMPLE, status: 'pending' } },
  errors: ['not_found'],
  async handle({ storage }, { params, body }) {
    const update = petUpdate(body);
    const id = readId(params.petId);
    const pet = id === undefined ? undefined : await storage.pets.update(id, update);
    if (!pet) throw noPet(params.petId);
    return { status: 200, body: JSON.stringify(pet) };
  },
};

/** The error for a path that names no pet. */
export function noPet(id: string | undefined): CatalogError {
  return new CatalogError('not_found', `There is no pet ${quote(id)}`);
}

function readStatus(text: string | null): PetStatus | undefined {
  if (text === null) return undefined;
  const status = PET_STATUSES.find((known) => known === text);
  if (status) return status;
  throw new CatalogError('validation_failed', `status is ${quote(text)}; send one of ${PET_STATUSES.join(', ')}`);
}
