import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { missingPrograms } from '../../test/kit/deploy/programs.ts';
import { openRaw } from '../../test/kit/edge/raw.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { openProxy } from '../src/proxy/proxy.ts';
import { run } from './kit/fixtures.ts';
import { headOf, json, played, standing, steps, upstreamOf, verdicts } from './kit/upstream.ts';

/** Scripts before any HTTP API, played by a proxy. */

test('an ok is the upstream’s own answer, with what a proxy must change and no more', async () => {
  let seen: IncomingMessage | undefined;
  await using upstream = await upstreamOf((incoming, response) => {
    seen = incoming;
    response.writeHead(201, [
      ['Location', `${upstream.url}/api/pets/7?a=b`],
      ['Content-Location', `${upstream.url}/api/pets/7`],
      ['Link', `<${upstream.url}/api/pets?page=2>; rel="next", <https://other.example/>; rel="help"`],
      ['Set-Cookie', 'a=1'],
      ['Set-Cookie', 'b=2'],
      ['X-Own', 'x'],
      ['Connection', 'X-Own'],
      ['ETag', '"v1"'],
    ]);
    response.end('made');
  });
  await using proxy = await openProxy({ upstream: `${upstream.url}/api/`, script: 'ok' });
  assert.match(proxy.url, /^http:\/\/127\.0\.0\.1:\d+\/api$/);
  const codings = { 'accept-encoding': 'br, gzip' };
  const headers = {
    ...codings,
    'x-kept': 'k',
    'proxy-authorization': 'p',
    connection: 'x-hop',
    'x-hop': 'h',
    te: 'trailers',
  };
  const sent = request(`${proxy.url}/pets?x=%20y`, { method: 'POST', headers });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(await text(answer), 'made');
  const { origin } = new URL(proxy.url);
  assert.deepEqual([answer.statusCode, answer.headers.location], [201, `${origin}/api/pets/7?a=b`]);
  assert.equal(answer.headers['content-location'], `${origin}/api/pets/7`);
  assert.equal(answer.headers.link, `<${origin}/api/pets?page=2>; rel="next", <https://other.example/>; rel="help"`);
  assert.deepEqual(
    [answer.headers['set-cookie'], answer.headers['x-own'], answer.headers.etag],
    [['a=1', 'b=2'], undefined, '"v1"'],
  );
  assert.equal(seen?.url, '/api/pets?x=%20y');
  assert.equal(seen?.headers.host, new URL(upstream.url).host);
  assert.deepEqual([seen?.headers['x-kept'], seen?.headers['accept-encoding']], ['k', 'br, gzip']);
  for (const name of ['proxy-authorization', 'x-hop', 'te', 'via', 'forwarded'])
    assert.equal(seen?.headers[name], undefined, name);
  const { requests } = await proxy.end();
  assert.deepEqual([requests[0]?.path, requests[0]?.status, requests[0]?.isDone], ['/api/pets', 201, true]);
});

test('a request without a body has none at the upstream, and says so by methods that have one', async () => {
  const seen: (string | undefined)[] = [];
  await using upstream = await upstreamOf(({ method, headers }, response) => {
    seen.push(`${method} ${headers['content-length']} ${headers['transfer-encoding']}`);
    response.writeHead(204).end();
  });
  await using proxy = await openProxy({ upstream: upstream.url, script: 'ok' });
  await using raw = await openRaw(proxy.url);
  const withBody = ['POST', 'PUT', 'PATCH', 'QUERY'];
  for (const method of ['GET', ...withBody]) {
    await raw.send(headOf(`${method} / HTTP/1.1`));
    assert.equal((await raw.answer()).status, 204);
  }
  assert.deepEqual(seen, ['GET undefined undefined', ...withBody.map((method) => `${method} 0 undefined`)]);
  const { requests } = await proxy.end();
  assert.ok(requests.every(({ body }) => body === ''));
});

