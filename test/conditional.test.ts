import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Order } from '../src/catalog/order.ts';
import { OPERATIONS } from '../src/http/operations.ts';
import { json, testService, UNLIMITED } from './kit/service.ts';

/** Every operation that is read with GET, of something that is made here, apart from the state of the limits. */
const PATHS = OPERATIONS.filter(({ method, free }) => method === 'GET' && !free).flatMap(({ path }) =>
  path.includes('{') ? [path.replace(/\{\w+\}/, '1')] : [path, `${path}?limit=1`, `${path}?limit=1&cursor=after_2`],
);

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue(UNLIMITED);
const send = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
  service.send(secret, method, path, body, headers);
const tagOf = async (path: string) => (await send('GET', path)).headers.get('etag') ?? assert.fail(path);

for (let number = 1; number <= 3; number += 1) {
  await send('POST', '/categories', {}, { name: 'Dog' });
  await send('POST', '/pets', {}, { name: 'Rex', categoryId: 1 });
  await send('PATCH', `/inventory/${number}`, {}, { quantity: 9 });
  await send('POST', '/store/orders', {}, { petId: 1, quantity: 1 });
}

describe('ETag and If-None-Match', () => {
  test('every GET but that of the limits is here, and in the contract', () => {
    assert.equal(PATHS.length, 16);
    for (const { method, id, conditional, free } of OPERATIONS) {
      assert.equal(conditional === true, method === 'GET' && !free, id);
    }
  });

  for (const path of PATHS) {
    test(`GET ${path}: 304 for the tag of the last answer, however it is sent, and 200 for any other`, async () => {
      const first = await send('GET', path);
      const body = await first.text();
      const tag = first.headers.get('etag') ?? '';
      assert.equal(first.status, 200);
      assert.match(tag, /^"[\w-]+"$/, 'a strong validator (RFC 9110, section 8.8.3)');
      assert.equal(first.headers.get('cache-control'), 'private, no-cache');
      assert.equal(first.headers.has('link'), /limit=1$|^\/pets\/1$/.test(path));

      for (const held of [tag, '*', `"x", W/${tag}`]) {
        for (const method of ['GET', 'HEAD']) {
          const same = await send(method, path, { 'if-none-match': held });
          assert.deepEqual([same.status, await same.text()], [304, ''], `${method} ${held}`);
          for (const name of ['etag', 'cache-control', 'link', 'deprecation']) {
            assert.equal(same.headers.get(name), first.headers.get(name), name);
          }
          assert.equal(same.headers.get('content-type'), null);
          assert.notEqual(same.headers.get('x-ratelimit-remaining'), null);
        }
      }
      for (const other of ['"x"', tag.slice(1, -1)]) {
        const fresh = await send('GET', path, { 'if-none-match': other });
        assert.deepEqual([fresh.status, await fresh.text()], [200, body], other);
        assert.equal(fresh.headers.get('etag'), tag);
      }
      const head = await send('HEAD', path);
      assert.deepEqual([head.status, head.headers.get('etag'), await head.text()], [200, tag, '']);
      assert.equal(head.headers.get('content-length'), `${Buffer.byteLength(body)}`);
    });
  }

  test('there is no 304 for what does not exist, nor for what is refused', async () => {
    const any = { 'if-none-match': '*' };
    for (const path of ['/categories/99', '/pets/99', '/store/orders/99', '/inventory/99', '/nowhere']) {
      const { status, headers } = await send('GET', path, any);
      assert.deepEqual([status, headers.get('etag'), headers.get('cache-control')], [404, null, 'no-store'], path);
    }
    assert.equal((await send('GET', '/pets?limit=0', any)).status, 400);
    assert.equal((await service.call('wrong', '/pets', { headers: any })).status, 401);
    const limits = await send('GET', '/rate_limit', any);
    assert.deepEqual([limits.status, limits.headers.get('etag')], [200, null]);
    const update = await send('PATCH', '/pets/1', any, { name: 'Rex' });
    assert.deepEqual([update.status, update.headers.get('etag')], [200, await tagOf('/pets/1')]);
  });

  test('a change gives another tag to what it changed, and to nothing else', async () => {
    const paths = ['/pets', '/pets/1', '/pets?ids=1', '/pets?ids=2', '/inventory', '/inventory/1', '/inventory/2'];
    const tags = async () => Promise.all(paths.map(tagOf));
    const changed = async (method: string, path: string, body: unknown) => {
      const before = await tags();
      assert.equal((await send(method, path, {}, body)).status, 200);
      const after = await tags();
      return paths.filter((_, index) => before[index] !== after[index]);
    };
    assert.deepEqual(await changed('PATCH', '/pets/1', { name: 'Max' }), ['/pets', '/pets/1', '/pets?ids=1']);
    assert.deepEqual(await changed('PATCH', '/pets/1', { name: 'Max' }), []);
    assert.deepEqual(await changed('PATCH', '/inventory/1', { quantity: 7 }), ['/inventory', '/inventory/1']);
    assert.deepEqual(
      await changed('PATCH', '/pets/1', { status: 'sold' }),
      paths.filter((path) => !/2$/.test(path)),
    );
  });

  test('the last page has another tag once there is a page behind it, though it holds the same items', async () => {
    const page = '/pets?limit=3&status=pending';
    const create = () => send('POST', '/pets', {}, { name: 'Rex', categoryId: 1, status: 'pending' });
    for (let number = 0; number < 3; number += 1) await create();
    const last = await send('GET', page);
    const held = { 'if-none-match': last.headers.get('etag') ?? '' };
    assert.equal(last.headers.get('link'), null);
    assert.equal((await send('GET', page, held)).status, 304);
    await create();
    const followed = await send('GET', page, held);
    assert.deepEqual([followed.status, await followed.text()], [200, await last.text()]);
    assert.match(followed.headers.get('link') ?? '', /rel="next"/);
  });

  test('an order has another tag once it is complete', async () => {
    const shipDate = new Date((service.clock.now().unix + 10) * 1000).toISOString();
    const order = await json<Order>(send('POST', '/store/orders', {}, { petId: 2, quantity: 1, shipDate }));
    const held = { 'if-none-match': await tagOf(`/store/orders/${order.id}`) };
    assert.equal((await send('GET', `/store/orders/${order.id}`, held)).status, 304);
    service.clock.advance(10);
    assert.deepEqual(await json(send('GET', `/store/orders/${order.id}`, held)), { ...order, complete: true });
  });

  test('what makes or changes a resource answers with the tag of its GET', async () => {
    for (const [method, path, body, address] of [
      ['POST', '/categories', { name: 'Dög', description: 'x' }, '/categories'],
      ['POST', '/pets', { name: 'Rex', categoryId: 1 }, '/pets'],
      ['POST', '/store/orders', { petId: 3, quantity: 1 }, '/store/orders'],
      ['PATCH', '/pets/2', { name: 'Max' }, '/pets/2'],
      ['PATCH', '/inventory/2', { quantity: 4 }, '/inventory/2'],
    ] as const) {
      const response = await send(method, path, {}, body);
      const { id } = await json<{ id: number }>(response);
      const tag = await tagOf(method === 'POST' ? `${address}/${id}` : address);
      assert.deepEqual(
        [response.headers.get('etag'), response.headers.get('cache-control')],
        [tag, 'private, no-cache'],
        `${method} ${path}`,
      );
    }
  });
});

