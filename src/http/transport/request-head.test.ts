import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../catalog/error.ts';
import type { Exchange } from './exchange.ts';
import { hasFragment, readHead } from './request-head.ts';

interface Head {
  readonly url?: string;
  readonly method?: string;
  readonly httpVersion?: string;
  /** Undefined: no Host. */
  readonly host?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly failure?: CatalogError;
}

/** Path and query that the gate sets, or the code and message of the rule that it finds broken. */
function read(head: Head): string | { path: string; query: string } {
  const { url = '/', method = 'GET', httpVersion = '1.1', headers = {}, failure } = head;
  const host = 'host' in head ? head.host : 'pets.example';
  const request = { url, method, httpVersion, headers: { ...headers, ...(host !== undefined && { host }) } };
  const exchange = { request, failure, path: '', query: new URLSearchParams() } as unknown as Exchange;
  try {
    readHead(exchange);
  } catch (error) {
    assert.ok(error instanceof CatalogError);
    return `${error.code}: ${error.message}`;
  }
  return { path: exchange.path, query: `${exchange.query}` };
}

test('path and query are read from the origin form, and from the absolute form without its host', () => {
  for (const [url, path, query] of [
    ['/', '/', ''],
    ['/v1/pets', '/v1/pets', ''],
    ['/v1/pets/', '/v1/pets/', ''],
    ['/v1/pets?', '/v1/pets', ''],
    ['/v1/pets?a=1&b=?', '/v1/pets', 'a=1&b=%3F'],
    ['/v1/pets?a=1#b', '/v1/pets', 'a=1%23b'],
    ['/v1/pets#a?b=1', '/v1/pets', ''],
    ['/%41%C3%A9', '/%41%C3%A9', ''],
    ['http://pets.example', '/', ''],
    ['http://pets.example/', '/', ''],
    ['HTTPS://pets.example:443/v1/pets?a=1', '/v1/pets', 'a=1'],
    ['http://[::1]:80?a=1', '/', 'a=1'],
    ['/http://pets.example/v1', '/http://pets.example/v1', ''],
  ] as const) {
    assert.deepEqual(read({ url }), { path, query }, url);
  }
  assert.deepEqual(read({ url: '*', method: 'OPTIONS' }), { path: '*', query: '' });
  assert.deepEqual(read({ url: '/v1?a=1', method: 'OPTIONS' }), { path: '/v1', query: 'a=1' });
});

test('any other target is refused', () => {
  for (const url of [
    '',
    '*',
    '?a=1',
    'v1/pets',
    'ftp://pets.example/v1',
    'xhttp://pets.example/v1',
    'http:///v1',
    'http://a b/v1',
    'http://user@pets.example/v1',
  ]) {
    assert.equal(read({ url }), 'malformed_request: The address is not a path; begin it with /', url);
  }
  const unescaped = 'malformed_request: The path has an escape that is not valid UTF-8; write % as %25';
  for (const url of ['/%', '/%zz', '/%ff', '/a%4?b']) assert.equal(read({ url }), unescaped, url);
  assert.equal(read({ url: '/%zz', method: 'OPTIONS' }), unescaped);
  assert.deepEqual(read({ url: '/?a=%zz' }), { path: '/', query: 'a=%25zz' }, 'a query may hold anything');
  assert.equal(typeof read({ url: `/${'a'.repeat(8 * 1024 - 1)}` }), 'object');
  const tooLong = 'uri_too_long: The address is longer than 8192 characters; shorten it';
  assert.equal(read({ url: `/${'a'.repeat(8 * 1024)}` }), tooLong);
});

test('the version is 1.1, or 1.0 without a Host and without chunks', () => {
  for (const httpVersion of ['0.9', '1.2', '2.0', '']) {
    const unsupported = `http_version_not_supported: HTTP/${httpVersion} is not supported; use HTTP/1.1`;
    assert.equal(read({ httpVersion }), unsupported);
  }
  assert.equal(typeof read({ httpVersion: '1.0', host: undefined }), 'object');
  const headers = { 'transfer-encoding': 'chunked' };
  const unchunked = 'malformed_request: HTTP/1.0 has no Transfer-Encoding; send a Content-Length';
  assert.equal(read({ httpVersion: '1.0', headers }), unchunked);
});

test('the Host is a name or an address with an optional port', () => {
  for (const host of [
    '',
    'a',
    'a:80',
    'a:',
    '127.0.0.1:8080',
    '[::1]',
    '[v1.a:b]:80',
    'a_b',
    "!$&'()*+;=~",
    '%4f',
    'a.',
  ]) {
    assert.equal(typeof read({ host }), 'object', host);
  }
  const wrong = [
    'a b',
    'a/b',
    'a,b',
    'u@a',
    'a:x',
    'a:80:80',
    '[::1',
    '::1',
    '[]',
    'a[::1]',
    '[::1]a',
    '%4',
    '%4g',
    'a%',
  ];
  for (const host of [...wrong, undefined]) {
    const refused = 'malformed_request: The request needs exactly one valid Host header';
    assert.equal(read({ host }), refused, host ?? 'none');
    if (host !== undefined) assert.equal(read({ host, httpVersion: '1.0' }), refused, host);
  }
});

test('the only transfer coding is chunked', () => {
  for (const coding of ['chunked', 'CHUNKED']) {
    assert.equal(typeof read({ headers: { 'transfer-encoding': coding } }), 'object');
  }
  for (const coding of ['', 'gzip', 'gzip, chunked', 'chunked, gzip', 'xchunked', 'chunkedx']) {
    const unsupported = 'not_implemented: The only supported Transfer-Encoding is chunked';
    assert.equal(read({ headers: { 'transfer-encoding': coding } }), unsupported, coding);
  }
});

test('a request that cannot be read is refused for that reason alone', () => {
  const failure = new CatalogError('headers_too_large', 'The headers are too large');
  assert.equal(read({ failure, httpVersion: '2.0', host: undefined }), `headers_too_large: ${failure.message}`);
});

test('a target has a fragment wherever its # stands', () => {
  const answers = ['/a#', '/a?b#c', '/a', undefined].map((url) => hasFragment({ request: { url } } as Exchange));
  assert.deepEqual(answers, [true, true, false, false]);
});
