import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { readRetryAfter } from '../../client/src/headers.ts';
import { PetCatalog, type PetCatalogOptions } from '../../client/src/pet-catalog.ts';
import { testService } from '../kit/service.ts';

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'business' });

describe('a call of the client', () => {
  /** A client of the service, and the requests that it sends. */
  const recording = (options: Partial<PetCatalogOptions> = {}) => {
    const requests: Request[] = [];
    const send: typeof fetch = (input, init) => {
      requests.push(new Request(input, init));
      return fetch(input, init);
    };
    return { requests, catalog: new PetCatalog({ baseUrl: service.url, apiKey: secret, fetch: send, ...options }) };
  };

  test('gives status, headers, request id and limits with its data, of one request', async () => {
    const { catalog, requests } = recording();
    const made = await catalog.categories.create({ name: 'Dog' }).withResponse();
    assert.deepEqual(made.data, { id: made.data.id, name: 'Dog' });
    assert.equal(made.status, 201);
    assert.equal(made.headers.get('location'), `/v1/categories/${made.data.id}`);
    assert.equal(made.requestId, made.headers.get('x-request-id'));
    assert.deepEqual(made.limits, {
      limit: 1_000,
      remaining: Number(made.headers.get('x-ratelimit-remaining')),
      reset: Number(made.headers.get('x-ratelimit-reset')),
    });
    assert.equal(requests.length, 1);

    const call = catalog.categories.list({ limit: 1 });
    const { data, status } = await call.withResponse();
    assert.equal(await call, data);
    assert.equal(status, 200);
    assert.equal(requests.length, 2);
    assert.equal(call.then(() => {}).constructor, Promise);

    const { id: petId } = await catalog.pets.create({ name: 'Nemo', categoryId: made.data.id });
    const { id } = await catalog.orders.place({ petId, quantity: 1 });
    const cancelled = await catalog.orders.cancel(id).withResponse();
    assert.deepEqual([cancelled.status, cancelled.data], [204, undefined]);
  });

  test('that fails rejects once, with or without its response', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const { catalog } = recording();
      await assert.rejects(catalog.categories.get(99_999).withResponse(), { code: 'not_found' });
      await assert.rejects(catalog.categories.get(99_999), { code: 'not_found' });
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('unhandledRejection', note);
    }
    assert.deepEqual(unhandled, []);
  });
});

test('Retry-After is whole seconds, or a date in one of its three forms, whatever the time zone', () => {
  const { TZ } = process.env;
  process.env.TZ = 'America/New_York';
  const now = Date.parse('Sun, 06 Nov 1994 08:49:17.300 GMT');
  for (const [value, seconds] of [
    ['20', 20],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 20],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 20],
    ['Sun Nov  6 08:49:37 1994', 20],
    ['9999999999999999', 2 ** 31],
    ['Sun, 06 Nov 1994 08:49:17 GMT', undefined],
    ['0', undefined],
    ['0x10', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['', undefined],
    ['soon', undefined],
    ['1994-11-06', undefined],
  ] as const)
    assert.equal(readRetryAfter(new Headers({ 'retry-after': value }), now), seconds, value);
  const byResponse = { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT', date: 'Sun, 06 Nov 1994 08:49:07 GMT' };
  assert.equal(readRetryAfter(new Headers(byResponse), now - 86_400_000), 30, 'by the date of the response');
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});