describe('If-Match', () => {
  const sendIfMatch = (method: string, path: string, tag: string, body?: unknown) =>
    send(method, path, { 'if-match': tag }, body);
  const failure = async (answer: Promise<Response>) => {
    const { status, code, message } = await json<{ status: number; code: string; message: string }>(answer);
    return [status, code, message] as const;
  };

  for (const [path, change, other] of [
    ['/pets/1', { name: 'Bruno' }, { name: 'Luna' }],
    ['/inventory/1', { quantity: 7 }, { quantity: 3 }],
  ] as const) {
    test(`PATCH ${path}: only while the resource is as one of the tags says`, async () => {
      const tag = await tagOf(path);
      for (const [wanted, status] of [
        [`"x", ${tag}`, 200],
        ['*', 200],
        [`W/${tag}`, 200],
        ['"x"', 412],
        ['', 412],
        ['*, "x"', 412],
      ] as const) {
        assert.equal((await sendIfMatch('PATCH', path, wanted, await json(send('GET', path)))).status, status, wanted);
      }
      const changed = await sendIfMatch('PATCH', path, tag, change);
      assert.equal(changed.status, 200);
      const now = changed.headers.get('etag') ?? '';
      const before = await (await send('GET', path)).text();
      assert.deepEqual(await failure(sendIfMatch('PATCH', path, tag, other)), [
        412,
        'precondition_failed',
        `If-Match is ${tag}, but the ETag is now ${now}; get the resource again, then decide anew`,
      ]);
      assert.equal(await (await send('GET', path)).text(), before, 'nothing is changed');
      const [, , message] = await failure(sendIfMatch('PATCH', path, now.slice(1, -1), other));
      assert.match(message, /; send it as it came, quotes included$/);
      assert.equal((await sendIfMatch('PATCH', path, now, other)).status, 200);
      assert.equal((await failure(sendIfMatch('PATCH', path.replace('1', '999'), '"x"', other)))[0], 404);
      assert.equal((await failure(sendIfMatch('PATCH', path, '"x"', {})))[1], 'validation_failed');
    });
  }

  test('a pet is read by ?ids= with its own tag', async () => {
    const tag = await tagOf('/pets/1');
    assert.deepEqual([await tagOf('/pets?ids=1'), await tagOf('/pets?ids=1&ids=1&limit=1')], [tag, tag]);
    assert.notEqual(await tagOf('/pets?ids=1,999'), tag);
    assert.notEqual(await tagOf('/pets?ids=999'), await tagOf('/pets?ids=998,999'));
    assert.equal((await sendIfMatch('PATCH', '/pets/1', await tagOf('/pets?ids=1'), { name: 'Bello' })).status, 200);
    assert.equal((await sendIfMatch('PATCH', '/pets/1', tag, { name: 'Rex' })).status, 412);
  });

  test('of clerks who read the same stock one writes it, and none erases an order that came between', async () => {
    await send('PATCH', '/inventory/1', {}, { quantity: 100 });
    const tag = await tagOf('/inventory/1');
    const order = send('POST', '/store/orders', {}, { petId: 1, quantity: 1 });
    const clerks = Array.from({ length: 10 }, (_, index) =>
      sendIfMatch('PATCH', '/inventory/1', tag, { quantity: 200 + index }),
    );
    const statuses = (await Promise.all(clerks)).map(({ status }) => status);
    assert.equal((await order).status, 201);
    const written = statuses.indexOf(200);
    assert.equal(statuses.filter((status) => status === 412).length, written < 0 ? 10 : 9);
    const { quantity } = await json<{ quantity: number }>(send('GET', '/inventory/1'));
    assert.equal(quantity, written < 0 ? 99 : 199 + written);
  });

  test('DELETE: a stale tag keeps the order; 404 and 409 come first', async () => {
    const place = async (more: object = {}) => {
      const response = await send('POST', '/store/orders', {}, { petId: 1, quantity: 1, ...more });
      return { path: `/store/orders/${(await json<Order>(response)).id}`, tag: response.headers.get('etag') ?? '' };
    };
    const { path, tag } = await place();
    assert.equal((await failure(sendIfMatch('DELETE', path, '"x"')))[1], 'precondition_failed');
    assert.equal((await sendIfMatch('DELETE', path, tag)).status, 204);
    assert.equal((await failure(sendIfMatch('DELETE', path, '"x"')))[1], 'not_found');
    const shipDate = new Date((service.clock.now().unix + 10) * 1_000).toISOString();
    const shipped = await place({ shipDate });
    service.clock.advance(10);
    assert.equal((await failure(sendIfMatch('DELETE', shipped.path, shipped.tag)))[1], 'order_not_cancellable');
  });
});
