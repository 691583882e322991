import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Category } from '../src/catalog/category.ts';
import { readContract } from './kit/contract.ts';
import { OPERATOR } from './kit/operator.ts';
import { json, testService } from './kit/service.ts';

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'business' });

describe('Idempotency-Key', () => {
  const create = (idempotencyKey: string, body: string, { key = secret, path = '/categories' } = {}) =>
    service.call(key, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body,
    });

  test('a replay brings nothing back: the list keeps what became of the category since', async () => {
    const body = '{"name":"Dog"}';
    const renamed = await json<Category>(create('renamed', body));
    const deleted = await json<Category>(create('deleted', body));
    const { categories } = service.storage;
    await categories.rename(renamed.id, 'Cat', OPERATOR);
    await categories.delete(deleted.id, OPERATOR);
    const list = await json<Category[]>(service.call(secret, '/categories'));
    assert.equal(list.find(({ id }) => id === renamed.id)?.name, 'Cat');
    assert.deepEqual(await json<Category>(create('renamed', body)), renamed);
    assert.deepEqual(await json<Category>(create('deleted', body)), deleted);
    assert.deepEqual(await json<Category[]>(service.call(secret, '/categories')), list);
  });

  test('what is stored is answered as created, even if the list cannot be read then', async (t) => {
    await create('unread', '{"name":"Dog"}');
    const read = t.mock.method(service.storage.categories, 'list', async () => {
      throw new Error('no storage');
    });
    assert.equal((await create('unread', '{"name":"Dog"}')).status, 201);
    assert.ok(read.mock.callCount() > 0);
  });

  test('the same key for another body or path is 422', async () => {
    const { id: categoryId } = await json<Category>(create('of pets', '{"name":"Dog"}'));
    // Valid for both paths, byte for byte.
    const body = JSON.stringify({ name: 'Dog', categoryId });
    await create('two', body);
    for (const other of [
      create('two', body.replace('Dog', 'Cat')),
      create('two', body.replace(':', ': ')),
      create('two', body, { path: '/pets' }),
    ]) {
      const answer = await other;
      assert.deepEqual([answer.status, (await json<{ code: string }>(answer)).code], [422, 'idempotency_key_reused']);
    }
  });

  test('a failure is not stored: the key may be used again', async () => {
    assert.equal((await create('later', '{"name":""}')).status, 400);
    assert.equal((await create('later', '{"name":"Dog"}')).status, 201);
    const { secret: tiny } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 9 } });
    await create('spent', '{"name":"Dog"}', { key: tiny });
    assert.equal((await create('refused', '{"name":"Dog"}', { key: tiny })).status, 429);
    service.clock.advance(60);
    const after = await create('refused', '{"name":"Dog"}', { key: tiny });
    assert.deepEqual([after.status, after.headers.get('idempotency-replayed')], [201, null]);
  });

  test('a key is 1 to 255 printable ASCII characters, and the pattern in the contract says so', async () => {
    const contract = readContract<{
      components: { parameters: { IdempotencyKey: { schema: { pattern: string } } } };
    }>();
    const pattern = new RegExp(contract.components.parameters.IdempotencyKey.schema.pattern, 'u');
    for (const wrong of ['""', 'x'.repeat(256), `"${'y'.repeat(256)}"`, 'é']) {
      assert.equal((await create(wrong, '{"name":"Dog"}')).status, 400);
      assert.doesNotMatch(wrong, pattern);
    }
    for (const right of ['x', 'x'.repeat(255), `"${'y'.repeat(255)}"`, 'with space ~!', 'a"b"']) {
      assert.equal((await create(right, '{"name":"Dog"}')).status, 201);
      assert.match(right, pattern);
    }
  });

  test('a key is kept for a day; then the same request creates again, and its retries replay that', async () => {
    const body = '{"name":"Dog"}';
    const outcome = async (response: Response) => {
      const { id } = await json<Category>(response);
      return { id, isReplay: response.headers.get('idempotency-replayed') === 'true' };
    };
    const first = await outcome(await create('old', body));
    service.clock.advance(86_399);
    assert.deepEqual(await outcome(await create('old', body)), { id: first.id, isReplay: true });
    service.clock.advance(1);
    const second = await outcome(await create('old', body));
    assert.equal(second.isReplay, false);
    assert.ok(second.id > first.id);
    service.clock.advance(86_399);
    assert.deepEqual(await outcome(await create('old', body)), { id: second.id, isReplay: true });
    service.clock.advance(1);
    const other = '{"name":"Cat"}';
    assert.equal((await outcome(await create('old', other))).isReplay, false, 'the day of the second is over');
    assert.equal((await outcome(await create('old', other))).isReplay, true);
    assert.equal((await create('old', body)).status, 422);
  });
});

test('outcomes that are over are deleted every minute, and a failure is told', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] });
  await using service = await testService();
  const failure = new Error('the disk is full');
  service.storage.purgeOutcomes = () => Promise.reject(failure);
  mock.timers.tick(59_999);
  await Promise.resolve();
  assert.deepEqual(service.events.failures, []);
  for (const told of [[failure], [failure, failure]]) {
    mock.timers.tick(told.length === 1 ? 1 : 60_000);
    await Promise.resolve();
    assert.deepEqual(service.events.failures, told);
  }
});
