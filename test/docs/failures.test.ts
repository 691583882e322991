import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../src/catalog/error.ts';
import { ERROR_GUIDE } from '../../src/http/docs/error-guide.ts';
import { publicApi } from '../../src/http/docs/openapi.ts';
import { OPERATIONS } from '../../src/http/operations.ts';
import { manualClock } from '../kit/clock.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The errors that the reference lists for each operation, and what the page of errors says of them. */

const BODY_BYTES_MAX = 262_144;
/** When `getPet` is gone. */
const AFTER_SUNSET = Date.UTC(2031, 0, 1) / 1_000;
const STALE = '"6mMG0HdrIB5a"';

type Provoke = (shop: Shop) => Promise<Response>;

/** A query or a body that does not fit its schema, for each operation that has either. */
const INVALID: Readonly<Record<string, string | object>> = {
  listCategories: '?limit=5000',
  createCategory: {},
  listPets: '?category=1',
  createPet: { name: 'Rex', categoryId: 99 },
  updatePet: { status: 'lost' },
  listOrders: '?petId=Rex',
  placeOrder: { petId: 1, quantity: 0 },
  listInventory: '?limit=500',
  updateInventory: { quantity: -1 },
};

/** What needs a shop of its own, which it changes. */
const PARTICULAR: Readonly<Record<string, Provoke>> = {
  'createCategory catalog_full': usually('createCategory', 'catalog_full'),
  'getPet gone': usually('getPet', 'gone'),
  'placeOrder insufficient_stock': (shop) => send(shop, 'placeOrder', { body: '{"petId":1,"quantity":5}' }),
  'cancelOrder order_not_cancellable': async (shop) => {
    const body = '{"petId":1,"quantity":1,"shipDate":"2026-01-01T13:00:00Z"}';
    assert.equal((await send(shop, 'placeOrder', { body })).status, 201);
    shop.service.clock.advance(3_601);
    return send(shop, 'cancelOrder', {});
  },
  'cancelOrder precondition_failed': async (shop) => {
    assert.equal((await send(shop, 'placeOrder', { body: '{"petId":1,"quantity":1}' })).status, 201);
    return usually('cancelOrder', 'precondition_failed')(shop);
  },
  'placeOrder idempotency_key_reused': usually('placeOrder', 'idempotency_key_reused'),
};

interface Shop extends AsyncDisposable {
  readonly service: TestService;
  readonly secret: string;
}

/** A service with a category and a pet, of which there is one, and as a failure needs it. */
async function shop(failure?: string): Promise<Shop> {
  const settings = failure === 'catalog_full' ? { CATEGORIES_MAX: '1' } : {};
  const service = await testService(settings, manualClock(failure === 'gone' ? AFTER_SUNSET : undefined));
  const { secret } = await service.issue({ plan: 'business' });
  const opened = { service, secret, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
  for (const [first, body] of [
    ['createCategory', '{"name":"Dog"}'],
    ['createPet', '{"name":"Rex","categoryId":1}'],
  ] as const) {
    assert.equal((await send(opened, first, { body })).status, 201);
  }
  return opened;
}

test('every operation responds with each of its errors, one of them with the message of the page of errors', async () => {
  const real = new Map<string, string[]>();
  await using usual = await shop();
  for (const { id, errors } of publicApi(OPERATIONS, []).operations) {
    for (const { code, status } of errors) {
      const provoke = PARTICULAR[`${id} ${code}`];
      await using own = provoke && (await shop(code));
      const response = await (provoke ?? usually(id, code))(own ?? usual);
      const { message, ...body } = (await response.json()) as { message: string };
      assert.deepEqual([response.status, body], [status, { code, status }], id);
      real.set(code, [...(real.get(code) ?? []), message]);
    }
  }
  for (const [code, messages] of real) {
    // Its number is a setting, which is 1 where it is provoked.
    if (code !== 'catalog_full') assert.ok(messages.includes(ERROR_GUIDE[code as ErrorCode].message ?? ''), code);
  }
});

test('the page of errors has the messages of what all operations share', async () => {
  await using service = await testService({}, manualClock());
  const { secret } = await service.issue();
  const other = await service.issue({ scopes: ['categories:read'] });
  const provoked: Record<string, () => Promise<Response>> = {
    missing_api_key: () => fetch(`${service.url}/pets`),
    invalid_api_key: () => service.call(secret.replace(/.$/, '_'), '/pets'),
    insufficient_scope: () => service.call(other.secret, '/pets'),
    method_not_allowed: () => service.call(secret, '/pets', { method: 'PUT' }),
    uri_too_long: () => service.call(secret, `/pets?x=${'x'.repeat(8_192)}`),
    headers_too_large: () => service.call(secret, '/pets', { headers: { cookie: 'x'.repeat(17_000) } }),
    rate_limit_exceeded: async () => {
      for (let sent = 0; sent < 60; sent += 1) await service.call(secret, '/pets');
      return service.call(secret, '/pets');
    },
    key_banned: async () => {
      service.clock.advance(3);
      for (let sent = 0; sent < 60; sent += 1) await service.call(secret, '/pets');
      return service.call(secret, '/pets');
    },
  };
  for (const [code, provoke] of Object.entries(provoked)) {
    const { message } = (await (await provoke()).json()) as { message: string };
    assert.equal(ERROR_GUIDE[code as ErrorCode].message, message);
  }
});

/** The request that provokes a failure which several operations have. */
function usually(id: string, code: string): Provoke {
  const invalid = INVALID[id];
  const requests: Readonly<Record<string, Sent>> = {
    invalid_json: { body: '{"name":"Rex"' },
    validation_failed: typeof invalid === 'string' ? { query: invalid } : { body: JSON.stringify(invalid) },
    not_found: { resource: 99, body: exampleBody(id) },
    gone: {},
    catalog_full: { body: exampleBody(id) },
    precondition_failed: { body: exampleBody(id), headers: { 'if-match': STALE } },
    payload_too_large: { body: ' '.repeat(BODY_BYTES_MAX + 1) },
    unsupported_media_type: { body: 'name=Rex', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    idempotency_key_reused: { body: `${exampleBody(id)} `, headers: { 'idempotency-key': `${id}-1` } },
  };
  const request = requests[code];
  assert.ok(request, `${id} ${code} is provoked by nothing here`);
  return async (shop) => {
    if (code === 'idempotency_key_reused') await send(shop, id, { ...request, body: exampleBody(id) });
    return send(shop, id, request);
  };
}

interface Sent {
  readonly query?: string;
  /** The id in the path; default: 1. */
  readonly resource?: number;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function send({ service, secret }: Shop, id: string, { query = '', resource = 1, body, headers }: Sent) {
  const { method, path } = OPERATIONS.find((operation) => operation.id === id) ?? assert.fail(id);
  return service.call(secret, path.replace(/\{\w+\}/, `${resource}`) + query, {
    method,
    ...(body !== undefined && { body, headers: { 'content-type': 'application/json', ...headers } }),
    ...(body === undefined && headers && { headers }),
  });
}

function exampleBody(id: string): string | undefined {
  const example: unknown = OPERATIONS.find((operation) => operation.id === id)?.body?.example;
  return example === undefined ? undefined : JSON.stringify(example);
}
