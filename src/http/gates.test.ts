import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock, untilTrue } from '../../test/kit/clock.ts';
import { HOST, request } from '../../test/kit/edge/corpus.ts';
import { openRaw, type RawConnection } from '../../test/kit/edge/raw.ts';
import { recordedEvents } from '../../test/kit/service.ts';
import { type ApiKey, newApiKey } from '../catalog/api-key.ts';
import { CatalogError } from '../catalog/error.ts';
import type { Decision } from '../limits/limiter.ts';
import type { Authentication } from './authenticate.ts';
import { refusal } from './errors.ts';
import { createApp } from './gates.ts';
import { limitHeaders } from './limit-headers.ts';
import type { Catalog, Operation } from './operations/operation.ts';
import { OPERATIONS } from './operations.ts';
import type { Exchange } from './transport/exchange.ts';
import { openListener } from './transport/listener.ts';

/** The gates before an operation, in their order, each of which the test plays. */

const KEY = newApiKey({ name: 'one', environment: 'production', plan: 'pro', scopes: ['pets:read'] }, 0).key;
const WINDOW = { limit: 60, remaining: 9, reset: 1_060 };
const ADMITTED: Decision = { ...WINDOW, minute: WINDOW, day: { ...WINDOW, limit: 1_000 }, now: 1_000 };
const REFUSED: Decision = { ...ADMITTED, refusal: 'rate_limit_exceeded', remaining: 0 };
const CATALOG = {} as Catalog;

function operation(id: string, more: Partial<Operation>): Operation {
  const words = { id, tag: '', summary: '', description: '' };
  const handle = () => ({ status: 200, body: '{}' });
  return {
    method: 'GET',
    path: `/${id}`,
    permission: 'pets:read',
    success: { status: 200, description: '' },
    handle,
    ...words,
    ...more,
  };
}

const DEPRECATION = { since: 1_000, sunset: 86_400, successor: '/new?ids={id}' };

/** An app whose gates answer at once, or later, and note that they were asked. */
async function played(isLater = false) {
  const asked: string[] = [];
  const gates = {
    authentication: { key: KEY } as Authentication,
    decision: ADMITTED,
    onCharge: (_exchange: Exchange) => {},
  };
  const tell = <T>(what: string, value: () => T): T | Promise<T> => {
    asked.push(what);
    return isLater ? Promise.resolve().then(value) : value();
  };
  let last: Exchange | undefined;
  const count = (what: string) => (key: ApiKey) => {
    assert.equal(key, KEY);
    return tell(what, () => {
      if (last) gates.onCharge(last);
      return gates.decision;
    });
  };
  const events = recordedEvents();
  const handle: Operation['handle'] = (catalog, exchange) => {
    assert.equal(catalog, CATALOG);
    asked.push('handle');
    return { status: 200, body: JSON.stringify({ body: exchange.body, params: exchange.params }) };
  };
  const serve = createApp({
    operations: [
      operation('one', { handle }),
      operation('create', { method: 'POST', handle, body: { schema: {}, example: {} } }),
      operation('bare', { method: 'POST', handle, body: { schema: {}, example: {}, isOptional: true } }),
      operation('written', { permission: 'pets:write', handle }),
      operation('any', { permission: 'any', free: true, handle }),
      operation('old', { path: '/old/{id}', deprecation: DEPRECATION, handle }),
    ],
    pages: new Map([['/page', () => tell('page', () => ({ status: 200, body: 'a page' }))]]),
    catalog: CATALOG,
    authenticator: { authenticate: () => tell('key', () => gates.authentication) },
    limiter: { charge: count('charge'), peek: count('peek'), current: (_key, before) => ({ ...before, now: 1_010 }) },
    events,
    prefix: '',
    corsOrigins: ['https://shop.example'],
  });
  const clock = manualClock();
  const listener = await openListener(
    (exchange) => {
      last = exchange;
      return serve(exchange);
    },
    { time: clock, events, addLimitHeaders: limitHeaders(clock) },
    { host: '127.0.0.1', port: 0 },
  );
  const url = `http://127.0.0.1:${listener.port}`;
  const raw = await openRaw(url);
  return {
    asked,
    gates,
    events,
    url,
    raw,
    /** The answer to a request, and which gates were asked for it. */
    async ask(line: string, ...headers: string[]) {
      asked.length = 0;
      await raw.send(request(`${line} HTTP/1.1`, HOST, ...headers));
      const answer = await raw.answer({ toHead: line.startsWith('HEAD') });
      return { ...answer, seen: `${answer.status} ${asked.join(' ')}`.trim() };
    },
    async [Symbol.asyncDispose]() {
      await raw[Symbol.asyncDispose]();
      await listener.stop(0);
    },
  };
}