test('each step is played, and lost, cut and unknown let the upstream do its work first', async () => {
  const bodies: string[] = [];
  await using upstream = await upstreamOf(async (incoming, response) => {
    bodies.push(await text(incoming));
    json(response, { id: bodies.length }, 201, { 'content-type': 'application/problem+json' });
  });
  const post = (url: string, body: string) => fetch(`${url}/pets`, { method: 'POST', body });
  const report = await played(
    { upstream: upstream.url, script: 'ok,lost,cut,unknown,reset,error,unavailable:7,slow:1,limit:1,revoked' },
    async (url) => {
      assert.equal((await post(url, 'one')).status, 201);
      await assert.rejects(post(url, 'two'));
      await assert.rejects(post(url, 'three').then((answer) => answer.text()));
      assert.equal((await post(url, 'four')).status, 503);
      await assert.rejects(post(url, 'five'));
      const failed = await post(url, 'six');
      assert.deepEqual([failed.status, failed.headers.get('content-type')], [500, 'application/problem+json']);
      assert.equal(((await failed.json()) as { code: string }).code, 'internal_error');
      assert.equal((await post(url, 'seven')).headers.get('retry-after'), '7');
      assert.equal((await post(url, 'eight')).status, 201);
      assert.equal((await post(url, 'nine')).headers.get('retry-after'), '1');
      assert.equal((await post(url, 'ten')).status, 429);
    },
  );
  assert.deepEqual(bodies, ['one', 'two', 'three', 'four', 'eight']);
  assert.deepEqual(steps(report), [
    'ok 201 true',
    'lost null false',
    'cut 201 false',
    'unknown 503 true',
    'reset null false',
    'error 500 true',
    'unavailable:7 503 true',
    'slow:1 201 true',
    'limit:1 429 true',
    'null 429 true',
  ]);
  assert.deepEqual(
    report.requests.map(({ isEarly }) => isEarly),
    [...Array(9).fill(false), true],
  );
  const slow = report.requests[7];
  assert.ok((slow?.answeredAt ?? 0) - (slow?.at ?? 0) >= 1_000);
  assert.equal(report.reached, 9);
});

for (const [step, status, code, retryAfter, challenge] of [
  ['limit:7', 429, 'rate_limit_exceeded', '7', null],
  ['limit-date:7', 429, 'rate_limit_exceeded', 'a date', null],
  ['limit-bare', 429, 'rate_limit_exceeded', null, null],
  ['limit-ms:6500', 429, 'rate_limit_exceeded', '7', null],
  ['limit-reset:7', 429, 'rate_limit_exceeded', null, null],
  ['quota:7', 429, 'daily_quota_exceeded', '7', null],
  ['ban:7', 429, 'key_banned', '7', null],
  ['unavailable:7', 503, 'unavailable', '7', null],
  ['unknown', 503, 'outcome_unknown', '1', null],
  ['error', 500, 'internal_error', null, null],
  ['status:418', 418, 'refused', null, null],
  ['revoked', 401, 'invalid_api_key', null, 'Bearer'],
] as const) {
  test(`${step} before an API is ${status} ${code}, or the template that was given`, async () => {
    await using upstream = await upstreamOf((_, response) => json(response, {}, 200, { 'content-type': 'text/plain' }));
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, `${status}.json`), '{"headers":{"X-Form":"own"},"body":{"sorry":true}}');
    for (const dialect of [undefined, folder.path]) {
      await using proxy = await openProxy({ upstream: upstream.url, script: step, dialect });
      const answer = await fetch(proxy.url);
      const told = ['content-type', 'cache-control', 'retry-after', 'www-authenticate', 'x-form'];
      assert.deepEqual(
        told.map((name) => answer.headers.get(name)?.replace(/^\w{3}, .* GMT$/, 'a date') ?? null),
        ['application/json', 'no-store', retryAfter, challenge, dialect ? 'own' : null],
      );
      const { message, ...body } = (await answer.json()) as Record<string, unknown>;
      const usual = { code, status, error: { message, type: 'api_error', code } };
      assert.deepEqual([answer.status, body], [status, dialect ? { sorry: true } : usual]);
    }
  });
}

