import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../../test/kit/clock.ts';
import { HOST, request } from '../../../test/kit/edge/corpus.ts';
import { openRaw, type RawConnection } from '../../../test/kit/edge/raw.ts';
import { recordedEvents } from '../../../test/kit/service.ts';
import { CatalogError } from '../../catalog/error.ts';
import { errorAnswer } from '../errors.ts';
import { BODY_BYTES_MAX } from './body.ts';
import type { Exchange } from './exchange.ts';
import { openListener } from './listener.ts';
import { hasFragment, readHead, readJson } from './request.ts';

/** How a body is read, on a real socket: the answer is what was read, or the error. */

type Read = (exchange: Exchange) => Promise<unknown>;

/** What a reader made of the requests so far; `raw` is a connection to it. */
async function reading(read: Read) {
  const [failures, exchanges]: [CatalogError[], Exchange[]] = [[], []];
  const listener = await openListener(
    async (exchange) => {
      exchanges.push(exchange);
      try {
        exchange.answer({ status: 200, body: JSON.stringify(await read(exchange)) });
      } catch (error) {
        if (error instanceof CatalogError) failures.push(error);
        exchange.answer(errorAnswer(error));
      }
    },
    { time: manualClock(), events: recordedEvents() },
    { host: '127.0.0.1', port: 0 },
  );
  const raw = await openRaw(`http://127.0.0.1:${listener.port}`);
  return {
    raw,
    failures,
    exchanges,
    async [Symbol.asyncDispose]() {
      await raw[Symbol.asyncDispose]();
      await listener.stop(0);
    },
  };
}

function post(...headers: string[]): string {
  return request('POST / HTTP/1.1', HOST, ...headers);
}

/** What comes of a body: what was read, or the code and message of the error. */
async function outcome(raw: RawConnection, bytes: string | Uint8Array, ...headers: string[]) {
  const body = Buffer.from(bytes as string);
  await raw.send(Buffer.concat([Buffer.from(post(`Content-Length: ${body.length}`, ...headers), 'latin1'), body]));
  return told(raw);
}

async function told(raw: RawConnection): Promise<unknown> {
  const answer = await raw.answer();
  const body = JSON.parse(answer.body);
  return answer.status === 200 ? body : `${body.code}: ${body.message}`;
}

test('the type of a body is JSON in UTF-8, or is not told', async () => {
  await using at = await reading(readJson);
  for (const type of [
    undefined,
    'application/json',
    'Application/JSON',
    'application/json;',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json \t; \ta=b \t;\t charset=utf-8 \t; ; b="x\\"y; charset=latin1"',
  ]) {
    const headers = type === undefined ? [] : [`Content-Type: ${type}`];
    assert.deepEqual(await outcome(at.raw, '{"a":[1]}', ...headers), { a: [1] }, `${type}`);
    assert.equal(String(at.exchanges.at(-1)?.bodyBytes), '{"a":[1]}');
  }
  for (const type of [
    '',
    'text/plain',
    'xapplication/json',
    'application/jsonx',
    'application/json charset=utf-8',
    'application/json; charset',
    'application/json; charset=latin1',
    'application/json; CHARSET=latin1',
    'application/json; a=b; charset=latin1',
    'application/json; charset=latin1; a=b',
    'application/json; charset=utf-8x',
    'application/json; charset=xutf-8',
    "application/json; charset='utf-8'",
    'application/json; a=x y',
    'application/json; a=b c=d',
    'application/json; "a"=b',
    'application/json; a="\\"',
  ]) {
    assert.equal(
      await outcome(at.raw, '{}', `Content-Type: ${type}`),
      `unsupported_media_type: The Content-Type is ${JSON.stringify(type)}; send application/json in UTF-8`,
    );
  }
  const encoded = 'unsupported_media_type: The body has a Content-Encoding; send it without one';
  assert.equal(await outcome(at.raw, '{}', 'Content-Encoding: gzip'), encoded);
});

