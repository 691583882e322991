import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi } from './gates.ts';
import type { Operation } from './operations/operation.ts';
import { OPERATIONS } from './operations.ts';
import type { Answer, Exchange } from './transport/exchange.ts';

const apiOf = (operations: readonly Pick<Operation, 'method' | 'path'>[]) =>
  createApi({ base: '/v1', operations: operations as readonly Operation[], forbid: () => undefined });
const { find } = apiOf([
  { method: 'GET', path: '/pets' },
  { method: 'POST', path: '/pets' },
  { method: 'PATCH', path: '/pets/{petId}' },
  { method: 'DELETE', path: '/pets/{petId}/tags/{tag}' },
]);

/** What the router makes of a path. */
function route(path: string, url = path) {
  const exchange = { path, request: { url }, params: {}, route: 'unmatched' } as unknown as Exchange;
  const { route: found } = find(exchange);
  const methods = Object.entries(found?.operations ?? {}).map(([method, operation]) => `${method} ${operation?.path}`);
  return {
    template: found?.template,
    allow: found?.allow,
    methods,
    told: exchange.route,
    params: { ...exchange.params },
  };
}

const NOTHING = { template: undefined, allow: undefined, methods: [], told: 'unmatched', params: {} };

test('a path is one route with all its methods, HEAD beside GET, and OPTIONS', () => {
  assert.deepEqual(route('/v1/pets'), {
    template: '/v1/pets',
    allow: 'GET, HEAD, OPTIONS, POST',
    methods: ['GET /pets', 'POST /pets'],
    told: '/v1/pets',
    params: {},
  });
});

test('a path with parameters is told by its template, and hands over their values, unescaped', () => {
  const template = '/v1/pets/{petId}/tags/{tag}';
  const one = { template: '/v1/pets/{petId}', allow: 'OPTIONS, PATCH', methods: ['PATCH /pets/{petId}'] };
  assert.deepEqual(route('/v1/pets/7'), { ...one, told: one.template, params: { petId: '7' } });
  assert.deepEqual(route('/v1/pets/7/tags/a%20b'), {
    template,
    allow: 'DELETE, OPTIONS',
    methods: ['DELETE /pets/{petId}/tags/{tag}'],
    told: template,
    params: { petId: '7', tag: 'a b' },
  });
  assert.deepEqual(route('/v1/pets/{petId}').params, { petId: '{petId}' });
  const long = '7'.repeat(8_000);
  assert.deepEqual(route(`/v1/pets/${long}`).params, { petId: long });
});

test('there is no route at another address, with an empty parameter, or with a fragment', () => {
  for (const path of ['/v1', '/pets', '/v1/pet', '/v1/pets/', '/v1/pets//tags/a', '/v1/pets/7/tags/', '/v1/pets/7/']) {
    assert.deepEqual(route(path), NOTHING, path);
  }
  for (const path of ['/v1/pets', '/v1/pets/7']) assert.deepEqual(route(path, `${path}#a`), NOTHING);
  assert.deepEqual(route('/v1/pets/7%00'), NOTHING, 'PostgreSQL stores no NUL');
});

test('a path that is not there is told the one that it most probably means', () => {
  for (const [path, near] of [
    ['/orders', '/store/orders'],
    ['/orders/7', '/store/orders/7'],
    ['/pets/7/', '/pets/7'],
    ['/pets/7/orders', '/store/orders'],
    ['/categories/dogs/', '/categories'],
    ['/rate_limits/7', '/rate_limit'],
    ['/store/order', '/store/orders'],
    ['/store/inventory', '/inventory'],
    ['/category', '/categories'],
    ['/categories/', '/categories'],
    ['//pets', '/pets'],
    ['/rate-limit', '/rate_limit'],
    ['/users', undefined],
    ['/', undefined],
  ] as const) {
    const exchange = { path: `/v1${path}`, request: { url: path, headers: {} }, params: {} } as unknown as Exchange;
    const { find, operate } = apiOf(OPERATIONS);
    const advice = near ? `did you mean /v1${near}?` : '/openapi.json lists the paths';
    const { body } = operate(exchange as never, find(exchange), undefined as never) as Answer;
    assert.ok(String(body).includes(`There is nothing at this address; ${advice}"`), path);
  }
});

test('an unknown path of thousands of segments is answered within 50 ms', async () => {
  const api = apiOf(OPERATIONS);
  const path = `/v1/${'pers/'.repeat(1_600)}`;
  const exchange = { path, request: { url: path, method: 'GET' }, params: {} } as unknown as Exchange;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5; tries += 1) {
    const before = process.cpuUsage();
    assert.equal((await api.operate(exchange as never, api.find(exchange), {} as never)).status, 404);
    const { user, system } = process.cpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  assert.ok(leastMs < 5, `${leastMs} ms`);
});