for (const [what, headers, refused] of [
  ['GitHub', { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59', 'X-RateLimit-Reset': '1800000000' }, 'unix'],
  ['seconds from now', { 'RateLimit-Limit': '60', 'RateLimit-Remaining': '59', 'RateLimit-Reset': '30' }, 'delta'],
  ['the draft', { RateLimit: '"minute";r=59;t=30', 'RateLimit-Policy': '"minute";q=60;w=60' }, 'draft'],
] as const) {
  test(`a refusal has the limit headers of the upstream, in the form of ${what}`, async () => {
    await using upstream = await upstreamOf((_, response) => json(response, {}, 200, headers));
    await using proxy = await openProxy({ upstream: upstream.url, script: 'ok,limit-reset:9' });
    await (await fetch(proxy.url)).text();
    const { headers: made } = await fetch(proxy.url);
    const [name = ''] = Object.keys(headers).filter((each) => /reset|^ratelimit$/i.test(each));
    const reset = made.get(name) ?? '';
    if (refused === 'draft') assert.match(reset, /^"minute";r=0;t=(9|10)$/);
    else {
      assert.equal(made.get(name.replace('Reset', 'Remaining')), '0');
      const seconds = refused === 'unix' ? Number(reset) - Date.now() / 1_000 : Number(reset);
      assert.ok(seconds > 7 && seconds <= 10, reset);
    }
    const { requests } = await proxy.end();
    assert.equal(Math.round(requests[1]?.retryAfter ?? 0) >= 9, refused !== 'draft');
  });
}

test('what is noted of requests tells them apart, and what the upstream answered', async () => {
  const answers: [number, Record<string, string>][] = [
    [301, { 'retry-after': '9' }],
    [400, {}],
    [503, { 'retry-after': '9' }],
  ];
  const urls = new Set<string | undefined>();
  await using upstream = await upstreamOf(({ url }, response) => {
    urls.add(url);
    const [status, headers] = answers.shift() ?? [200, {}];
    response.sendDate = false;
    response.writeHead(status, 'Word', { ...headers, 'content-length': '0' }).end();
  });
  const long = `/${'x'.repeat(150)}`;
  const report = await played({ upstream: upstream.url, script: 'ok*5' }, async (url) => {
    const get = (headers: Record<string, string>, method = 'GET') =>
      fetch(`${url}${long}`, { method, headers, redirect: 'manual' });
    const answer = await get({ cookie: 'a=1', 'idempotency-key': '"k"' });
    assert.deepEqual([answer.statusText, answer.headers.get('date')], ['Word', null]);
    await get({ cookie: 'a=2', 'idempotency-key': 'k', 'access-control-request-method': 'GET' });
    await get({ cookie: 'a=2' }, 'OPTIONS');
    await get({}, 'PUT');
    await using raw = await openRaw(url);
    await raw.send(headOf(`GET http://a.example${long} HTTP/1.1`));
    assert.equal((await raw.answer()).status, 200);
  });
  assert.deepEqual([...urls], [long]);
  const [first, second, third, fourth] = report.requests;
  assert.deepEqual(
    report.requests.map(({ step, path, retryAfter, isDone }) => [step, path.length, retryAfter, isDone]),
    [
      ['ok', 100, null, true],
      ['ok', 100, null, false],
      ['ok', 100, 9, false],
      ['ok', 100, null, true],
      ['ok', 100, null, true],
    ],
  );
  assert.equal(first?.idempotencyKey, second?.idempotencyKey);
  assert.equal(third?.idempotencyKey, null);
  assert.equal(new Set([first, second, fourth].map((each) => each?.credentials)).size, 3);
});

for (const [what, status, headers] of [
  ['a part', 206, {}],
  ['a refusal', 404, {}],
  ['a coded answer', 200, { 'content-encoding': 'gzip' }],
  ['a text', 200, { 'content-type': 'application/jsonl' }],
] as const) {
  test(`${what} is not greased, and spends no step`, async () => {
    await using upstream = await upstreamOf((_, response) =>
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': '2', ...headers }).end('{}'),
    );
    const report = await played({ upstream: upstream.url, script: 'grease' }, async (url) => {
      await using raw = await openRaw(url);
      await raw.send(headOf('GET / HTTP/1.1'));
      assert.equal(`${(await raw.answer()).body}`, '{}');
    });
    assert.deepEqual([report.reached, report.requests[0]?.step], [0, null]);
  });
}

test('what is greased has no word of the upstream’s body in its headers, and exact numbers', async () => {
  const answers = ['[]', '[1]', 'not JSON', '[{"id":12345678901234567890,"price":1.0}]'];
  let asked = '';
  await using upstream = await upstreamOf((incoming, response) => {
    asked = incoming.headers['accept-encoding'] ?? '';
    const ofTheBody = { etag: '"x"', 'content-digest': 'sha-256=:x:', signature: 's' };
    response.writeHead(200, { 'content-type': 'application/json', ...ofTheBody }).end(answers.shift());
  });
  const report = await played({ upstream: upstream.url, script: 'grease*2,ok' }, async (url) => {
    for (const body of ['[]', '[1]', 'not JSON']) {
      const plain = await fetch(url);
      assert.deepEqual([await plain.text(), plain.headers.get('etag')], [body, '"x"']);
    }
    const greased = await fetch(url);
    const body = await greased.text();
    assert.match(body, /"id":12345678901234567890/);
    assert.match(body, /"price":1\.0/);
    assert.match(body, /"grease_/);
    for (const name of ['etag', 'content-digest', 'signature']) assert.equal(greased.headers.get(name), null);
    assert.equal(asked, 'identity');
    const large = { list: Array(20_000).fill({ id: 1 }) };
    answers.push(JSON.stringify(large));
    assert.match(await (await fetch(url)).text(), /"grease_/);
  });
  const met = steps(report).map((each) => each.split(' ')[0]);
  assert.deepEqual(met, ['null', 'null', 'null', 'grease', 'grease']);
});

test('an upstream that does not answer is 502, spends no step, and tells nothing of the client', async () => {
  let count = 0;
  await using upstream = await upstreamOf((incoming, response) => {
    count += 1;
    if (count === 1) incoming.socket.destroy();
    else json(response, {});
  });
  const report = await played({ upstream: upstream.url, script: 'error*3,ok*2' }, async (url) => {
    for (let call = 0; call < 3; call += 1) assert.equal((await fetch(url)).status, 500);
    const none = await fetch(url);
    assert.deepEqual([none.status, ((await none.json()) as { code: string }).code], [502, 'bad_gateway']);
    assert.equal((await fetch(url)).status, 200);
  });
  assert.equal(report.reached, 4);
  assert.match(
    report.failure ?? '',
    /^The upstream http:\/\/127\.0\.0\.1:\d+ did not answer one request \(ECONNRESET\)$/,
  );
  assert.equal(verdicts(report), '');
});

test('an answer that the upstream breaks off is passed so, in chunks as they come', async () => {
  await using upstream = await upstreamOf((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write('first');
    setTimeout(() => response.destroy(), 50);
  });
  const report = await played({ upstream: upstream.url, script: 'ok' }, async (url) => {
    const answer = await fetch(url);
    const reader = answer.body?.getReader();
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), 'first');
    await assert.rejects(reader?.read() ?? Promise.resolve());
  });
  assert.deepEqual(steps(report), ['ok 200 false']);
  assert.equal(report.failure, undefined);
});

test('an answer of HTTP/1.0, whose end is that of its connection, is passed whole', async () => {
  await using upstream = await upstreamOf((_, { socket }) =>
    socket?.end('HTTP/1.0 201 Created\r\nContent-Type: application/json\r\n\r\n{}'),
  );
  const report = await played({ upstream: upstream.url, script: 'lost,ok' }, async (url) => {
    await assert.rejects(fetch(url, { method: 'POST' }));
    assert.equal(await (await fetch(url, { method: 'POST' })).text(), '{}');
  });
  assert.deepEqual(steps(report), ['lost null false', 'ok 201 true']);
});

test('bodies stream both ways: an answer begins before the request has ended', async () => {
  await using upstream = await upstreamOf(async (incoming, response) => {
    for await (const each of incoming) if (!response.write(each)) await once(response, 'drain');
    response.end();
  });
  await using proxy = await openProxy({ upstream: upstream.url, script: 'ok' });
  const sent = request(proxy.url, { method: 'POST' });
  sent.write('first');
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks = answer.setEncoding('utf8')[Symbol.asyncIterator]();
  assert.equal((await chunks.next()).value, 'first');
  sent.end('second');
  assert.equal((await chunks.next()).value, 'second');
  assert.equal((await chunks.next()).done, true);
});

test('interim answers pass, an upgrade is 501, and a preflight spends no step', async () => {
  await using upstream = await upstreamOf((incoming, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' });
    json(response, { method: incoming.method });
  });
  const report = await played({ upstream: upstream.url, script: 'ok*2' }, async (url) => {
    const early = request(url, { headers: { expect: '100-continue' }, method: 'POST' });
    const interim: [number, unknown][] = [];
    early.on('information', ({ statusCode, headers }) => interim.push([statusCode, headers.link]));
    early.end('body');
    const [answer] = (await once(early, 'response')) as [IncomingMessage];
    await text(answer);
    assert.equal(answer.headers.connection, 'keep-alive');
    assert.deepEqual(interim, [
      [100, undefined],
      [103, '</a.css>; rel=preload'],
    ]);
    const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'GET' };
    const asked = await fetch(url, { method: 'OPTIONS', headers: preflight });
    assert.deepEqual(await asked.json(), { method: 'OPTIONS' });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    assert.match(`${await once(socket, 'data')}`, /^HTTP\/1\.1 501 /);
    socket.destroy();
  });
  assert.deepEqual(steps(report), ['ok 200 true']);
});

test('a Retry-After of the upstream itself is judged, also a date, and one that is malformed is none', async () => {
  const later = new Date(Date.now() + 60_000).toUTCString();
  const [, day = '', month, year = '', time] = later.split(' ');
  for (const [retryAfter = '', waits, status = '429'] of [
    ['60', 'broken'],
    [later, 'broken', '502'],
    [`Sunday, ${day}-${month}-${year.slice(2)} ${time} GMT`, 'broken', '500'],
    ...['1.5', '-1', 'soon 5', '2020-01-01T00:00:00Z'].map((text) => [text, 'not met']),
  ]) {
    await using upstream = await upstreamOf((_, response) => {
      response.writeHead(Number(status), { 'retry-after': retryAfter }).end();
    });
    const report = await played({ upstream: upstream.url, script: 'ok*2' }, async (url) => {
      for (let call = 0; call < 2; call += 1) await (await fetch(url)).text();
    });
    assert.equal(verdicts(report).includes('waits') ? 'broken' : 'not met', waits, retryAfter);
    assert.equal(report.requests[0]?.retryAfter === null, waits === 'not met', retryAfter);
  }
});

test('a request that comes within the millisecond after a refusal is early', async () => {
  const report = await played({ upstream: 'http://127.0.0.1:1', script: 'limit:1,ok' }, async (url) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8');
    const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    // The second one is sent by the event that brings the answer to the first.
    socket.once('data', () => socket.write(get)).write(get);
    await once(socket, 'data');
    await once(socket, 'data');
    socket.destroy();
  });
  assert.equal(verdicts(report), 'waits broken');
});

