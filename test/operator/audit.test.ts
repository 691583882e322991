import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { commandsOn } from '../kit/process.ts';
import { json, testService } from '../kit/service.ts';

/** “You lost my order”: who made, changed and removed what, at every door. */

test('a lost order is found by its id, its request id and its Idempotency-Key, with who cancelled it', async () => {
  await using place = await openPlace();
  const { service, viewer, console, shown, call, petId } = place;
  const headers = { 'x-request-id': 'req-placed', 'idempotency-key': '"cart 4711/a"' };
  const order = { petId, quantity: 1 };
  const placed = await json<{ id: number }>(call('POST', '/store/orders', order, headers));
  service.clock.advance(60);
  const gone = await call('DELETE', `/store/orders/${placed.id}`, undefined, { 'x-request-id': 'req-gone' });
  assert.equal(gone.status, 204);
  assert.equal((await call('GET', `/store/orders/${placed.id}`)).status, 404);
  const by = { keyId: place.keyId, keyName: 'Web shop', owner: 'cus_42' };
  const createdAt = '2026-01-01T12:00:00Z';
  const expected = {
    id: placed.id,
    ...order,
    complete: false,
    removed: true,
    history: [
      { at: createdAt, action: 'order.place', ...by, requestId: 'req-placed', changes: { before: null, after: order } },
      {
        at: '2026-01-01T12:01:00Z',
        action: 'order.cancel',
        ...by,
        requestId: 'req-gone',
        changes: { before: { ...order, createdAt, createdBy: by.keyId }, after: null },
      },
    ],
  };
  for (const text of [`${placed.id}`, 'req-placed', 'req-gone', 'cart 4711/a']) {
    assert.deepEqual(await json(viewer.send('GET', `/orders/${encodeURIComponent(text)}`)), expected, text);
    assert.deepEqual(await shown('orders', text), expected, text);
    const page = await console.page(`/requests/why?q=${encodeURIComponent(text)}`);
    assert.match(page, new RegExp(`<a href="/console/orders/${placed.id}">order ${placed.id}</a>`), text);
  }
  const page = await console.page(`/orders/${placed.id}`);
  assert.match(page, /<h1>Order 1 <span class="badge">cancelled<\/span><\/h1>/);
  assert.match(page, /order\.cancel<\/div>.*<bdi>Web shop<\/bdi>.*<bdi>cus_42<\/bdi>.*q=req-gone/s);
  const other = await viewer.send('GET', '/pets/req-placed');
  assert.deepEqual([other.status, petId], [404, placed.id], 'a pet with the id of the order');
  for (const query of [`key=${by.keyId}`, 'owner=cus_42', `target=${placed.id}&action=order.cancel`]) {
    const [latest] = await json<Record<string, unknown>[]>(viewer.send('GET', `/audit?${query}`));
    const { actor, via, action, target, requestId } = latest ?? {};
    assert.deepEqual(
      [actor, via, action, target, requestId],
      [by.keyId, 'key', 'order.cancel', `${placed.id}`, 'req-gone'],
    );
    assert.match(await console.page(`/audit?${query}`), /<code>order\.cancel<\/code>.*\/console\/orders\/1"/s);
    assert.match(await (await console.get(`/audit/export?${query}`)).text(), /,key,,order\.cancel,1,req-gone,/);
  }
  assert.deepEqual(await json(viewer.send('GET', '/audit?action=order.cancel')), [], 'operators made none');
  assert.match(await console.page('/owner?owner=cus_42'), /<code>order\.cancel<\/code>/);
  assert.match(await console.page(`/keys/${by.keyId}`), new RegExp(`audit.key=${by.keyId}".*orders.key=${by.keyId}"`));
  const unknown = await viewer.send('GET', '/orders/999');
  const { message } = await json<{ message: string }>(unknown);
  assert.deepEqual([unknown.status, message], [404, 'There is no order 999; a cancelled one is kept for AUDIT_KEPT']);
});

test('a pet has what each request changed, and a category what operators did', async () => {
  await using place = await openPlace();
  const { service, viewer, console, shown, call, petId } = place;
  await call('PATCH', `/pets/${petId}`, { name: 'Max' }, { 'x-request-id': 'req-named' });
  await call('PATCH', `/inventory/${petId}`, { quantity: 7 }, { 'x-request-id': 'req-stocked' });
  const pet = await json<Recorded>(viewer.send('GET', `/pets/${petId}`));
  assert.deepEqual(
    pet.history.slice(2).map(({ requestId, changes }) => [requestId, changes]),
    [
      ['req-named', { before: { name: 'Rex' }, after: { name: 'Max' } }],
      ['req-stocked', { before: { quantity: 5 }, after: { quantity: 7 } }],
    ],
  );
  assert.deepEqual(await shown('pets', `${petId}`), pet);
  assert.match(await console.page(`/pets/${petId}`), /name: <del><bdi>Rex<\/bdi><\/del> <ins><bdi>Max<\/bdi><\/ins>/);

  const { categories } = service.storage;
  const { id } = await json<{ id: number }>(call('POST', '/categories', { name: 'Cat' }));
  const read = await viewer.send('GET', `/categories/${id}`);
  assert.equal(read.headers.get('etag'), (await call('GET', `/categories/${id}`)).headers.get('etag'));
  await categories.rename(id, 'Cats', OPERATOR);
  await categories.rename(id, 'Felines', OPERATOR);
  const created = new RegExp(`<code>category\\.create</code>.*/console/categories/${id}".*<ins><bdi>Cat</bdi>`, 's');
  assert.match(await console.page(`/audit?key=${place.keyId}`), created);
  await categories.delete(id, OPERATOR);
  const category = await json<Recorded>(viewer.send('GET', `/categories/${id}`));
  const [{ requestId, keyName, changes } = {}, renamed] = category.history;
  assert.deepEqual([category.removed, requestId, keyName], [true, null, 'Web shop']);
  assert.deepEqual([changes, renamed?.actor], [{ before: null, after: { name: 'Cat' } }, OPERATOR.actor]);
  assert.deepEqual(await shown('categories', `${id}`), category);
  const page = await console.page(`/categories/${id}`);
  assert.match(page, /<div>category\.create<\/div>.*<bdi>Web shop<\/bdi>.*<ins><bdi>Cat<\/bdi>/);
  assert.doesNotMatch(page, /\/delete"/, 'a deleted one has no actions');
});

interface Recorded {
  readonly removed: boolean;
  readonly history: readonly Record<string, unknown>[];
}

async function openPlace() {
  const service = await testService();
  const command = commandsOn(service);
  const { key, secret } = await service.issue({ name: 'Web shop', owner: 'cus_42', plan: 'business' });
  const call = (method: string, path: string, body?: object, headers = {}) =>
    service.call(secret, path, {
      method,
      ...(body && { body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const { id: categoryId } = await json<{ id: number }>(call('POST', '/categories', { name: 'Dog' }));
  const { id: petId } = await json<{ id: number }>(call('POST', '/pets', { name: 'Rex', categoryId }));
  await call('PATCH', `/inventory/${petId}`, { quantity: 5 });
  const viewer = await apiClient(service, 'viewer');
  const console = await signIn(service, 'viewer');
  const shown = async (group: string, text: string): Promise<unknown> => {
    const { code, stdout, stderr } = await command(`${group} show '${text}' --json`);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const close = () => service[Symbol.asyncDispose]();
  return { service, call, petId, keyId: key.id, viewer, console, shown, [Symbol.asyncDispose]: close };
}
