import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertAnswer, get, HOST, post, request } from '../kit/edge/corpus.ts';
import { openRaw } from '../kit/edge/raw.ts';
import { testService } from '../kit/service.ts';

const BODY = '{"name":"Dog"}';
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const GARBAGE = '\0\0@@@\r\n\r\n';
const MEBIBYTE = 1024 * 1024;

function refused(...headers: readonly string[]): string {
  return request('POST /v1/categories HTTP/1.1', HOST, 'Authorization: Bearer wrong', ...headers);
}

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'business' });

describe('connections', () => {
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

  test('a client that pipelines creates, then no HTTP, reads every answer', async () => {
    await using raw = await openRaw(service.url);
    const creates = withKey(post(BODY, LENGTH)).repeat(100);
    const sent = raw.send(Buffer.concat([Buffer.from(`${creates}no HTTP\r\n\r\n`), Buffer.alloc(4 * MEBIBYTE, 'x')]));
    const statuses = (await raw.answersUntilClosed()).map(({ status }) => status);
    assert.deepEqual(statuses, [...Array(100).fill(201), 400]);
    await sent;
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
});
