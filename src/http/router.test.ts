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

test('an unknown path of thousands of segments is answered within 50 ms', async () => {
  const exchange = asked(`/v1/${'pers/'.repeat(1_600)}`);
  let leastMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5; tries += 1) {
    const before = process.cpuUsage();
    assert.equal((await api.operate(exchange as never, api.find(exchange), {} as never)).status, 404);
    const { user, system } = process.cpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  assert.ok(leastMs < 5, `${leastMs} ms`);
});
