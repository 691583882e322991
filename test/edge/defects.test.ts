import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LIST_PETS } from '../../src/http/operations/pets.ts';
import type { Answer } from '../../src/http/transport/exchange.ts';
import { json, testService } from '../kit/service.ts';

test('an operation that throws is a 500 with limit headers, counted and logged with its request id', async (t) => {
  await using at = await defective(t, () => {
    throw new TypeError('a defect');
  });
  const response = await at.call({ 'x-request-id': 'the-one' });
  assert.equal(response.status, 500);
  assert.equal(response.headers.get('x-request-id'), 'the-one');
  assert.equal(response.headers.get('x-ratelimit-remaining'), '59');
  const body = await json<{ code: string; message: string }>(response);
  assert.equal(body.code, 'internal_error');
  assert.ok(!body.message.includes('defect'), 'the caller learns nothing of the defect');
  assert.match(String(at.failures[0]), /a defect/);
  assert.equal((await at.call()).headers.get('x-ratelimit-remaining'), '58');
});

test('an answer whose head cannot be written is a 500, and the process survives', async (t) => {
  let isBroken = true;
  await using at = await defective(t, () => {
    if (isBroken) return { status: 200, headers: ['X-Broken', 'a\nb'], body: '{}' };
    return { status: 200, body: '{}' };
  });
  assert.equal((await at.call()).status, 500);
  assert.match(String(at.failures.at(-1)), /Invalid character/);
  isBroken = false;
  assert.equal((await at.call()).status, 200);
});

test('a defect after the answer was written adds no second answer', async (t) => {
  await using at = await defective(t, () => ({ status: 200, body: '{}' }));
  t.mock.method(at.events, 'requestAnswered', () => {
    throw new Error('no log');
  });
  const response = await at.call();
  assert.deepEqual([response.status, await response.text()], [200, '{}']);
  assert.deepEqual(at.failures.map(String), ['Error: no log']);
});

/** A service whose list of pets answers as it is told. */
async function defective(t: TestContext, answer: () => Answer) {
  const service = await testService();
  const { secret } = await service.issue();
  t.mock.method(LIST_PETS, 'handle', answer);
  return {
    events: service.events,
    failures: service.events.failures,
    call: (headers: Record<string, string> = {}) => service.call(secret, '/pets', { headers }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
