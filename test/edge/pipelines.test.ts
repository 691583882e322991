import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AUTHORIZATION, assertAnswer, describeCorpus, get, HOST, post, type Row, request } from '../kit/edge/corpus.ts';
import { openRaw, type RawAnswer } from '../kit/edge/raw.ts';
import { type TestService, testService } from '../kit/service.ts';

const BODY = '{"name":"Dog"}';
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const GARBAGE = '\0\0@@@\r\n\r\n';
const MEBIBYTE = 1024 * 1024;

function refused(...headers: readonly string[]): string {
  return request('POST /v1/categories HTTP/1.1', HOST, 'Authorization: Bearer wrong', ...headers);
}

describeCorpus('pipelines', [
  ['A good request and garbage', get() + GARBAGE, '200, 400 malformed_request, closed'],
  [
    'A valid request and an invalid method',
    `${get()}FOO / HTTP/1.1\r\n\r\n`,
    '200, 501 not_implemented, closed',
    { whole: true },
  ],
  ['Three good requests and garbage', get().repeat(3) + GARBAGE, '200, 200, 200, 400 malformed_request, closed'],
  ['A create and garbage', post(BODY, LENGTH) + GARBAGE, '201, 400 malformed_request, closed'],
  ['Three creates and garbage', post(BODY, LENGTH).repeat(3) + GARBAGE, '201, 201, 201, 400 malformed_request, closed'],
  [
    'A create and garbage, half-closed',
    post(BODY, LENGTH) + GARBAGE,
    '201, 400 malformed_request, closed',
    { halfClose: true },
  ],
  [
    'HEAD and garbage',
    `${request('HEAD /v1/categories HTTP/1.1', HOST, AUTHORIZATION)}${GARBAGE}`,
    '200, 400 malformed_request, closed',
    { toHead: true },
  ],
  [
    'A request without a key and garbage',
    `${request('GET /v1/categories HTTP/1.1', HOST)}${GARBAGE}`,
    '401 missing_api_key, 400 malformed_request, closed',
  ],
  [
    'A valid request and CONNECT',
    `${get()}${request('CONNECT a:1 HTTP/1.1', HOST)}`,
    '200, 501 not_implemented, closed',
  ],
  [
    'A valid request and one without a Host',
    `${get()}${request('GET /v1/categories HTTP/1.1', AUTHORIZATION)}`,
    '200, 400 malformed_request, closed',
  ],
  [
    'A valid request and one of HTTP/2.0',
    `${get()}${request('GET /v1/categories HTTP/2.0', HOST)}`,
    '200, 505 http_version_not_supported, closed',
  ],
  [
    'A valid request and a head that is too large',
    get() + get(`X: ${'a'.repeat(20_000)}`),
    '200, 431 headers_too_large, closed',
  ],
  [
    'A valid request and a target that is too long',
    `${get()}${request(`GET /v1/${'a'.repeat(9000)} HTTP/1.1`, HOST)}`,
    '200, 414 uri_too_long, closed',
  ],
  ['Garbage twice', GARBAGE + GARBAGE, '400 malformed_request, closed'],
  ['Garbage and a good request', GARBAGE + get(), '400 malformed_request, closed'],
  [
    'A target that is too long and valid requests',
    `${request(`GET /v1/${'a'.repeat(9000)} HTTP/1.1`, HOST)}${get()}${post(BODY, LENGTH)}`,
    '414 uri_too_long, closed',
  ],
  ['An unmet expectation and a good request', get('Expect: x') + get(), '417 expectation_failed, closed'],
  ['A wish to close and a good request', get('Connection: close') + get(), '200, closed'],
  ['A wish to close and garbage', get('Connection: close') + GARBAGE, '200, closed'],
  ['HTTP/1.0 and a good request', request('GET /v1/categories HTTP/1.0', AUTHORIZATION) + get(), '200, closed'],
  ['A WebSocket upgrade and a valid request', get('Connection: Upgrade', 'Upgrade: websocket') + get(), '200, closed'],
  ['A wish to speak WebSocket and garbage', get('Connection: Upgrade', 'Upgrade: websocket') + GARBAGE, '200, closed'],
  ['A good request and a bad chunk', `${get()}${post('xyz\r\n', CHUNKED)}`, '200, 400 malformed_request, closed'],
  [
    'Refusals of several kinds',
    `${get()}${request('GET /v1/categories HTTP/1.1', HOST)}${request('GET /v1/nothing HTTP/1.1', HOST, AUTHORIZATION)}${request('PUT /v1/categories HTTP/1.1', HOST, AUTHORIZATION)}${post('{', 'Content-Length: 1')}${get()}`,
    '200, 401 missing_api_key, 404 not_found, 405 method_not_allowed, 400 invalid_json, 200, open',
  ],
] satisfies Row[]);

