import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endToEnd, forOtherBody, isJson, moved } from './headers.ts';

test('a proxy keeps to itself what belongs to its connection, and nothing else', () => {
  const own = 'Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade Proxy-Authenticate Proxy-Connection X-Named';
  const fields = own.split(' ').map((name) => [name, name === 'Connection' ? 'close, x-named' : 'x'] as const);
  const passed = [
    ['Via', 'x'],
    ['Date', 'x'],
    ['Expect', 'x'],
    ['Set-Cookie', 'a'],
    ['Set-Cookie', 'b'],
  ] as const;
  assert.deepEqual(endToEnd([...passed, ...fields]), passed);
});

test('another body has nothing that is true of the first one alone', () => {
  const own =
    'ETag Last-Modified Content-Length Content-MD5 Content-Digest Repr-Digest Digest Signature Signature-Input';
  const fields = own.split(' ').map((name) => [name, 'x'] as const);
  assert.deepEqual(forOtherBody([...fields, ['Content-Type', 'x']]), [['Content-Type', 'x']]);
});

test('absolute addresses of the upstream are moved in Location, Content-Location, Link, with query and fragment', () => {
  const from = 'http://127.0.0.1:3000';
  const addresses: readonly (readonly [name: string, value: string, expected: string])[] = [
    ['Location', `${from}/a?b=c#d`, 'http://to/a?b=c#d'],
    ['Content-Location', `${from}/a`, 'http://to/a'],
    ['Location', '/a', '/a'],
    ['X-Location', `${from}/a`, `${from}/a`],
    ['Link', `</a>; rel="a", <${from}/b>; rel="b"`, '</a>; rel="a", <http://to/b>; rel="b"'],
    ['Location', 'http://127.0.0.1:3001/a', 'http://127.0.0.1:3001/a'],
  ];
  const fields = addresses.map(([name, value]) => [name, value] as const);
  assert.deepEqual(
    moved(fields, from, 'http://to'),
    addresses.map(([name, , expected]) => [name, expected]),
  );
});

for (const [mediaType, isOne] of [
  ['application/json', true],
  ['Application/JSON ; charset=utf-8', true],
  ['application/problem+json', true],
  ['application/vnd.a.b-c+json', true],
  ['application/jsonl', false],
  ['text/json', false],
  ['application/xml', false],
  [undefined, false],
] as const) {
  test(`${mediaType} ${isOne ? 'is' : 'is not'} JSON`, () => assert.equal(isJson(mediaType), isOne));
}
