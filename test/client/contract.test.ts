import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { contractSource, type OpenApi } from '../../client/generate-contract.ts';
import { type Operation, PetCatalog } from '../../client/src/pet-catalog.ts';
import { readContract } from '../kit/contract.ts';

const openapi = readContract<OpenApi>();

test('the types match openapi.json; `npm run contract -w client` rewrites them', () => {
  const committed = readFileSync(new URL('../../client/src/contract.ts', import.meta.url), 'utf8');
  assert.equal(committed, contractSource(openapi));
});

/** Each operation with every parameter that it has. The compiler asks for one that is missing here. */
const CALLS: Record<Operation, (catalog: PetCatalog) => Promise<unknown>> = {
  listCategories: async ({ categories }) => {
    await twice(() => categories.list());
    await categories.list({ limit: 1, cursor: 'after_1' });
  },
  createCategory: ({ categories }) => categories.create({ name: 'Dog' }),
  getCategory: ({ categories }) => twice(() => categories.get(7)),
  listPets: async ({ pets }) => {
    await twice(() => pets.list());
    await pets.list({ ids: [1, 2], status: 'sold', categoryId: 1, limit: 1, cursor: 'after_1' });
  },
  createPet: ({ pets }) => pets.create({ name: 'Rex', categoryId: 1 }),
  getPet: ({ pets }) => twice(() => pets.get(7)),
  updatePet: ({ pets }) => pets.update(7, { name: 'Rex', categoryId: 1, status: 'sold' }, { ifMatch: '"7"' }),
  listOrders: async ({ orders }) => {
    await twice(() => orders.list());
    await orders.list({ petId: 1, limit: 1, cursor: 'after_1' });
  },
  placeOrder: ({ orders }) => orders.place({ petId: 1, quantity: 1 }),
  getOrder: ({ orders }) => twice(() => orders.get(7)),
  cancelOrder: ({ orders }) => orders.cancel(7, { ifMatch: '"7"' }),
  listInventory: async ({ inventory }) => {
    await twice(() => inventory.list());
    await inventory.list({ limit: 1, cursor: 'after_1' });
  },
  getInventory: ({ inventory }) => twice(() => inventory.get(7)),
  updateInventory: ({ inventory }) => inventory.update(7, { quantity: 1 }, { ifMatch: '"7"' }),
  getRateLimit: (catalog) => catalog.rateLimit(),
};

/** The second call knows a response, and asks whether it has changed. */
async function twice(call: () => Promise<unknown>): Promise<void> {
  await call();
  await call();
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly string[];
  readonly hasBody: boolean;
}

test('every operation of the contract is there, and is sent as the contract says', async () => {
  const promised = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters = [], requestBody }]): [string, Sent] => [
      operationId,
      {
        method: method.toUpperCase(),
        path,
        parameters: parameters.map((parameter) => `${parameter.in} ${parameter.name}`.toLowerCase()).sort(),
        hasBody: requestBody !== undefined,
      },
    ]),
  );
  assert.ok(promised.length >= 15);
  const sent = await Promise.all(
    Object.entries(CALLS).map(async ([operation, call]) => [operation, await record(operation, call)]),
  );
  assert.deepEqual(Object.fromEntries(sent), Object.fromEntries(promised));
});

/**
 * What an operation sends, over all of its requests. The service is not asked: this is about what leaves the client.
 */
async function record(operation: string, call: (catalog: PetCatalog) => Promise<unknown>): Promise<Sent> {
  const requests: Request[] = [];
  const told = new Set<string>();
  const catalog = new PetCatalog({
    baseUrl: 'http://127.0.0.1/v1',
    apiKey: 'petcat_test_key',
    fetch: async (input, init) => {
      const request = new Request(input, init);
      requests.push(request);
      const status = { POST: 201, DELETE: 204 }[request.method] ?? 200;
      return new Response(status === 204 ? null : '[]', { status, headers: { etag: '"list"' } });
    },
    onResponse: (event) => told.add(event.operation),
  });
  await call(catalog);
  assert.deepEqual([...told], [operation], 'it names itself wrongly');

  const found = new Set<string>();
  const paths = new Set<string>();
  for (const { url, headers } of requests) {
    const { pathname, searchParams } = new URL(url);
    const id = /\/7$/.test(pathname) ? parameterOf(operation) : undefined;
    paths.add(pathname.replace('/v1', '').replace(/7$/, `{${id}}`));
    if (id) found.add(`path ${id}`.toLowerCase());
    for (const name of searchParams.keys()) found.add(`query ${name}`.toLowerCase());
    for (const name of ['if-none-match', 'if-match', 'idempotency-key'])
      if (headers.has(name)) found.add(`header ${name}`);
    assert.equal(headers.get('authorization'), 'Bearer petcat_test_key');
  }
  assert.equal(paths.size, 1);
  const [{ method, headers } = assert.fail('nothing was sent')] = requests;
  const hasBody = headers.get('content-type') === 'application/json';
  return { method, path: [...paths][0] ?? '', parameters: [...found].sort(), hasBody };
}

function parameterOf(operation: string): string | undefined {
  return Object.values(openapi.paths)
    .flatMap((methods) => Object.values(methods))
    .find(({ operationId }) => operationId === operation)
    ?.parameters?.find((parameter) => parameter.in === 'path')?.name;
}
