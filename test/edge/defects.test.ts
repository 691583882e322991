import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CategoryList } from '../../src/catalog/category-list.ts';
import { Authenticator } from '../../src/http/authenticate.ts';
import { createApp } from '../../src/http/gates.ts';
import { limitHeaders } from '../../src/http/limit-headers.ts';
import type { Operation } from '../../src/http/operations/operation.ts';
import { openListener } from '../../src/http/transport/listener.ts';
import { LocalLimiter } from '../../src/limits/local-limiter.ts';
import { json, type TestService, testService } from '../kit/service.ts';

test('an operation that throws is a 500 with limit headers, counted and logged with its request id', async () => {
  await using service = await testService();
  await using door = await openDoor(service, () => {
    throw new TypeError('a defect');
  });
  const response = await door.call('/defect', { 'x-request-id': 'the-one' });
  assert.equal(response.status, 500);
  assert.equal(response.headers.get('x-request-id'), 'the-one');
  assert.equal(response.headers.get('x-ratelimit-remaining'), '59');
  const body = await json<{ code: string; message: string }>(response);
  assert.equal(body.code, 'internal_error');
  assert.ok(!body.message.includes('defect'), 'the caller learns nothing of the defect');
  assert.match(String(service.events.failures[0]), /a defect/);
  assert.equal((await door.call('/defect', {})).headers.get('x-ratelimit-remaining'), '58');
});

test('an answer whose head cannot be written is a 500, and the process survives', async () => {
  await using service = await testService();
  let isBroken = true;
  await using door = await openDoor(service, () => {
    if (isBroken) return { status: 200, headers: ['X-Broken', 'a\nb'], body: '{}' };
    return { status: 200, body: '{}' };
  });
  assert.equal((await door.call('/defect', {})).status, 500);
  assert.match(String(service.events.failures.at(-1)), /Invalid character/);
  isBroken = false;
  assert.equal((await door.call('/defect', {})).status, 200);
});

test('a defect after the answer was written adds no second answer', async (t) => {
  await using service = await testService();
  await using door = await openDoor(service, () => ({ status: 200, body: '{}' }));
  t.mock.method(service.events, 'requestAnswered', () => {
    throw new Error('no log');
  });
  const response = await door.call('/defect', {});
  assert.deepEqual([response.status, await response.text()], [200, '{}']);
  assert.deepEqual(service.events.failures.map(String), ['Error: no log']);
});

/** A second listener on a service's keys, with one operation. */
async function openDoor(service: TestService, handle: Operation['handle']) {
  const { storage, clock, events, config } = service;
  const operation: Operation = {
    ...{
      id: 'defect',
      method: 'GET',
      path: '/defect',
      tag: 'test',
      summary: '',
      description: '',
      errors: [],
      handle,
      permission: 'any',
    },
    success: { status: 200, description: '' },
  };
  const limiter = new LocalLimiter({ storage, time: clock, events });
  const serve = createApp({
    operations: [operation],
    pages: new Map(),
    catalog: { storage, categories: new CategoryList(), catchUp: async () => {} },
    authenticator: new Authenticator(storage, { environment: config.environment, time: clock }),
    limiter,
    events,
    prefix: '',
    corsOrigins: [],
  });
  const listener = await openListener(
    serve,
    { time: clock, events, addLimitHeaders: limitHeaders(clock) },
    { host: '127.0.0.1', port: 0 },
  );
  const { secret } = await service.issue();
  return {
    call: (path: string, headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${listener.port}/v1${path}`, {
        headers: { authorization: `Bearer ${secret}`, connection: 'close', ...headers },
      }),
    async [Symbol.asyncDispose]() {
      await listener.stop(1_000);
      await limiter[Symbol.asyncDispose]();
    },
  };
}