describeCorpus('requests that break off', [
  ['Nothing at all', '', 'closed', { halfClose: true }],
  ['An empty line alone', '\r\n', 'closed', { halfClose: true }],
  ['A good request, half-closed', get(), '200, closed', { halfClose: true }],
  ['A create, half-closed', post(BODY, LENGTH), '201, closed', { halfClose: true }],
  ['Three creates, half-closed', post(BODY, LENGTH).repeat(3), '201, 201, 201, closed', { halfClose: true }],
  ['Half a method', 'GE', '400 malformed_request, closed', { halfClose: true }],
  ['Half a request line', 'GET /v1/cat', '400 malformed_request, closed', { halfClose: true }],
  ['A request line alone', 'GET /v1/categories HTTP/1.1\r\n', '400 malformed_request, closed', { halfClose: true }],
  ['Half a head', get().slice(0, -2), '400 malformed_request, closed', { halfClose: true }],
  [
    'A valid request and half of another',
    get() + get().slice(0, 9),
    '200, 400 malformed_request, closed',
    { halfClose: true },
  ],
  [
    'A body one byte short',
    post(BODY, `Content-Length: ${BODY.length + 1}`),
    '400 malformed_request, closed',
    { halfClose: true },
  ],
  ['No body where one is declared', post('', LENGTH), '400 malformed_request, closed', { halfClose: true }],
  ['Chunks without the last', post(`e\r\n${BODY}\r\n`, CHUNKED), '400 malformed_request, closed', { halfClose: true }],
  ['Half a chunk', post(`e\r\n${BODY.slice(5)}`, CHUNKED), '400 malformed_request, closed', { halfClose: true }],
  ['A chunk size alone', post('e', CHUNKED), '400 malformed_request, closed', { halfClose: true }],
  [
    'A chunk of 2^64 bytes that breaks off',
    post(`ffffffffffffffff\r\n${BODY}`, CHUNKED),
    '400 malformed_request, closed',
    { halfClose: true },
  ],
  [
    'Trailers that break off',
    post(`e\r\n${BODY}\r\n0\r\nX-A: b`, CHUNKED),
    '400 malformed_request, closed',
    { halfClose: true },
  ],
  ['A wrong key over half a body', refused(LENGTH) + BODY.slice(5), '401 invalid_api_key, closed', { halfClose: true }],
] satisfies Row[]);

describeCorpus('bodies that are not read', [
  ['A wrong key over a body', refused(LENGTH) + BODY, '401 invalid_api_key, open'],
  [
    'A wrong key over a body of 256 KiB',
    refused('Content-Length: 262144') + 'x'.repeat(262_144),
    '401 invalid_api_key, open',
  ],
  [
    'A wrong key over a larger body',
    refused('Content-Length: 262145') + 'x'.repeat(262_145),
    '401 invalid_api_key, closed',
  ],
  ['A wrong key over chunks', `${refused(CHUNKED)}1\r\nx\r\n0\r\n\r\n`, '401 invalid_api_key, closed'],
  ['A wrong key over a bad chunk', `${refused(CHUNKED)}xyz\r\n`, '401 invalid_api_key, closed'],
  [
    'A wrong path over a body',
    `${request('POST /v1/nothing HTTP/1.1', HOST, AUTHORIZATION, LENGTH)}${BODY}`,
    '404 not_found, open',
  ],
  [
    'A wrong method over a body',
    `${request('PUT /v1/categories HTTP/1.1', HOST, AUTHORIZATION, LENGTH)}${BODY}`,
    '405 method_not_allowed, open',
  ],
  [
    'A wrong media type over a body',
    post(BODY, LENGTH, 'Content-Type: text/plain'),
    '415 unsupported_media_type, open',
  ],
  [
    'A body of 256 KiB',
    post(`{"name":"Dog","x":"${'y'.repeat(262_144 - 21)}"}`, 'Content-Length: 262144'),
    '201, open',
  ],
  ['A body over 256 KiB', post('x'.repeat(262_145), 'Content-Length: 262145'), '413 payload_too_large, closed'],
  ['A body over 256 KiB that never comes', post('', 'Content-Length: 262145'), '413 payload_too_large, closed'],
  ['A declared body beyond all bounds', post('', `Content-Length: ${2 ** 53}`), '413 payload_too_large, closed'],
  [
    'A large body with Expect: 100-continue',
    post('', 'Content-Length: 262145', 'Expect: 100-continue'),
    '413 payload_too_large, closed',
  ],
  [
    'A chunk over 256 KiB',
    post(`40001\r\n${'x'.repeat(262_145)}\r\n0\r\n\r\n`, CHUNKED),
    '413 payload_too_large, closed',
  ],
  [
    'Chunks over 256 KiB together',
    post(`${`1000\r\n${'x'.repeat(4096)}\r\n`.repeat(65)}0\r\n\r\n`, CHUNKED),
    '413 payload_too_large, closed',
  ],
] satisfies Row[]);

