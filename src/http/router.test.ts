import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApi } from './gates.ts';
import { OPERATIONS } from './operations.ts';
import type { Exchange } from './transport/exchange.ts';

const api = createApi({ base: '/v1', operations: OPERATIONS, forbid: () => undefined });
const asked = (path: string) => ({ path, request: { url: path, method: 'GET' }, params: {} }) as unknown as Exchange;

test('a parameter has no NUL, which PostgreSQL does not store', () => {
  assert.deepEqual(
    ['/v1/pets/7', '/v1/pets/7%00'].map((path) => api.find(asked(path)).route?.template),
    ['/v1/pets/{petId}', undefined],
  );
});
