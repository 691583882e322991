import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endToEnd, forOtherBody, Mover } from './headers.ts';

test('a proxy keeps to itself what belongs to its connection, and nothing else', () => {
  const own = 'Connection Keep-Alive TE Transfer-Encoding Upgrade Proxy-Authenticate Proxy-Connection X-Named';
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

test('absolute addresses of the upstream are moved where headers have addresses, and cookies stay on the proxy', () => {
  const from = 'http://127.0.0.1:3000';
  const mover = new Mover(from, 'http://to:1');
  for (const [name, value, expected] of [
    ['Location', `${from}/a?b=c#d`, 'http://to:1/a?b=c#d'],
    ['Content-Location', `${from}/a`, 'http://to:1/a'],
    ['Location', '//127.0.0.1:3000/a', '//to:1/a'],
    ['Location', '/a', '/a'],
    ['X-Location', `${from}/a`, `${from}/a`],
    ['Link', `</a>; rel="a", <${from}/b>; rel="b"`, '</a>; rel="a", <http://to:1/b>; rel="b"'],
    ['Refresh', `5; url=${from}/a`, '5; url=http://to:1/a'],
    ['Set-Cookie', 'a=1; Domain=127.0.0.1; Path=/', 'a=1; Path=/'],
    ['Set-Cookie', 'a=1; Domain=other.example', 'a=1; Domain=other.example'],
    ['Location', 'http://127.0.0.1:3001/a', 'http://127.0.0.1:3001/a'],
  ] as const) {
    assert.deepEqual(mover.fields([[name, value]]), [[name, expected]]);
  }
});

test('in a text the exact origin is moved, with escaped slashes too, and no other host or port', () => {
  const mover = new Mover('http://a.example:80', 'http://to:1');
  for (const [text, moved] of [
    ['{"next":"http://a.example/b"}', '{"next":"http://to:1/b"}'],
    [String.raw`{"next":"http:\/\/a.example\/b"}`, String.raw`{"next":"http:\/\/to:1\/b"}`],
    ['"http://a.example"', '"http://to:1"'],
    ['"http://a.example.org/b"', '"http://a.example.org/b"'],
    ['"http://a.example:8080/b"', '"http://a.example:8080/b"'],
    ['"https://a.example/b"', '"https://a.example/b"'],
  ] as const) {
    assert.equal(mover.text(text), moved);
  }
});