describeCorpus('expecting 100', [
  ['A create', post(BODY, LENGTH, 'Expect: 100-continue'), '100, 201, open'],
  ['A create in chunks', post(`e\r\n${BODY}\r\n0\r\n\r\n`, CHUNKED, 'Expect: 100-Continue'), '100, 201, open'],
  ['A create behind another', post(BODY, LENGTH) + post(BODY, LENGTH, 'Expect: 100-continue'), '201, 100, 201, open'],
  ['A create with a wrong key', refused(LENGTH, 'Expect: 100-continue'), '401 invalid_api_key, closed'],
  [
    'A create without a key',
    request('POST /v1/categories HTTP/1.1', HOST, LENGTH, 'Expect: 100-continue'),
    '401 missing_api_key, closed',
  ],
  [
    'A create of another media type',
    post('', LENGTH, 'Content-Type: a/b', 'Expect: 100-continue'),
    '415 unsupported_media_type, closed',
  ],
  ['A list', get('Expect: 100-continue'), '200, closed'],
  [
    'A create in HTTP/1.0',
    request('POST /v1/categories HTTP/1.0', AUTHORIZATION, LENGTH, 'Expect: 100-continue') + BODY,
    '201, closed',
  ],
] satisfies Row[]);

describe('connections', () => {
  let service: TestService;
  let secret: string;

  before(async () => {
    service = await testService();
    secret = (await service.issue({ plan: 'business' })).secret;
  });
  after(() => service[Symbol.asyncDispose]());

  const withKey = (bytes: string, key = secret) => bytes.replaceAll('<key>', key);

  test('a hundred pipelined requests are answered in order, and each is counted', async () => {
    const key = (await service.issue({ plan: 'business' })).secret;
    await using raw = await openRaw(service.url);
    await raw.send(withKey(Array.from({ length: 100 }, (_, i) => get(`X-Request-Id: n${i}`)).join(''), key));
    for (let i = 0; i < 100; i++) {
      const { status, headers } = await raw.answer();
      assert.equal(status, 200);
      assert.equal(headers.get('x-request-id'), `n${i}`);
      assert.equal(headers.get('x-ratelimit-remaining'), `${999 - i}`);
    }
    assert.equal(raw.unreadBytes, 0);
  });

  test('pipelined creates keep their order, and a list behind them holds them', async () => {
    await using raw = await openRaw(service.url);
    const creates = Array.from({ length: 50 }, (_, i) => {
      const body = `{"name":"animal ${i}"}`;
      return post(body, `Content-Length: ${body.length}`);
    });
    await raw.send(withKey(creates.join('') + get()));
    const made: string[] = [];
    for (let i = 0; i < 50; i++) made.push((await raw.answer()).body);
    assert.deepEqual(
      made.map((body) => JSON.parse(body).name),
      made.map((_, i) => `animal ${i}`),
    );
    const ids = made.map((body): number => JSON.parse(body).id);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.ok((await raw.answer()).body.includes(made.join(',')));
  });

  test('requests pipelined behind the last answer change nothing', async () => {
    await using raw = await openRaw(service.url);
    const name = 'behind the last answer';
    const body = JSON.stringify({ name });
    const tooLarge = post('', 'Content-Length: 300000', 'Expect: 100-continue');
    await raw.send(withKey(tooLarge + post(body, `Content-Length: ${body.length}`)));
    const answers = await raw.answersUntilClosed();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [413],
    );
    assert.ok(!(await (await service.call(secret, '/categories')).text()).includes(name));
  });

  test('100 is sent only when the key, the media type and the size are valid', async () => {
    await using raw = await openRaw(service.url);
    await raw.send(withKey(post('', LENGTH, 'Expect: 100-continue')));
    assert.equal((await raw.answer()).status, 100);
    await raw.send(BODY);
    assert.equal((await raw.answer()).status, 201);
    await raw.send(request('POST /v1/categories HTTP/1.1', HOST, LENGTH, 'Expect: 100-continue'));
    assert.equal((await raw.answer()).status, 401);
  });

  for (const [title, head, bytes] of [
    ['10 MB with a length', post('', `Content-Length: ${10 * MEBIBYTE}`), Buffer.alloc(10 * MEBIBYTE, 'x')],
    ['10 MB in one chunk', post('A00000\r\n', CHUNKED), Buffer.alloc(10 * MEBIBYTE, 'x')],
    ['10 MB in small chunks', post('', CHUNKED), Buffer.from(`400\r\n${'x'.repeat(1024)}\r\n`.repeat(10 * 1024))],
    ['10 MB with a wrong key', refused(`Content-Length: ${10 * MEBIBYTE}`), Buffer.alloc(10 * MEBIBYTE, 'x')],
  ] as const) {
    test(`a client that sends ${title} before reading still gets the one answer`, async () => {
      await using raw = await openRaw(service.url);
      raw.pause();
      await raw.send(withKey(head));
      await raw.send(bytes);
      raw.resume();
      const [answer, ...more] = await raw.answersUntilClosed();
      assert.equal(answer?.status, title.endsWith('key') ? 401 : 413);
      assert.equal(answer.headers.get('connection'), 'close');
      assertAnswer(answer);
      assert.deepEqual(more, []);
    });
  }

  test('a client that never stops sending is answered and then cut off', async () => {
    await using raw = await openRaw(service.url);
    await raw.send(withKey(post('', CHUNKED)));
    const chunk = Buffer.from(`100000\r\n${'x'.repeat(MEBIBYTE)}\r\n`);
    let sent = 0;
    const sending = (async () => {
      for (; sent < 256; sent++) await raw.send(chunk);
    })().catch(() => {});
    const answer = await raw.answer();
    assert.equal(answer.status, 413);
    assertAnswer(answer);
    await sending;
    assert.ok(sent >= 16 && sent < 256, `${sent} MB were taken`);
  });

  test('a reset at any point affects no other connection', async () => {
    const beginnings = [get(), get().slice(0, 20), post('', LENGTH), post(BODY, LENGTH), GARBAGE, get() + GARBAGE];
    const connect = request('CONNECT a:1 HTTP/1.1', HOST);
    for (const bytes of [...beginnings, connect, get() + connect, refused(LENGTH), get('Connection: close'), '']) {
      for (const waits of [false, true]) {
        const raw = await openRaw(service.url);
        await raw.send(withKey(bytes));
        if (waits) await service.call(secret, '/rate_limit');
        await raw.reset();
      }
    }
    assert.equal((await service.call(secret, '/rate_limit')).status, 200);
    assert.deepEqual(service.events.failures, []);
  });

  test('many connections of all kinds at once get their own answers', async () => {
    const { secret: busy } = await service.issue({ plan: 'enterprise', limits: { minute: 100_000, day: 100_000 } });
    const kinds = [
      [get(), 200],
      [post(BODY, LENGTH), 201],
      [GARBAGE, 400],
      [post('', 'Content-Length: 300000'), 413],
      [refused(LENGTH) + BODY, 401],
      [get(`X: ${'a'.repeat(20_000)}`), 431],
    ] as const;
    const results = await Promise.all(
      Array.from({ length: 120 }, async (_, i): Promise<[RawAnswer | undefined, number]> => {
        const [bytes, status] = kinds[i % kinds.length] ?? kinds[0];
        await using raw = await openRaw(service.url);
        await raw.send(withKey(bytes, busy));
        return [await raw.answer(), status];
      }),
    );
    for (const [answer, status] of results) assert.equal(answer?.status, status);
  });
});
