import { CatalogError } from '../../catalog/error.ts';
import { NewPet, newPet, PET_STATUSES, Pet, PetStatus } from '../../catalog/pet.ts';
import { quote } from '../../catalog/validate.ts';
import { createdAnswer, originOf } from './idempotency.ts';
import type { Operation } from './operation.ts';
import { PAGE_PARAMETERS, pageAnswer, readId, readPage, readParameter } from './paging.ts';

const PATH = '/pets';
const EXAMPLE = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };

/** `getPet` answers 410 from here on (RFC 8594): Thu, 05 Dec 2030 00:00:00 GMT. */
const SUNSET = Date.UTC(2030, 11, 5) / 1000;

/** GET /pets. */
export const listPets: Operation = {
  id: 'listPets',
  method: 'GET',
  path: PATH,
  tag: 'pets',
  summary: 'List pets',
  description: 'One page of the pets, in ascending order of id. The `Link` header names the next page.',
  scope: 'pets:read',
  queryParameters: [
    ...PAGE_PARAMETERS,
    { name: 'status', description: 'Only pets with this status', schema: PetStatus },
  ],
  success: {
    status: 200,
    description: 'The pets',
    schema: { type: 'array', items: Pet },
    example: [EXAMPLE],
    headers: { Link: 'The next page; absent on the last' },
  },
  errors: ['validation_failed'],
  async handle({ storage }, { query }) {
    const page = readPage(query);
    const status = readStatus(readParameter(query, 'status'));
    const found = await storage.pets.list({ after: page.after, limit: page.limit + 1, ...(status && { status }) });
    return pageAnswer(PATH, page, { found, idOf: ({ id }) => id, ...(status && { filter: { status } }) });
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
    return createdAnswer(PATH, await storage.pets.insert(newPet(exchange.body), originOf(exchange)));
  },
};

/** GET /pets/{petId} [published: deprecated, with a sunset date]. */
export const getPet: Operation = {
  id: 'getPet',
  method: 'GET',
  path: `${PATH}/{petId}`,
  tag: 'pets',
  summary: 'Get a pet',
  description: 'One pet by its id. Deprecated: list the pets instead. After the sunset the response is 410.',
  scope: 'pets:read',
  deprecation: { since: Date.UTC(2026, 0, 1) / 1000, sunset: SUNSET, successor: PATH },
  pathParameters: [{ name: 'petId', description: 'The id of a pet', schema: Pet.properties.id }],
  success: { status: 200, description: 'The pet', schema: Pet, example: EXAMPLE },
  errors: ['not_found', 'gone'],
  async handle({ storage }, { params, decision }) {
    if (decision.now >= SUNSET)
      throw new CatalogError('gone', 'getPet has been removed; list the pets instead, at /v1/pets');
    const id = readId(params.petId);
    const pet = id === undefined ? undefined : await storage.pets.find(id);
    if (!pet) throw new CatalogError('not_found', `There is no pet ${quote(params.petId)}`);
    return { status: 200, body: JSON.stringify(pet) };
  },
};

function readStatus(text: string | null): PetStatus | undefined {
  if (text === null) return undefined;
  const status = PET_STATUSES.find((known) => known === text);
  if (status) return status;
  throw new CatalogError('validation_failed', `status is ${quote(text)}; send one of ${PET_STATUSES.join(', ')}`);
}
