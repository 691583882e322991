import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Exchange } from '../transport/exchange.ts';
import { createdAnswer, currentAnswer, etagOf, isCurrent, onceIdOf } from './conditional.ts';

function asking(ifNoneMatch?: string): Exchange {
  const headers = ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch };
  return { request: { headers } } as unknown as Exchange;
}

test('a validator is current if one of those sent is the same, weak or not', () => {
  for (const [sent, expected] of [
    [undefined, false],
    ['', false],
    ['"a"', true],
    ['W/"a"', true],
    ['  "a"  ', true],
    ['"b", W/"c" ,"a"', true],
    ['*', true],
    [' * ', true],
    ['"b", *', false],
    ['"*"', false],
    ['"b"', false],
    ['a', false],
    ['xW/"a"', false],
    ['W/W/"a"', false],
    ['"W/a"', false],
    ['"a', false],
    ['"a-gzip"', true],
    ['"a;gzip"', true],
    ['"a--gzip"', true],
    ['W/"a-gzip"', true],
    ['"a-zstd"', true],
    ['"b", "a-br"', true],
    ['"b-gzip"', false],
    ['"a-gzip', false],
    ['"agzip"', false],
    ['"a-gzip-gzip"', false],
    ['"a-gzi"', false],
  ] as const) {
    assert.equal(isCurrent(sent, '"a"'), expected, `${sent}`);
    assert.equal(isCurrent(sent?.replace('"a', '"a-'), '"a-"'), expected, `${sent}, of a validator that ends in -`);
  }
});

test('an answer has a validator of its body and its headers, and no body for who has it already', () => {
  const answer = currentAnswer(asking('"other"'), '[1]', ['Link', 'next']);
  const [, etag = ''] = answer.headers ?? [];
  assert.match(etag, /^"[\w-]{22}"$/);
  const fresh = { headers: ['ETag', etag, 'Link', 'next'], cacheControl: 'private, no-cache' };
  assert.deepEqual(answer, { status: 200, body: '[1]', ...fresh });
  assert.deepEqual(currentAnswer(asking(etag), '[1]', ['Link', 'next']), { status: 304, ...fresh });
  const plain = currentAnswer(asking(), '[1]').headers ?? [];
  assert.deepEqual([plain.length, plain[0]], [2, 'ETag']);
  const etagOf = (...what: [string | readonly Uint8Array[], string[]?]) =>
    currentAnswer(asking(), ...what).headers?.[1] ?? '';
  assert.equal(etagOf([Buffer.from('[1'), Buffer.from(']')], ['Link', 'next']), etag, 'in parts as well');
  const others = [etagOf('[2]', ['Link', 'next']), etagOf('[1]'), etagOf('[1]', ['Link', 'last']), etagOf([], ['a'])];
  assert.equal(new Set([etag, ...others]).size, 5);
  assert.notEqual(etagOf('', ['a', 'b']), etagOf('', ['ab']));
});

test('the answer to a create says where the resource is, and whether it is a replay', () => {
  const resource = { id: 7, name: 'Rex' };
  const body = '{"id":7,"name":"Rex"}';
  const headers = ['Location', '/v1/pets/7', 'ETag', etagOf(body)];
  const answer = { status: 201, headers, cacheControl: 'private, no-cache', body };
  assert.deepEqual(createdAnswer('/pets/', { resource, isReplay: false }), answer);
  assert.deepEqual(createdAnswer('/pets/', { resource, isReplay: true }), {
    ...answer,
    headers: [...headers, 'Idempotency-Replayed', 'true'],
  });
});

const KEY = 'key_1';

interface Sent {
  readonly header?: string;
  /** How often the header was sent, where that is not once. */
  readonly all?: string[];
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
}

/** As a request arrives. */
function exchange({ header, all, method = 'POST', path = '/pets', body = '{}' }: Sent): Exchange {
  const name = 'idempotency-key';
  const headers = header === undefined ? {} : { [name]: header };
  const headersDistinct = header === undefined ? {} : { [name]: all ?? [header] };
  const request = { method, headers, headersDistinct };
  return { request, requestId: 'r-1', path, bodyBytes: Buffer.from(body) } as unknown as Exchange;
}

const fingerprintOf = (sent: Sent) => onceIdOf(exchange({ header: 'k', ...sent }), KEY).idempotency?.fingerprint;

test('a change comes from its key and its request, with the Idempotency-Key if there is one', () => {
  assert.deepEqual(onceIdOf(exchange({}), KEY), { keyId: KEY, requestId: 'r-1' });
  const fingerprint = createHash('sha256').update('POST /pets\n{}').digest('base64url');
  assert.deepEqual(onceIdOf(exchange({ header: 'mine' }), KEY), {
    keyId: KEY,
    requestId: 'r-1',
    idempotency: { key: 'mine', fingerprint },
  });
});

test('only the quotes around a key are left out', () => {
  for (const [header, key] of [
    ['"mine"', 'mine'],
    ['a"b"', 'a"b"'],
    ['"a"b"', 'a"b'],
    ['"', undefined],
    ['""', undefined],
    ['"a', undefined],
    [' a', undefined],
    ['a b~', 'a b~'],
    ['a\u007f', undefined],
    ['a\n', undefined],
    ['a'.repeat(255), 'a'.repeat(255)],
    ['a'.repeat(256), undefined],
    [`"${'a'.repeat(255)}"`, 'a'.repeat(255)],
    [`"${'a'.repeat(256)}"`, undefined],
  ] as const) {
    const origin = () => onceIdOf(exchange({ header }), KEY).idempotency?.key;
    if (key !== undefined) assert.equal(origin(), key);
    else assert.throws(origin, { code: 'validation_failed', message: /^Idempotency-Key is .*; send 1 to 255 print/ });
  }
});

test('several headers are refused', () => {
  const message = 'There are several Idempotency-Key headers; send one';
  const sent = exchange({ header: 'a, b', all: ['a', 'b'] });
  assert.throws(() => onceIdOf(sent, KEY), { code: 'validation_failed', message });
});

test('another method, path or body is another request', () => {
  const others = [{ method: 'PATCH' }, { path: '/pets/1' }, { body: '{ }' }, { path: '/pets/1', body: '' }, {}];
  assert.equal(new Set(others.map(fingerprintOf)).size, others.length);
  assert.equal(fingerprintOf({}), fingerprintOf({ header: 'other' }));
});