for (const isLater of [false, true]) {
  const when = isLater ? 'later' : 'at once';

  test(`gates that answer ${when} are asked in their order, and the first refusal is the answer`, async () => {
    await using at = await played(isLater);
    const { gates, ask } = at;
    for (const [line, seen] of [
      ['GET /v1/one', '200 key charge handle'],
      ['HEAD /v1/one', '200 key charge handle'],
      ['OPTIONS /v1/one', '204 key charge'],
      ['PUT /v1/one', '405 key charge'],
      ['GET /v1/two', '404 key charge'],
      ['OPTIONS /v1/two', '404 key charge'],
      ['GET /v1/written', '403 key charge'],
      ['GET /v1/one?other=1', '400 key charge'],
      ['GET /v1/written?other=1', '403 key charge'],
      ['GET /v1/any', '200 key peek handle'],
    ] as const) {
      assert.equal((await ask(line)).seen, seen, line);
    }
    assert.equal((await ask('OPTIONS /v1/one')).headers.get('allow'), 'GET, HEAD, OPTIONS');
    assert.match((await ask('PUT /v1/one')).body, /PUT is not allowed here; use GET, HEAD, OPTIONS/);
    assert.equal((await ask('PUT /page')).headers.get('allow'), 'GET, HEAD');
    const methods = new Set([...OPERATIONS.map(({ method }) => method), 'HEAD', 'OPTIONS']);
    assert.equal((await ask('OPTIONS *')).headers.get('allow'), [...methods].sort().join(', '));
    const nothing = (await ask('GET /v1/two')).body;
    assert.match(nothing, /"There is nothing at this address; \/openapi\.json lists the paths"/);

    gates.decision = REFUSED;
    assert.equal((await ask('GET /v1/two')).seen, '429 key charge');
    const { headers } = await ask('GET /v1/one');
    assert.deepEqual([headers.get('retry-after'), headers.get('x-ratelimit-limit')], ['50', '60']);
    assert.equal((await ask('GET /v1/any')).seen, '200 key peek handle', 'what is free is served all the same');
    gates.decision = ADMITTED;

    gates.authentication = { refused: refusal('missing_api_key', 'No key') };
    gates.decision = REFUSED;
    assert.equal((await ask('GET /v1/two')).seen, '401 key');
  });

  test(`a body is read behind gates that answer ${when}, and a request that fails meanwhile is not done`, async () => {
    await using at = await played(isLater);
    await at.raw.send(request('POST /v1/create HTTP/1.1', HOST, 'Content-Length: 5'));
    await at.raw.send('{"a":');
    assert.match((await at.raw.answer()).body, /invalid_json/);
    assert.deepEqual(at.asked, ['key', 'charge']);
    await at.raw.send(`${request('POST /v1/create HTTP/1.1', HOST, 'Content-Length: 7')}{"a":1}`);
    assert.deepEqual(JSON.parse((await at.raw.answer()).body), { body: { a: 1 }, params: {} });
    for (const [sent, body] of [
      [request('POST /v1/bare HTTP/1.1', HOST), undefined],
      [request('POST /v1/bare HTTP/1.1', HOST, 'Content-Length: 0'), undefined],
      [`${request('POST /v1/bare HTTP/1.1', HOST, 'Content-Length: 2')}{}`, {}],
      [`${request('POST /v1/bare HTTP/1.1', HOST, 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`, {}],
    ] as const) {
      await at.raw.send(sent);
      assert.deepEqual(JSON.parse((await at.raw.answer()).body), { ...(body && { body }), params: {} }, sent);
    }
    at.gates.onCharge = (exchange) => exchange.fail(new CatalogError('malformed_request', 'A bad chunk'));
    assert.equal((await at.ask('GET /v1/one')).seen, '400 key charge');
  });
}

test('a key has 512 writes in flight, those whose bodies are read among them; one more is 503, and reads are served', async () => {
  await using at = await played();
  const head = request('POST /v1/create HTTP/1.1', HOST, 'Content-Length: 2');
  await using opened = new AsyncDisposableStack();
  const writing: RawConnection[] = [];
  for (let count = 0; count < 512; count += 1) writing.push(opened.use(await openRaw(at.url)));
  for (const raw of writing) await raw.send(head);
  await untilTrue(() => at.asked.filter((gate) => gate === 'charge').length === 512);
  const { status, headers, body } = await at.ask('POST /v1/create', 'Content-Length: 0');
  assert.deepEqual([status, headers.get('retry-after'), JSON.parse(body).code], [503, '1', 'unavailable']);
  assert.equal((await at.ask('GET /v1/one')).status, 200);
  for (const raw of writing) await raw.send('{}');
  for (const raw of writing) assert.equal((await raw.answer()).status, 200);
  assert.equal((await at.ask('POST /v1/bare', 'Content-Length: 0')).status, 200);
});

test('a deprecated operation says so with every answer, and names its successor for the id, if it can be one', async () => {
  await using at = await played();
  const told = async (line: string) => {
    const { headers } = await at.ask(line, 'Origin: https://shop.example');
    assert.equal(headers.get('vary'), 'Origin');
    return ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
  };
  const link = (successor: string) =>
    `</v1${successor}>; rel="successor-version", </docs/deprecations#old>; rel="deprecation"; type="text/html"`;
  const dates = ['@1000', 'Fri, 02 Jan 1970 00:00:00 GMT'];
  assert.deepEqual(await told('GET /v1/old/7'), [...dates, link('/new?ids=7')]);
  assert.deepEqual(await told('HEAD /v1/old/7'), [...dates, link('/new?ids=7')]);
  assert.deepEqual(await told('GET /v1/old/x'), [...dates, link('/new')]);
  for (const [now, status] of [
    [DEPRECATION.sunset - 1, 200],
    [DEPRECATION.sunset, 410],
  ] as const) {
    at.gates.decision = { ...ADMITTED, now };
    assert.equal((await at.ask('GET /v1/old/7')).status, status);
  }
  assert.match((await at.ask('GET /v1/old/7')).body, /"old has been removed; use GET \/v1\/new\?ids=7"/);
  at.gates.authentication = { refused: refusal('missing_api_key', 'No key') };
  assert.deepEqual(await told('GET /v1/old/7'), [...dates, link('/new?ids=7')]);
  for (const line of ['PUT /v1/old/7', 'GET /v1/one'])
    assert.deepEqual(await told(line), [undefined, undefined, undefined]);
});
