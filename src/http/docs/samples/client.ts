import { literal } from './literal.ts';
import type { SampleRequest } from './request.ts';

const CALLS: Readonly<Record<string, (request: ClientRequest) => string>> = {
  listCategories: () => 'categories.list()',
  createCategory: ({ body }) => `categories.create(${body})`,
  getCategory: ({ id }) => `categories.get(${id})`,
  listPets: ({ query }) => `pets.list(${query})`,
  createPet: ({ body }) => `pets.create(${body})`,
  getPet: ({ id }) => `pets.get(${id})`,
  updatePet: ({ id, body }) => `pets.update(${id}, ${body})`,
  listOrders: ({ query }) => `orders.list(${query})`,
  placeOrder: ({ body }) => `orders.place(${body})`,
  getOrder: ({ id }) => `orders.get(${id})`,
  cancelOrder: ({ id }) => `orders.cancel(${id})`,
  listInventory: ({ query }) => `inventory.list(${query})`,
  getInventory: ({ id }) => `inventory.get(${id})`,
  updateInventory: ({ id, body }) => `inventory.update(${id}, ${body})`,
  getRateLimit: () => 'rateLimit()',
};

interface ClientRequest {
  readonly id: string;
  readonly query: string;
  readonly body: string;
}

/** The operation called by the TypeScript client; undefined if it has no such call. */
export function clientSample({ baseUrl, url, query, body, hasAnswerBody }: SampleRequest, operationId: string) {
  const call = CALLS[operationId]?.({
    id: url.replace(/^.*\//, ''),
    query: literal(numbers(query)),
    body: literal(body),
  });
  if (call === undefined) return undefined;
  return `import { PetCatalog } from '@pet-catalog/client';

const catalog = new PetCatalog({
  baseUrl: '${baseUrl}',
  apiKey: process.env.PET_CATALOG_KEY,
});
${hasAnswerBody ? `console.log(await catalog.${call});` : `await catalog.${call};`}`;
}

function numbers(query: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  );
}