test('a body is strict JSON in strict UTF-8', async () => {
  await using at = await reading(readJson);
  assert.equal(await outcome(at.raw, '"é🐕"'), 'é🐕');
  for (const [body, message] of [
    ['', 'The body is empty; send a JSON object'],
    [' ', 'The body is empty; send a JSON object'],
    ['{"a":secret}', 'The body is not JSON: Unexpected token "s"'],
    ['\ufeff{}', 'The body begins with a byte order mark, at position 0; send it without'],
    ['NaN', 'The body is not JSON: Unexpected token "NaN"'],
    ['{"a":1}{"b":2}', 'The body is not JSON: Unexpected non-whitespace character after JSON at position 7'],
    ['{"a":[],"b":[[,1]]}', 'The body is not JSON: Unexpected token ","'],
    ['{"a\\"":"\\u00e9","b":-1.5e3,"c":tru}', 'The body is not JSON: Unexpected token "}"'],
    ['['.repeat(50_000), 'The body is not JSON: It ends too early, at position 50000'],
    [`["${'é'.repeat(90_000)}", nul]`, 'The body is not JSON: Unexpected token "]"'],
    ['{a:1}', "The body is not JSON: Expected property name or '}' in JSON at position 1"],
    [`${' '.repeat(30)}{a:1}`, "The body is not JSON: Expected property name or '}' in JSON at position 31"],
    [Buffer.from([0x22, 0xff, 0x22]), 'The body is not UTF-8; send JSON in UTF-8'],
  ] as const) {
    assert.equal(await outcome(at.raw, body), `invalid_json: ${message}`);
  }
});

const TOO_LARGE = `payload_too_large: The body is larger than ${BODY_BYTES_MAX} bytes; send less`;

test('a body of 256 KiB is read, however it comes, and not one of a byte more', async () => {
  await using at = await reading(async (exchange) => {
    const text = await readJson(exchange);
    return typeof text === 'string' && text.length;
  });
  const largest = JSON.stringify('x'.repeat(BODY_BYTES_MAX - 2));
  assert.equal(await outcome(at.raw, largest), BODY_BYTES_MAX - 2);
  const half = BODY_BYTES_MAX / 2;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  await at.raw.send(post('Transfer-Encoding: chunked') + chunk(largest.slice(0, half)));
  await nextTurn();
  await at.raw.send(`${chunk(largest.slice(half))}0\r\n\r\n`);
  assert.equal(await told(at.raw), BODY_BYTES_MAX - 2);
  await at.raw.send(post('Transfer-Encoding: chunked') + chunk(largest) + chunk(' '));
  assert.equal(await told(at.raw), TOO_LARGE);
  await using other = await reading(readJson);
  await other.raw.send(post(`Content-Length: ${BODY_BYTES_MAX + 1}`));
  assert.equal(await told(other.raw), TOO_LARGE, 'before it was sent');
});

test('path and query are read from the origin form, and from the absolute form without its host', async () => {
  await using at = await reading(async (exchange) => {
    readHead(exchange);
    return [exchange.path, `${exchange.query}`, hasFragment(exchange)];
  });
  for (const [line, path, query, isFragment = false] of [
    ['GET /', '/', ''],
    ['GET /v1/pets/', '/v1/pets/', ''],
    ['GET /v1/pets?', '/v1/pets', ''],
    ['GET /v1/pets?a=1&b=?', '/v1/pets', 'a=1&b=%3F'],
    ['GET /?a=%zz', '/', 'a=%25zz'],
    ['GET /v1/pets?a=1#b', '/v1/pets', 'a=1%23b', true],
    ['GET /v1/pets#a?b=1', '/v1/pets', '', true],
    ['GET /%41%C3%A9', '/%41%C3%A9', ''],
    ['GET http://pets.example', '/', ''],
    ['GET HTTPS://pets.example:443/v1/pets?a=1', '/v1/pets', 'a=1'],
    ['GET http://[::1]:80?a=1', '/', 'a=1'],
    ['GET /http://pets.example/v1', '/http://pets.example/v1', ''],
    ['OPTIONS *', '*', ''],
    ['OPTIONS /v1?a=1', '/v1', 'a=1'],
  ] as const) {
    await at.raw.send(request(`${line} HTTP/1.1`, HOST));
    assert.deepEqual(await told(at.raw), [path, query, isFragment], line);
  }
});
