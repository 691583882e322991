import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, describe, type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import manifest from '../../client/package.json' with { type: 'json' };
import {
  ApiError,
  ConnectionError,
  type DeprecationEvent,
  PetCatalog,
  PetCatalogError,
  type PetCatalogOptions,
  type ResponseEvent,
  type RetryEvent,
} from '../../client/src/pet-catalog.ts';
import { noWaits } from '../kit/client/bench.ts';
import { freePort } from '../kit/deploy/port.ts';
import { testService } from '../kit/service.ts';

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'business' });

describe('the client', () => {
  const client = (options: Partial<PetCatalogOptions> = {}) =>
    new PetCatalog({ baseUrl: service.url, apiKey: secret, ...options });

  /** Answers of its own in front of those of the service; each request is counted. */
  const answering = (...answers: (Response | Error)[]) => {
    const requests: Request[] = [];
    const send: typeof fetch = async (input, init) => {
      requests.push(new Request(input, init));
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer ?? fetch(input, init);
    };
    return { requests, fetch: send };
  };

  const unavailable = (headers: Record<string, string> = {}) =>
    Response.json({ code: 'unavailable', message: 'Busy', status: 503 }, { status: 503, headers });

  test('takes nothing but the cursor from the link to the next page', async () => {
    const link =
      '<https://elsewhere.example/a,b?x=1>; title="; rel=next, \\" no"; rel="prev", </x?cursor=after_5&limit=2>; REL=prev, ' +
      '</x?cursor=after_6>; rel="next-archive", ' +
      '<https://elsewhere.example/v1/pets?cursor=after_9>;foo; rel="last next"';
    const { requests, fetch } = answering(Response.json([], { headers: { link } }));
    const page = await client({ fetch }).pets.list();
    assert.equal(page.next, 'after_9');
    await client({ fetch }).pets.list({ cursor: page.next });
    assert.ok(requests.every(({ url }) => url.startsWith(service.url)));
  });

  test('asks only whether the list has changed, and each caller has a list of its own', async () => {
    const statuses: number[] = [];
    const { requests, fetch } = answering();
    const catalog = client({ fetch, onResponse: ({ status }) => statuses.push(status) });
    await catalog.categories.create({ name: 'Old' });
    const first = await catalog.categories.list();
    const before = first.length;
    first.length = 0;
    assert.equal((await catalog.categories.list({ limit: 1 })).length, 1);
    await catalog.pets.list();
    const second = await catalog.categories.list();
    const { id } = await catalog.categories.create({ name: 'New' });
    const third = await catalog.categories.list();
    assert.deepEqual(statuses, [201, 200, 200, 200, 304, 201, 200]);
    const asked = requests.map(({ headers }) => headers.has('if-none-match'));
    assert.deepEqual(asked, [false, false, false, false, true, false, true], 'about that list alone');
    assert.deepEqual([second.length, second.at(-1)?.id, third.at(-1)?.id], [before, id - 1, id]);
  });

  test('caches the last answer of each operation, with the cursor of the next page', async () => {
    const statuses: number[] = [];
    const catalog = client({ onResponse: ({ status }) => statuses.push(status), onDeprecation: () => {} });
    const { id: categoryId } = await catalog.categories.create({ name: 'Cow' });
    const pets = [];
    for (let made = 0; made < 21; made += 1) pets.push(await catalog.pets.create({ name: 'Berta', categoryId }));
    statuses.length = 0;
    const first = await catalog.pets.list();
    await catalog.categories.list();
    await catalog.inventory.list();
    const again = await catalog.pets.list();
    assert.ok(first.next);
    assert.deepEqual([[...again], again.next], [[...first], first.next]);
    await catalog.categories.list();
    await catalog.pets.list({ ids: pets.map(({ id }) => id) });
    await catalog.pets.list();
    assert.deepEqual(statuses, [200, 200, 200, 304, 304, 200, 304]);
  });

  test('sends nothing for an id that is no whole number from 1', async () => {
    const { requests, fetch } = answering();
    const { categories, pets, orders, inventory } = client({ fetch });
    for (const wrong of [undefined, null, '1', '../rate_limit', 0, -1, 1.5, Number.NaN, 2 ** 53, {}]) {
      const id = wrong as number;
      const calls = [
        () => categories.get(id),
        () => pets.get(id),
        () => pets.update(id, { name: 'x' }),
        () => orders.get(id),
        () => orders.cancel(id),
        () => inventory.get(id),
        () => inventory.update(id, { quantity: 1 }),
      ];
      const shown = typeof wrong === 'number' || wrong === null ? `${wrong}` : `of type ${typeof wrong}`;
      for (const call of calls) {
        await assert.rejects(call, {
          name: 'TypeError',
          message: new RegExp(`^\\w+: the id is ${shown}; pass a whole number from 1$`),
        });
      }
    }
    assert.deepEqual(requests, []);
  });

  test('an option that is missing, unknown or malformed is named, and no text of it is quoted', async () => {
    const key = 'petcat_test_secret';
    for (const [options, message] of [
      [undefined, /^apiKey is missing|^baseUrl is missing/],
      [{ baseUrl: undefined }, /^baseUrl is missing: pass it, or set PET_CATALOG_URL$/],
      [{ baseUrl: '127.0.0.1:8080/v1' }, /^baseUrl must begin with http/],
      [{ baseUrl: 'localhost:8080/v1' }, /^baseUrl must begin with http/],
      [{ baseUrl: 'ftp://h/v1' }, /^baseUrl must begin with http/],
      [{ baseUrl: `http://u:${key}@h/v1` }, /^baseUrl must have no user or password/],
      [{ baseUrl: `http://:${key}@h/v1` }, /^baseUrl must have no user or password/],
      [{ baseUrl: `http://${key}@h/v1` }, /^baseUrl must have no user or password/],
      [{ baseUrl: `http://h/v1?key=${key}` }, /^baseUrl must have neither a query nor a fragment$/],
      [{ baseUrl: 'http://h/v1#a' }, /^baseUrl must have neither a query nor a fragment$/],
      [{ baseUrl: 'http://h/v2' }, /^baseUrl must end in \/v1: http:\/\/h\/v2$/],
      [{ baseUrl: 'http://h/v1/v1/' }, /^baseUrl ends in \/v1 twice: http:\/\/h\/v1\/v1$/],
      [{ apiKey: `${key}\n` }, /^apiKey is empty, or has blank or non-ASCII characters$/],
      [{ timeoutMS: 1 }, /^timeoutMS is no option; there are baseUrl, apiKey, timeoutMs, /],
      [{ toString: 1 }, /^toString is no option/],
      [{ timeoutMs: Number.NaN }, /^timeoutMs is NaN; pass a number from 0$/],
      [{ maxRetries: -1 }, /^maxRetries is -1; pass a number from 0$/],
      [{ attemptTimeoutMs: '5' }, /^attemptTimeoutMs is of type string; pass a number from 0$/],
      [{ pace: 1 }, /^pace is 1; pass a boolean$/],
      [{ onResponse: 'log' }, /^onResponse is of type string; pass a function$/],
      [{ clock: null }, /^clock is null; pass an object$/],
      [{ apiKey: { key } }, /^apiKey is of type object; pass a string$/],
    ] as const) {
      const sent = options && { baseUrl: 'http://h/v1', apiKey: key, ...(options as object) };
      const create = () => new PetCatalog(sent as PetCatalogOptions);
      assert.throws(create, (error: Error) => {
        assert.equal(error.name, 'TypeError');
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, new RegExp(key));
        return true;
      });
    }
    const { requests, fetch } = answering();
    const options = { idempotencykey: 'mine' } as object;
    await assert.rejects(client({ fetch }).categories.create({ name: 'x' }, options), {
      name: 'TypeError',
      message: /^idempotencykey is no option; there are signal, timeoutMs, maxRetries, headers, idempotencyKey$/,
    });
    await assert.rejects(client({ fetch }).pets.list({}, { timeoutMs: Number.NaN }), TypeError);
    assert.deepEqual(requests, []);
  });

  test('a misplaced option, or what cannot be sent, is a TypeError of the caller, and nothing is sent', async () => {
    const { requests, fetch } = answering();
    const { categories, pets, orders, request } = Object.assign(client({ fetch }), {
      request: (body: object, options: object) => client({ fetch }).request('POST', '/x', { body, ...options }),
    });
    for (const [call, message] of [
      [() => pets.create({ name: 'x', categoryId: 1 }, { ifMatch: '"x"' } as object), /^ifMatch is no option; /],
      [() => pets.update(1, { name: 'x' }, { idempotencyKey: 'k' } as object), /^idempotencyKey is no option; /],
      [() => pets.list({}, { ifMatch: '"x"' } as object), /^ifMatch is no option; /],
      [() => request({}, { ifMatch: '"x"' }), /^ifMatch is no option; /],
      [() => request({ idempotencyKey: 'k' }, {}), /^idempotencyKey is an option; pass it in the argument after the b/],
      [
        () => categories.create({ name: 'x', idempotencyKey: 'k' } as never),
        /^idempotencyKey is an option; pass it in the argument after the body$/,
      ],
      [
        () => pets.list({ ifMatch: '"x"' } as object),
        /^ifMatch is an option; pass it in the argument after the query$/,
      ],
      [() => pets.list(null as never), /^the query is null; pass an object$/],
      [() => pets.list('sold' as never), /^the query is of type string; pass an object$/],
      [() => pets.list([1] as never), /^the query is an array; pass an object$/],
      [() => orders.place(undefined as never), /^the body is of type undefined; pass an object$/],
      [() => categories.create('Dog' as never), /^the body is of type string; pass an object$/],
      [() => pets.list({ limit: Number.NaN }), /^listPets: limit is NaN, which cannot be sent$/],
      [() => pets.list({ ids: [1, undefined as never] }), /^listPets: ids is of type undefined, which cannot be sent$/],
      [() => pets.list({ status: null as never }), /^listPets: status is null, which cannot be sent$/],
      ...['a\nb', '', ' k', 'k ', 'k'.repeat(256)].map((idempotencyKey) => {
        return [() => categories.create({ name: 'x' }, { idempotencyKey }), /^createCategory: pass 1 to 255 /] as const;
      }),
    ] as const) {
      async function atTheCaller() {
        await call();
      }
      const error = await atTheCaller().catch((thrown) => thrown);
      assert.ok(error instanceof TypeError, `${message}`);
      assert.match(error.message, message);
      assert.match(error.stack ?? '', /^TypeError: .*\n +at (?:call|request|.*calls\.test\.ts)/);
    }
    assert.deepEqual(requests, []);
  });

  test('no ids give no pets, and nothing is sent', async () => {
    const { requests, fetch } = answering();
    const { pets } = client({ fetch });
    const { data, headers, ...rest } = await pets.list({ ids: [], status: 'sold' }).withResponse();
    assert.deepEqual([data, data.next, [...headers]], [[], undefined, []]);
    assert.deepEqual(rest, { status: 200, requestId: undefined, limits: undefined });
    assert.deepEqual(await Array.fromAsync(pets.all({ ids: [] })), []);
    assert.deepEqual(requests, []);
  });

  test('what goes through all pages sends its query and its headers with each', async () => {
    const { requests, fetch } = answering(Response.json([]), Response.json([]), Response.json([]));
    const { categories, pets, orders } = client({ fetch });
    const options = { headers: { 'x-request-id': 'all-1' } };
    await Array.fromAsync(categories.all({ cursor: 'x' }, options));
    await Array.fromAsync(pets.all({ status: 'sold' }, options));
    await Array.fromAsync(orders.all({ petId: 7 }, options));
    assert.deepEqual(
      requests.map(({ url, headers }) => [url.slice(service.url.length), headers.get('x-request-id')]),
      [
        ['/categories?limit=1000&cursor=x', 'all-1'],
        ['/pets?limit=100&status=sold', 'all-1'],
        ['/store/orders?limit=100&petId=7', 'all-1'],
      ],
    );
  });

  test('an error has the frames of the caller, and a JSON that says everything', async () => {
    const { fetch } = answering(new Error('refused'));
    async function reserveEverything() {
      await client({ fetch, maxRetries: 0 }).pets.update(7, { status: 'pending' });
    }
    const failed = await reserveEverything().catch((error) => error);
    assert.match(failed.stack, /^ConnectionError: updatePet: refused\n +at reserveEverything /);
    const missing = await client()
      .categories.get(999_999)
      .catch((error) => error);
    assert.match(
      missing.stack,
      /^ApiError: getCategory: There is no category "999999"; list them all to find one \(not_found\)\n +at .*calls\.test\.ts/,
    );
    assert.deepEqual(JSON.parse(JSON.stringify(missing)), {
      name: 'ApiError',
      message: 'getCategory: There is no category "999999"; list them all to find one (not_found)',
      code: 'not_found',
      status: 404,
      requestId: missing.requestId,
      operation: 'getCategory',
    });
    assert.ok(missing.requestId);
    assert.ok(!Object.hasOwn(missing, 'cause'), 'which a log would show as undefined');
  });

  test('an operation that it does not know yet is called with its manners', async () => {
    const { waits, clock } = noWaits();
    const { requests, fetch } = answering(unavailable({ 'retry-after': '2' }));
    const catalog = client({ fetch, clock });
    const body = { name: 'By request' };
    const made = await catalog.request<{ id: number; name: string }>('POST', '/categories', { body });
    assert.deepEqual([made.name, waits.length], ['By request', 1]);
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'));
    assert.ok(keys[0] && keys[0] === keys[1]);
    const path = `/categories/${made.id}` as const;
    const { headers, data } = await catalog.request('GET', path).withResponse();
    assert.deepEqual(data, made);
    assert.ok(headers.get('ETag'));
    const page = await catalog.request<{ next?: string }>('GET', '/categories', {
      query: { limit: 1, cursor: undefined },
    });
    assert.match(page.next ?? '', /^after_/);
    assert.match(requests.at(-1)?.url ?? '', /\/v1\/categories\?limit=1$/);
    await assert.rejects(catalog.request('PATCH', '/pets/1234567/x/8', { body }), {
      name: 'ApiError',
      operation: 'PATCH /pets/{id}/x/{id}',
      code: 'not_found',
    });
    const count = requests.length;
    for (const wrong of ['/../x', '/a?b=1', '/a#b', 'a', '/%2e%2e/x', '/v1/pets'] as `/${string}`[]) {
      const { message } = await catalog.request('GET', wrong).then(
        () => assert.fail(wrong),
        (error) => error,
      );
      if (requests.length > count) assert.fail(`${wrong}: ${requests.at(-1)?.url}`);
      assert.match(message, /the path must begin/, wrong);
    }
  });

  test('aborts before, during and between attempts with the reason of the signal', async () => {
    const reason = new Error('the user left');
    await assert.rejects(client().categories.list({}, { signal: AbortSignal.abort(reason) }), reason);
    const never: typeof fetch = (_input, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      });
    const during = new AbortController();
    const left: typeof fetch = (input, init) => {
      setImmediate(() => during.abort(reason));
      return never(input, init);
    };
    await assert.rejects(client({ fetch: left }).categories.list({}, { signal: during.signal }), reason);
    const between = new AbortController();
    const onResponse = () => setImmediate(() => between.abort(reason));
    const waiting = client({ fetch: answering(unavailable({ 'retry-after': '20' })).fetch, onResponse });
    await assert.rejects(waiting.categories.list({}, { signal: between.signal }), reason);
  });

  test('leaves no listener on a signal that many calls share', async () => {
    const { signal } = new AbortController();
    const counts: number[] = [];
    const count = () => counts.push(getEventListeners(signal, 'abort').length);
    const catalog = client({ onResponse: count });
    await Promise.all(Array.from({ length: 30 }, () => catalog.categories.list({}, { signal })));
    assert.deepEqual([counts.length, Math.max(...counts)], [30, 1]);
    count();
    for (let request = 0; request < 3; request += 1) await client().categories.list({}, { signal });
    count();
    assert.deepEqual(counts.slice(30), [0, 0], 'of a client for each request neither');
  });

  test('calls the hook for every answer, and survives a failing hook', async () => {
    const events: ResponseEvent[] = [];
    const { fetch } = answering(unavailable());
    const { clock } = noWaits();
    const catalog = client({
      ...{ fetch, clock },
      onResponse: (event) => {
        events.push(event);
        if (events.length === 1) throw new Error('a hook that throws');
        return Promise.reject(new Error('a hook that rejects'));
      },
    });
    await catalog.categories.create({ name: 'Hooked' });
    assert.deepEqual(
      events.map(({ operation, status, attempt }) => [operation, status, attempt]),
      [
        ['createCategory', 503, 1],
        ['createCategory', 201, 2],
      ],
    );
    const [failed, good] = events;
    assert.deepEqual([failed?.limits, failed?.requestId], [undefined, undefined]);
    assert.equal(good?.limits?.limit, 1_000);
    assert.ok(Number(good?.limits?.remaining) < 1_000 && Number(good?.limits?.reset) > 1_700_000_000);
    assert.ok(good?.requestId && good.durationMs >= 0);
  });

  test('warns once of each operation that is going away', async (t: TestContext) => {
    const events: DeprecationEvent[] = [];
    const catalog = client({ onDeprecation: (event) => events.push(event) });
    for (let times = 0; times < 3; times += 1) await assert.rejects(catalog.pets.get(99_999), { code: 'not_found' });
    await catalog.pets.list();
    assert.deepEqual(events, [
      {
        operation: 'getPet',
        deprecation: new Date('2026-01-01'),
        sunset: new Date('2030-12-05'),
        link: new URL('/docs/deprecations#getPet', service.url).href,
      },
    ]);
    const warn = t.mock.method(console, 'warn', () => {});
    const plain = client();
    for (let times = 0; times < 2; times += 1) await assert.rejects(plain.pets.get(99_999));
    assert.equal(warn.mock.callCount(), 1);
    assert.match(inspect(warn.mock.calls[0]?.arguments), /getPet/);
  });

  test('sends the key only to the service', async () => {
    const { message } = await Promise.reject(new Error(`sent Bearer ${secret}`)).catch((error: Error) => error);
    const quoting = Object.assign(new TypeError(message, { cause: new Error(message) }), { headers: message });
    const refusing = { code: 'malformed_request', message: `no ${secret}`, status: 400 };
    const headers = { 'X-Request-Id': secret };
    const shown: unknown[] = [];
    const catalogs = [
      client(),
      client({ baseUrl: 'http://127.0.0.1:1/v1', maxRetries: 0 }),
      client({ baseUrl: `http://127.0.0.1:${await freePort()}/v1`, maxRetries: 1 }),
      client({ fetch: answering(quoting, quoting).fetch, maxRetries: 1 }),
      client({ fetch: answering(Response.json(refusing, { status: 400 })).fetch }),
      client({ fetch: answering(Response.json({ ...refusing, code: secret }, { status: 400, headers })).fetch }),
      client({ fetch: () => new Promise(() => {}), timeoutMs: 20 }),
      client({ onResponse: (event) => shown.push(event) }),
    ];
    for (const catalog of catalogs) {
      shown.push(catalog, catalog.categories);
      shown.push(await catalog.categories.get(999_999).catch((error: unknown) => error));
    }
    for (const apiKey of [`${secret}\n`, `${secret} `, `${secret}\u2028`, '']) {
      assert.throws(
        () => client({ apiKey }),
        (error: unknown) => shown.push(error) > 0 && error instanceof TypeError,
      );
    }
    assert.ok(shown.filter((each) => each instanceof PetCatalogError).length >= 7);
    for (const each of shown) {
      const seen = [inspect(each, { depth: 20, showHidden: true, getters: true }), JSON.stringify(each), String(each)];
      assert.ok(!seen.join().includes(secret.slice(0, 20)), inspect(each));
      for (let cause = each; cause instanceof Error; cause = cause.cause) {
        assert.ok(!`${cause.message}${cause.stack}`.includes(secret.slice(0, 20)));
      }
    }
  });

  test('an error has the headers of its response, which no log shows', async () => {
    const reader = await service.issue({ scopes: ['categories:read'] });
    const refused = await client({ apiKey: reader.secret })
      .pets.list()
      .catch((error: ApiError) => error);
    assert.ok(refused instanceof ApiError);
    assert.match(refused.headers.get('WWW-Authenticate') ?? '', /scope="pets:read"$/);
    assert.deepEqual(Object.keys(refused).includes('headers'), false);
    const { fetch } = answering(new Error('refused'));
    const lost = await client({ fetch, maxRetries: 0 })
      .pets.list()
      .catch((error: ConnectionError) => error);
    assert.ok(lost instanceof ConnectionError);
    assert.equal(lost.headers, undefined);
  });

  test('every request names the client, and has the headers of client and call, but none that it needs itself', async () => {
    const { requests, fetch } = answering();
    const mine = { 'X-Request-Id': 'job-7', authorization: 'Bearer x', 'if-none-match': '*', 'If-Match': '"x"' };
    await client({ fetch }).pets.list();
    const catalog = client({ fetch, headers: { ...mine, 'user-agent': 'shop/1.2' } });
    assert.equal((await catalog.pets.list().withResponse()).requestId, 'job-7');
    await catalog.pets.list({ limit: 5 }, { headers: { ...mine, 'x-request-id': 'call-8', 'User-Agent': 'shop/1.3' } });
    const names = ['user-agent', 'x-request-id', 'authorization', 'if-none-match', 'if-match'];
    assert.deepEqual(
      requests.map(({ headers }) => names.map((name) => headers.get(name))),
      [
        [`pet-catalog-client/${manifest.version}`, null, `Bearer ${secret}`, null, null],
        ['shop/1.2', 'job-7', `Bearer ${secret}`, null, null],
        ['shop/1.3', 'call-8', `Bearer ${secret}`, null, null],
      ],
    );
    await assert.rejects(catalog.pets.list({}, { headers: { 'X-Request-Id': 'a\nb' } }), TypeError);
  });

  test('a retry is announced with its cause, after a lost response too', async () => {
    const { waits, clock } = noWaits();
    const { fetch } = answering(new Error('reset'), unavailable({ 'retry-after': '2' }));
    const retries: RetryEvent[] = [];
    const onRetry = (event: RetryEvent) => {
      retries.push(event);
      throw new Error('of no consequence');
    };
    await client({ fetch, clock, onRetry }).pets.list();
    assert.deepEqual(
      retries.map(({ operation, attempt, waitMs, error }) => [operation, attempt, waitMs, error.name, error.status]),
      [
        ['listPets', 1, waits[0], 'ConnectionError', undefined],
        ['listPets', 2, waits[1], 'ApiError', 503],
      ],
    );
    retries.length = 0;
    const failing = answering(new Error('reset'));
    await assert.rejects(client({ fetch: failing.fetch, maxRetries: 0, onRetry }).pets.list());
    assert.deepEqual(retries, [], 'there is none');
  });

  test('address and key come from the environment, and an ETag that is missing is refused', async () => {
    const { PET_CATALOG_URL, PET_CATALOG_KEY } = process.env;
    Object.assign(process.env, { PET_CATALOG_URL: service.url, PET_CATALOG_KEY: secret });
    try {
      const catalog = new PetCatalog();
      assert.equal((await catalog.rateLimit()).plan, 'business');
      const ifMatch = new Headers().get('ETag');
      const message = 'ifMatch is null; pass a string';
      await assert.rejects(catalog.inventory.update(1, { quantity: 1 }, { ifMatch }), { name: 'TypeError', message });
      for (const empty of ['', ' ']) {
        const refused = {
          name: 'TypeError',
          message: 'updateInventory: ifMatch is empty; pass the ETag of the resource',
        };
        await assert.rejects(catalog.inventory.update(1, { quantity: 1 }, { ifMatch: empty }), refused);
      }
    } finally {
      restore('PET_CATALOG_URL', PET_CATALOG_URL);
      restore('PET_CATALOG_KEY', PET_CATALOG_KEY);
    }
  });
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