describe('over TLS', { skip: missingPrograms('openssl') }, () => {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder.path, 'key.pem'), join(folder.path, 'cert.pem')];
  before(() => {
    const args =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';
    execFileSync('openssl', [...args.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' });
  });
  after(() => folder[Symbol.dispose]());
  const fetching = (url: string) => ['--', process.execPath, '-e', `fetch(${url})`];

  test('an upstream is verified, by a certificate of its own where one is given', async () => {
    const [privateKey, ca] = [key, cert].map((file) => readFileSync(file, 'utf8'));
    const server = createHttpsServer({ key: privateKey, cert: ca }, (_, response) => json(response, { secure: true }));
    await using upstream = await standing(server, 'https');
    const get = async (url: string) => (await fetch(url)).status;
    const refused = await played({ upstream: upstream.url, script: 'ok' }, async (url) =>
      assert.equal(await get(url), 502),
    );
    assert.match(refused.failure ?? '', /did not answer one request \(DEPTH_ZERO_SELF_SIGNED_CERT\); --ca FILE/);
    const passed = await played({ upstream: upstream.url, script: 'ok', ca }, async (url) =>
      assert.equal(await get(url), 200),
    );
    assert.equal(passed.failure, undefined);
    const words = ['--upstream', upstream.url, '--ca', cert, ...fetching('process.env.REFEREE_URL')];
    const { code, stderr } = await run(['client', 'ok', ...words]);
    assert.equal(code, 0, stderr);
  });

  test('a client that insists on it is spoken to by the certificate of --cert', async () => {
    await using upstream = await upstreamOf((_, response) => json(response, {}));
    const secure = ['--upstream', upstream.url, '--cert', cert, '--cert-key', key];
    const { code, stdout, stderr } = await run(
      ['client', 'ok', ...secure, '--json', ...fetching("new URL(process.env.REFEREE_URL.replace(/^http:/, 'none:'))")],
      { env: { PATH: process.env.PATH ?? '', NODE_EXTRA_CA_CERTS: cert } },
    );
    assert.equal(code, 0, stdout + stderr);
    assert.equal(JSON.parse(stdout).calls[0].kind, 'GET /');
    for (const [given, said] of [
      [cert, /^api-referee: --cert and --cert-key: .*cert\.pem are no certificate in PEM and its key; [^\n]*\n$/],
      [join(folder.path, 'none.pem'), /^api-referee: --cert-key .*none\.pem[^\n]*\n$/],
    ] as const) {
      const wrong = await run(['client', 'ok', ...secure.slice(0, -1), given, ...fetching('1')]);
      assert.equal(wrong.code, 2);
      assert.match(wrong.stderr, said);
    }
  });
});

