import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { untilTrue } from '../../test/kit/clock.ts';
import { openRaw } from '../../test/kit/edge/raw.ts';
import { openProxy } from '../src/proxy/proxy.ts';
import { headOf, json, played, steps, upstreamOf } from './kit/upstream.ts';

/** What a proxy does with bodies that are large, late or not waited for. */

test('requests are the same by path, query and body, whatever the boundary of a form or a key in the body', async () => {
  await using upstream = await upstreamOf(async (incoming, response) => {
    await text(incoming);
    json(response, {});
  });
  const idempotency = ['Idempotency-Key', '$.meta.key'];
  const report = await played({ upstream: upstream.url, script: 'ok', idempotency }, async (url) => {
    for (const target of ['/a', '/a?b', '/a?b']) await fetch(url + target);
    for (const body of ['one', 'two', 'two']) await fetch(url, { method: 'POST', body });
    for (const name of ['a', 'a', 'b']) {
      const body = new FormData();
      body.set('name', name);
      await fetch(url, { method: 'POST', body });
    }
    for (const key of [1, 2]) await fetch(url, { method: 'POST', body: `{"meta":{"key":${key}},"name":"a"}` });
  });
  const calls = report.requests.map(({ call }) => call);
  assert.deepEqual(
    calls.map((call) => calls.indexOf(call)),
    [0, 1, 1, 3, 4, 4, 6, 6, 8, 9, 9],
  );
  assert.equal(new Set(report.requests.slice(-2).map(({ idempotencyKey }) => idempotencyKey)).size, 2);
});

test('an answer that a client did not read is not delivered, and one who left before it spends no step', async () => {
  const sockets: Socket[] = [];
  await using upstream = await upstreamOf((_, response) => {
    sockets.at(-1)?.destroy();
    json(response, {});
  });
  const report = await played({ upstream: upstream.url, script: 'error*2,ok,unknown,limit:1' }, async (url) => {
    for (const end of ['unread', 'unread', 'meanwhile', 'meanwhile', 'before']) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(headOf('GET / HTTP/1.1', ...(sockets.length === 1 ? [] : ['Connection: close'])));
      // A system resets a connection that is closed with an answer that is unread.
      if (end === 'unread') await once(socket, 'data').then(() => socket.resetAndDestroy());
      else if (end === 'meanwhile') await once(socket, 'close');
      else socket.destroy();
    }
  });
  const met = ['error 500 false', 'error 500 false', 'ok null false', 'unknown null false', 'null null false'];
  assert.deepEqual(steps(report), met);
});

test('a client that leaves is not answered, and the upstream is left too', async () => {
  const left = Promise.withResolvers<void>();
  let asked = Promise.withResolvers<void>();
  await using upstream = await upstreamOf((incoming, response) => {
    asked.resolve();
    if (incoming.url === '/slow') json(response, {});
    else incoming.socket.once('close', () => left.resolve());
  });
  const report = await played({ upstream: upstream.url, script: 'ok,slow:60' }, async (url) => {
    for (const path of ['/never', '/slow']) {
      const leaving = new AbortController();
      const sent = fetch(url + path, { signal: leaving.signal });
      await asked.promise;
      asked = Promise.withResolvers();
      leaving.abort();
      await assert.rejects(sent);
    }
    await left.promise;
  });
  assert.deepEqual([steps(report), report.failure], [['ok null false', 'slow:60 null false'], undefined]);
});

test('an answer before the end of its request ends the connection, and a refusal takes the body that waits', async () => {
  await using upstream = await upstreamOf((_, response) =>
    response.writeHead(413, { 'content-length': '2' }).end('{}'),
  );
  await using proxy = await openProxy({ upstream: upstream.url, script: 'ok,error' });
  await using raw = await openRaw(proxy.url);
  await raw.send(`${headOf('POST / HTTP/1.1', 'Content-Length: 10')}half `);
  assert.equal((await raw.answer()).headers.get('connection'), 'close');
  const waiting = request(proxy.url, { method: 'POST', headers: { expect: '100-continue', 'content-length': '4' } });
  waiting.once('continue', () => waiting.end('body'));
  const [answer] = (await once(waiting, 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 500);
  answer.resume();
  const { requests } = await proxy.end();
  // No digest of a body that did not arrive.
  assert.deepEqual([requests[0]?.body, requests[1]?.body?.length], [null, 22]);
});

test('of a JSON text 4 MiB are greased, and no more, which Node.js warns of nothing about', async (t) => {
  const warned = t.mock.fn();
  process.on('warning', warned);
  t.after(() => process.off('warning', warned));
  const sizes = [4 * 1024 * 1024, 4 * 1024 * 1024 + 1];
  await using upstream = await upstreamOf(async (incoming, response) => {
    await text(incoming);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"a":1}'.padEnd(sizes.shift() ?? 0));
  });
  const report = await played({ upstream: upstream.url, script: 'grease*2' }, async (url) => {
    const init = { method: 'POST', body: Buffer.alloc(4 * 1024 * 1024) };
    for (const isGreased of [true, false])
      assert.equal((await (await fetch(url, init)).text()).includes('grease'), isGreased);
  });
  assert.deepEqual([report.reached, warned.mock.callCount()], [1, 0]);
});

test('a cut answer has the first half of its body, and none comes of a body of one byte', async () => {
  for (const [body, received, step] of [
    ['hello world', /\r\n\r\nhello$/, 'cut 200 false'],
    ['!', /^$/, 'cut null false'],
  ] as const) {
    await using upstream = await upstreamOf((_, response) => {
      response.writeHead(200, { 'content-length': `${body.length}` }).end(body);
    });
    const report = await played({ upstream: upstream.url, script: 'cut' }, async (url) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.match(await text(socket), received);
    });
    assert.deepEqual(steps(report), [step]);
  }
});

test('a stream passes as it comes, with its trailers both ways, and an answer of a known length with addresses moved', async () => {
  const more = Promise.withResolvers<void>();
  let sent = '';
  await using upstream = await upstreamOf(async (incoming, response): Promise<unknown> => {
    await text(incoming);
    sent = incoming.trailers['x-sum'] ?? '';
    if (incoming.url === '/json') return json(response, { next: `${upstream.url}/things?page=2` });
    if (incoming.url === '/zip') {
      const body = gzipSync(JSON.stringify({ next: `${upstream.url}/things` }));
      const coded = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': body.length };
      return response.writeHead(200, coded).end(body);
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', trailer: 'x-sum' });
    response.write('data: 1\n\n');
    await more.promise;
    response.addTrailers({ 'x-sum': '7' });
    return response.end('data: 2\n\n');
  });
  const report = await played({ upstream: upstream.url, script: 'ok' }, async (url) => {
    const asking = request(`${url}/stream`, {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked', trailer: 'x-sum' },
    });
    asking.write('a');
    asking.addTrailers({ 'x-sum': '5' });
    asking.end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    const [first] = (await once(answer.setEncoding('utf8'), 'data')) as [string];
    assert.equal(first, 'data: 1\n\n', 'before the answer has ended');
    more.resolve();
    await once(answer, 'end');
    assert.deepEqual([answer.trailers, sent], [{ 'x-sum': '7' }, '5']);
    assert.deepEqual(await (await fetch(`${url}/json`)).json(), { next: `${url}/things?page=2` });
    await (await fetch(`${url}/zip`)).json();
  });
  assert.deepEqual(report.remarks, ['One answer had an address of the upstream that could not be moved']);
});

test('lost and cut act as soon as an answer begins, and the upstream is read to its end', async () => {
  const ended: string[] = [];
  let go = Promise.withResolvers<void>();
  await using upstream = await upstreamOf(async (incoming, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write('0123456789');
    await go.promise;
    response.end('rest', () => ended.push(incoming.url ?? ''));
  });
  await using proxy = await openProxy({ upstream: upstream.url, script: 'lost,cut' });
  for (const path of ['/lost', '/cut']) {
    go = Promise.withResolvers();
    const asking = request(proxy.url + path).on('error', () => {});
    asking.end();
    if (path === '/lost') await new Promise((resolve) => asking.once('close', resolve));
    else {
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      let received = '';
      answer
        .on('error', () => {})
        .on('data', (chunk) => {
          received += chunk;
        });
      await new Promise((resolve) => answer.once('close', resolve));
      assert.deepEqual([received, answer.complete], ['01234', false]);
    }
    assert.deepEqual(ended.includes(path), false);
    go.resolve();
    await untilTrue(() => ended.includes(path));
  }
});