test('an upstream outside private networks, and an address that is none, are refused', async () => {
  const opened = (upstream: string) => openProxy({ upstream, script: 'ok' });
  for (const [upstream, message] of [
    ['http://192.0.2.1/', /is at 192\.0\.2\.1, which is no private address; --remote allows that/],
    ['ftp://127.0.0.1/', /--upstream is "ftp:/],
    ['http://127.0.0.1/?a', /write a base address/],
    ['http://no-such-host.invalid/', /The upstream cannot be found/],
    ['http://me@127.0.0.1/', /write a base address/],
    ['http://127.0.0.1/#a', /write a base address/],
  ] as const) {
    await assert.rejects(opened(upstream), message);
  }
  const others = '172.32.0.1 172.15.0.1 11.0.0.1 192.169.0.1 169.253.1.1 126.0.0.1 [::2] [fe00::1] [fec0::1]';
  for (const host of others.split(' ')) {
    await assert.rejects(opened(`http://${host}/`), /which is no private address/, host);
  }
  const own = '10.255.0.1 172.31.255.255 192.168.255.1 169.254.1.1 127.255.0.1 [::1] [fdff::1] [febf::1]';
  for (const host of own.split(' ')) await (await opened(`http://${host}/`)).end();
  await using far = await openProxy({ upstream: 'http://192.0.2.1/', script: 'ok', isRemote: true });
  assert.ok(far.url);
});
