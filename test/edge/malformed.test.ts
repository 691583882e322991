import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUTHORIZATION, describeCorpus, get, HOST, post, type Row, request } from '../kit/edge/corpus.ts';
import { json, testService } from '../kit/service.ts';

const BODY = '{"name":"Dog"}';
const SIZE = BODY.length.toString(16);
const MALFORMED = '400 malformed_request, closed';
const UNSUPPORTED = '505 http_version_not_supported, closed';
const NOT_IMPLEMENTED = '501 not_implemented, closed';
const TOO_LARGE = '431 headers_too_large, closed';

/** A request line with the headers of a good request. */
function line(text: string): string {
  return request(text, HOST, AUTHORIZATION);
}

/** A GET of a target with everything else good. */
function target(text: string): string {
  return line(`GET ${text} HTTP/1.1`);
}

const CHUNK = `${SIZE}\r\n${BODY}\r\n`;

const requestLines: Row[] = [
  ['A good request', get(), '200, open'],
  ['A request after empty lines', `\r\n\r\n${get()}`, '200, open'],
  ['A request after a bare line feed', `\n${get()}`, '200, open'],
  ['A request line without a version', line('GET /v1/categories'), UNSUPPORTED],
  ['A bare HTTP/0.9 request', 'GET /v1/categories\r\n', MALFORMED, { halfClose: true }],
  ['HTTP/0.9', line('GET /v1/categories HTTP/0.9'), UNSUPPORTED],
  ['HTTP/1.2', line('GET /v1/categories HTTP/1.2'), UNSUPPORTED],
  ['HTTP/2.0', line('GET /v1/categories HTTP/2.0'), UNSUPPORTED],
  ['HTTP/2', line('GET /v1/categories HTTP/2'), UNSUPPORTED],
  ['HTTP/3.0', line('GET /v1/categories HTTP/3.0'), UNSUPPORTED],
  ['HTTP/9.9', line('GET /v1/categories HTTP/9.9'), UNSUPPORTED],
  ['HTTP/11.1', line('GET /v1/categories HTTP/11.1'), UNSUPPORTED],
  ['HTTP/1', line('GET /v1/categories HTTP/1'), UNSUPPORTED],
  ['HTTP/x.y', line('GET /v1/categories HTTP/x.y'), UNSUPPORTED],
  ['HTTP/1.10', line('GET /v1/categories HTTP/1.10'), MALFORMED],
  ['http/1.1 in lower case', line('GET /v1/categories http/1.1'), MALFORMED],
  ['HTTPS/1.1', line('GET /v1/categories HTTPS/1.1'), MALFORMED],
  ['The preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', UNSUPPORTED],
  ['The preface of HTTP/2 with a wrong version', line('PRI * HTTP/1.1'), UNSUPPORTED],
  // The parser takes RTSP and ICE for HTTP and does not say so.
  ['RTSP/1.0', line('GET /v1/categories RTSP/1.0'), '200, closed'],
  ['RTSP/1.0 with a method of its own', line('DESCRIBE /v1/categories RTSP/1.0'), '405 method_not_allowed, closed'],
  ['RTSP/1.0 with a method that it lacks', line('PATCH /v1/categories RTSP/1.0'), MALFORMED],
  ['RTSP/2.0', line('DESCRIBE /v1/categories RTSP/2.0'), UNSUPPORTED],
  ['ICE/1.0', line('GET /v1/categories ICE/1.0'), MALFORMED],
  ['SIP', line('INVITE sip:a@b SIP/2.0'), NOT_IMPLEMENTED, { whole: true }],
  ['A space before the method', line(' GET /v1/categories HTTP/1.1'), MALFORMED],
  ['A tab between method and target', line('GET\t/v1/categories HTTP/1.1'), MALFORMED],
  ['A tab between target and version', line('GET /v1/categories\tHTTP/1.1'), MALFORMED],
  ['A space in the target', line('GET /v1/cat egories HTTP/1.1'), MALFORMED],
  ['A space after the version', line('GET /v1/categories HTTP/1.1 '), MALFORMED],
  // RFC 9112, section 3, lets a recipient split the line at white space, and the parser does.
  ['Two spaces between method and target', line('GET  /v1/categories HTTP/1.1'), '200, open'],
  ['No target', line('GET HTTP/1.1'), MALFORMED],
  ['A method alone', line('GET'), MALFORMED],
  ['A target alone', line('/v1/categories'), MALFORMED],
  ['A carriage return too many', request('GET /v1/categories HTTP/1.1\r', HOST, AUTHORIZATION), MALFORMED],
  ['A request line ended by a bare line feed', `GET /v1/categories HTTP/1.1\n${HOST}\r\n\r\n`, MALFORMED],
  ['A request in which all lines end in bare line feeds', get().replaceAll('\r\n', '\n'), MALFORMED],
  ['A request in which all lines end in bare carriage returns', get().replaceAll('\r\n', '\r'), MALFORMED],
  ['A NUL', '\0', MALFORMED],
  ['A NUL in the method', line('G\0ET /v1/categories HTTP/1.1'), MALFORMED],
  ['A NUL in the target', target('/v1/cat\0egories'), MALFORMED],
  ['A control character in the target', target('/v1/cat\x01egories'), MALFORMED],
  ['A DEL in the target', target('/v1/cat\x7fegories'), MALFORMED],
  ['A byte above ASCII in the target', target('/v1/cat\xe9gories'), MALFORMED],
  ['A TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', MALFORMED],
  ['A JSON document', `${BODY}\r\n\r\n`, MALFORMED],
  ['A status line', 'HTTP/1.1 200 OK\r\n\r\n', MALFORMED, { whole: true }],
  ['A word before a line that is one of a request', 'GE\nFOO / HTTP/1.1\r\n\r\n', MALFORMED],
  ['A quoted method', line('"GET" /v1/categories HTTP/1.1'), MALFORMED],
];

const methods: Row[] = [
  ['A method in lower case', line('get /v1/categories HTTP/1.1'), NOT_IMPLEMENTED, { whole: true }],
  ['An unknown method', line('FOO /v1/categories HTTP/1.1'), NOT_IMPLEMENTED, { whole: true }],
  ['A method that begins like another', line('GETX /v1/categories HTTP/1.1'), NOT_IMPLEMENTED, { whole: true }],
  ['A method broken off by a space', line('GE T /v1/categories HTTP/1.1'), NOT_IMPLEMENTED, { whole: true }],
  ['A method of odd token characters', line("!#$%&'*+.^_`|~-9 / HTTP/1.1"), NOT_IMPLEMENTED, { whole: true }],
  ['A method of RTSP over HTTP', line('DESCRIBE /v1/categories HTTP/1.1'), NOT_IMPLEMENTED],
  ['A word without a space after it', 'FOO\r\n\r\n', MALFORMED],
  ['CONNECT to a host and port', line('CONNECT pets.example:443 HTTP/1.1'), NOT_IMPLEMENTED],
  ['CONNECT to a path', line('CONNECT /v1/categories HTTP/1.1'), NOT_IMPLEMENTED],
  ['CONNECT with what follows it', `${line('CONNECT pets.example:443 HTTP/1.1')}hello`, NOT_IMPLEMENTED],
  ['CONNECT without a key', request('CONNECT pets.example:443 HTTP/1.1', HOST), NOT_IMPLEMENTED],
  ...['TRACE', 'PUT', 'PATCH', 'DELETE', 'QUERY', 'PROPFIND', 'M-SEARCH', 'SOURCE', 'PURGE'].map(
    (method): Row => [
      `${method} where there is no such route`,
      line(`${method} /v1/categories HTTP/1.1`),
      '405 method_not_allowed, open',
    ],
  ),
  ['TRACE without a key', request('TRACE /v1/categories HTTP/1.1', HOST), '401 missing_api_key, open'],
  ['A POST where there is only GET', line('POST /v1/rate_limit HTTP/1.1'), '405 method_not_allowed, open'],
  ['HEAD of the list', line('HEAD /v1/categories HTTP/1.1'), '200, closed', { toHead: true, halfClose: true }],
  ['HEAD of nothing', line('HEAD /v1/nothing HTTP/1.1'), '404, closed', { toHead: true, halfClose: true }],
  ['HEAD of a bad escape', line('HEAD /v1/% HTTP/1.1'), '400, closed', { toHead: true }],
  ['OPTIONS of a path', line('OPTIONS /v1/categories HTTP/1.1'), '204, open'],
  ['OPTIONS of nothing', line('OPTIONS /v1/nothing HTTP/1.1'), '404 not_found, open'],
  ['OPTIONS of an empty id', line('OPTIONS /v1/categories/ HTTP/1.1'), '404 not_found, open'],
  ['DELETE of an empty id', line('DELETE /v1/categories/ HTTP/1.1'), '404 not_found, open'],
  ['OPTIONS of the service', line('OPTIONS * HTTP/1.1'), '204, open'],
];

const targets: Row[] = [
  ['An absolute address', target('http://pets.example/v1/categories'), '200, open'],
  ['An absolute address in capitals', target('HTTP://PETS.EXAMPLE/v1/categories'), '200, open'],
  ['An absolute address of another host', target('https://other.example:8443/v1/categories'), '200, open'],
  ['An absolute address of another scheme', target('ftp://pets.example/v1/categories'), MALFORMED],
  ['An absolute address without a host', target('http:///v1/categories'), MALFORMED],
  ['An absolute address without slashes', target('http:/v1/categories'), MALFORMED],
  ['An absolute address with a user', target('http://user:pass@pets.example/v1/categories'), MALFORMED],
  ['An absolute address with a bad port', target('http://pets.example:x/v1/categories'), MALFORMED],
  ['An absolute address of nothing', target('http://pets.example'), '200, open', { isOutside: true }],
  ['An absolute address of a query', target('http://pets.example?a'), '200, open', { isOutside: true }],
  ['An address that is not hierarchical', target('mailto:pets@pets.example'), MALFORMED],
  ['GET of an asterisk', target('*'), MALFORMED],
  ['A relative path', target('v1/categories'), MALFORMED],
  ['A query alone', target('?limit=1'), MALFORMED],
  ['A fragment alone', target('#a'), MALFORMED],
  ['A fragment', target('/v1/categories#a'), '404 not_found, open'],
  ['A fragment after a query', target('/v1/categories?limit=1#a'), '404 not_found, open'],
  ['A fragment on a page', target('/livez#a'), '404 not_found, open', { isOutside: true }],
  ['A doubled slash in front', target('//v1/categories'), '404 not_found, open', { isOutside: true }],
  ['A doubled slash within', target('/v1//categories'), '404 not_found, open'],
  ['A trailing slash', target('/v1/categories/'), '404 not_found, open'],
  ['A trailing slash after an id', target('/v1/categories/1/'), '404 not_found, open'],
  ['The base address', target('/v1'), '404 not_found, open'],
  ['The base address with a slash', target('/v1/'), '404 not_found, open'],
  ['An escaped slash after the version', target('/v1%2Fcategories'), '404 not_found, open'],
  ['An escaped slash in lower case', target('/v1%2fcategories'), '404 not_found, open'],
  ['An escaped slash before an id', target('/v1/categories%2F1'), '404 not_found, open'],
  ['An escaped slash without a key', request('GET /v1%2Fcategories HTTP/1.1', HOST), '401 missing_api_key, open'],
  ['An escaped letter', target('/v1/%63ategories'), '200, open'],
  ['A letter escaped twice', target('/v1/%2563ategories'), '404 not_found, open'],
  ['A percent sign alone', target('/v1/categories/%'), MALFORMED],
  ['An escape that is not hexadecimal', target('/v1/categories/%zz'), MALFORMED],
  ['An escape broken off', target('/v1/categories/%4'), MALFORMED],
  ['An escape that is not UTF-8', target('/v1/categories/%ff'), MALFORMED],
  ['An escape that is an overlong form', target('/v1/categories/%c0%af'), MALFORMED],
  ['An escape that is half of a surrogate pair', target('/v1/categories/%ed%a0%80'), MALFORMED],
  ['A bad escape outside the API', target('/%zz'), MALFORMED],
  ['A bad escape without a key', request('GET /v1/% HTTP/1.1', HOST), MALFORMED],
  ['An escaped NUL', target('/v1/categories/%00'), '404 not_found, open'],
  ['A bad escape in a parameter', target('/v1/categories?limit=%zz'), '400 validation_failed, open'],
  ['A bad escape in an unknown parameter', target('/v1/categories?a=%zz'), '400 validation_failed, open'],
  ['A query with question marks', target('/v1/categories?a=b?c?d'), '400 validation_failed, open'],
  ['Dots that climb', target('/v1/../livez'), '404 not_found, open'],
  ['Escaped dots that climb', target('/v1/%2e%2e/livez'), '404 not_found, open'],
  ['A dot', target('/v1/./categories'), '404 not_found, open'],
  ['Dots that climb into the API', target('/x/../v1/categories'), '404 not_found, open', { isOutside: true }],
  ['A path parameter', target('/v1/categories;a=b'), '404 not_found, open'],
  ['A backslash', target('/v1\\categories'), '404 not_found, open', { isOutside: true }],
  ['A path in capitals', target('/v1/CATEGORIES'), '404 not_found, open'],
  ['A version in capitals', target('/V1/categories'), '404 not_found, open', { isOutside: true }],
  ['An id that is not a number', target('/v1/categories/1e3'), '404 not_found, open'],
  ['An id that is negative', target('/v1/categories/-1'), '404 not_found, open'],
  ['An id that is too large', target('/v1/categories/9007199254740992'), '404 not_found, open'],
  ['An address of 8 KiB', target(`/v1/categories?${'a'.repeat(8192 - 15)}`), '400 validation_failed, open'],
  ['An address over 8 KiB', target(`/v1/categories?${'a'.repeat(8192 - 14)}`), '414 uri_too_long, closed'],
  ['A path over 8 KiB', target(`/v1/categories/${'1'.repeat(9000)}`), '414 uri_too_long, closed'],
  [
    'An address over 8 KiB without a key',
    request(`GET /v1/${'a'.repeat(9000)} HTTP/1.1`, HOST),
    '414 uri_too_long, closed',
  ],
  ['An address over 16 KiB', target(`/v1/categories?${'a'.repeat(17_000)}`), TOO_LARGE],
  ['An address without an end', `GET /v1/categories?${'a'.repeat(60_000)}`, TOO_LARGE],
];

const headers: Row[] = [
  ['A header without a value', get('X-A:'), '200, open'],
  ['A header without a space', get('X-A:b'), '200, open'],
  ['A header between tabs', get('X-A:\tb\t'), '200, open'],
  ['A header with bytes above ASCII', get('X-A: \xe9\xff'), '200, open'],
  ['A folded header', get('X-A: b', ' c'), MALFORMED],
  ['A header folded with a tab', get('X-A: b', '\tc'), MALFORMED],
  [
    'A first header that is indented',
    request('GET /v1/categories HTTP/1.1', ' X-A: b', HOST, AUTHORIZATION),
    MALFORMED,
  ],
  ['A header ended by a bare line feed', get('X-A: b\nX-B: c'), MALFORMED],
  ['A head ended by a bare line feed', get().replace(/\r\n\r\n$/, '\r\n\n'), MALFORMED],
  ['A bare carriage return in a value', get('X-A: b\rc'), MALFORMED],
  ['A bare carriage return at the end of the head', get().replace(/\r\n\r\n$/, '\r\n\rX'), MALFORMED],
  ['A NUL in a value', get('X-A: b\0c'), MALFORMED],
  ['A control character in a value', get('X-A: b\x01c'), MALFORMED],
  ['An escape sequence in a value', get('X-A: \x1b[31m'), MALFORMED],
  ['A DEL in a value', get('X-A: b\x7fc'), MALFORMED],
  ['A space before the colon', get('X-A : b'), MALFORMED],
  ['A tab before the colon', get('X-A\t: b'), MALFORMED],
  ['A space in a name', get('X A: b'), MALFORMED],
  ['An empty name', get(': b'), MALFORMED],
  ['A line without a colon', get('X-A'), MALFORMED],
  ...['(', ')', '<', '>', '@', ',', ';', '\\', '"', '/', '[', ']', '?', '=', '{', '}', '\0', '\x7f', '\xe9'].map(
    (character): Row => [`The character ${JSON.stringify(character)} in a name`, get(`X${character}A: b`), MALFORMED],
  ),
  ['Content-Length with a space before the colon', post(BODY, `Content-Length : ${BODY.length}`), MALFORMED],
  ['No Host', request('GET /v1/categories HTTP/1.1', AUTHORIZATION), MALFORMED],
  ['No Host and no key', request('GET /v1/categories HTTP/1.1'), MALFORMED],
  ['Two Hosts', get('Host: other.example'), MALFORMED],
  ['The same Host twice', get(HOST), MALFORMED],
  ['An absolute address and no Host', request('GET http://a/v1/categories HTTP/1.1', AUTHORIZATION), MALFORMED],
  ...[
    'a b',
    'a/b',
    'a,b',
    'user@a',
    'a:x',
    'a:80:80',
    '[::1',
    '::1',
    '<a>',
    'a#b',
    'a?b',
    'a%zz',
    '\xe9',
    'http://a',
  ].map(
    (host): Row => [
      `The Host ${JSON.stringify(host)}`,
      request('GET /v1/categories HTTP/1.1', `Host: ${host}`, AUTHORIZATION),
      MALFORMED,
    ],
  ),
  ...['', 'a:80', 'a:', '127.0.0.1:8080', '[::1]', '[::1]:80', 'a_b', '%41', 'xn--bcher-kva.example.'].map(
    (host): Row => [
      `The Host ${JSON.stringify(host)}`,
      request('GET /v1/categories HTTP/1.1', `Host: ${host}`, AUTHORIZATION),
      '200, open',
    ],
  ),
  ['Two Authorizations', get('Authorization: Bearer other'), '401 missing_api_key, open'],
  ['The same Authorization twice', get(AUTHORIZATION), '401 missing_api_key, open'],
  [
    'A good Authorization after another',
    request('GET /v1/categories HTTP/1.1', HOST, 'Authorization: Basic eA==', AUTHORIZATION),
    '401 missing_api_key, open',
  ],
  [
    'Two Idempotency-Keys',
    post(BODY, `Content-Length: ${BODY.length}`, 'Idempotency-Key: a', 'Idempotency-Key: b'),
    '400 validation_failed, open',
  ],
  [
    'The same Idempotency-Key twice',
    post(BODY, `Content-Length: ${BODY.length}`, 'Idempotency-Key: a', 'Idempotency-Key: a'),
    '400 validation_failed, open',
  ],
  ['A key in the query', request('GET /v1/categories?api_key=<key> HTTP/1.1', HOST), '401 missing_api_key, open'],
  [
    'A token in the query',
    request('GET /v1/categories?access_token=<key> HTTP/1.1', HOST),
    '401 missing_api_key, open',
  ],
  ['A key as the user of an absolute address', request('GET http://<key>@a/v1/categories HTTP/1.1', HOST), MALFORMED],
  [
    'A key in the trailers',
    request('POST /v1/categories HTTP/1.1', HOST, 'Transfer-Encoding: chunked') +
      CHUNK +
      `0\r\n${AUTHORIZATION}\r\n\r\n`,
    '401 missing_api_key, closed',
  ],
  ['An unknown expectation', get('Expect: 200-ok'), '417 expectation_failed, closed'],
  ['An expectation besides that of 100', get('Expect: 100-continue, more'), '417 expectation_failed, closed'],
  ['An expectation that merely holds the word', get('Expect: not 100-continue'), '417 expectation_failed, closed'],
  ['An empty expectation', get('Expect:'), '417 expectation_failed, closed'],
  [
    'An expectation over a body',
    post(BODY, 'Expect: x', `Content-Length: ${BODY.length}`),
    '417 expectation_failed, closed',
  ],
  [
    'An unknown expectation, without a key',
    request('GET /v1/categories HTTP/1.1', HOST, 'Expect: x'),
    '417 expectation_failed, closed',
  ],
  ['An expectation in HTTP/1.0', request('GET /v1/categories HTTP/1.0', AUTHORIZATION, 'Expect: x'), '200, closed'],
  ['A wish to speak WebSocket', get('Connection: Upgrade', 'Upgrade: websocket'), '200, closed'],
  [
    'A wish to speak HTTP/2',
    get('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'),
    '200, closed',
  ],
  [
    'A wish to speak HTTP/2 over a body',
    post(BODY, 'Connection: Upgrade', 'Upgrade: h2c', `Content-Length: ${BODY.length}`),
    '201, closed',
  ],
  ['Upgrade without Connection', get('Upgrade: websocket'), '200, open'],
  ['Connection without Upgrade', get('Connection: Upgrade'), '200, open'],
  ['A wish to close', get('Connection: close'), '200, closed'],
  ['A wish to close and one to stay', get('Connection: close, keep-alive'), '200, closed'],
  ['A Connection that says nothing', get('Connection: \xff'), '200, open'],
  ['HTTP/1.0', request('GET /v1/categories HTTP/1.0', AUTHORIZATION), '200, closed'],
  ['HTTP/1.0 without a key', request('GET /v1/categories HTTP/1.0'), '401 missing_api_key, closed'],
  ['HTTP/1.0 that stays', request('GET /v1/categories HTTP/1.0', AUTHORIZATION, 'Connection: keep-alive'), '200, open'],
  ['HTTP/1.0 with two Hosts', request('GET /v1/categories HTTP/1.0', HOST, HOST, AUTHORIZATION), MALFORMED],
  ['A header of 15 KiB', get(`X-A: ${'b'.repeat(15 * 1024)}`), '200, open'],
  ['A header over 16 KiB', get(`X-A: ${'b'.repeat(16 * 1024)}`), TOO_LARGE],
  ['A header name over 16 KiB', get(`X${'a'.repeat(16 * 1024)}: b`), TOO_LARGE],
  [
    'Headers over 16 KiB together',
    get(...Array.from({ length: 40 }, (_, i) => `X-${i}: ${'b'.repeat(500)}`)),
    TOO_LARGE,
  ],
  [
    'Headers over 16 KiB without a key',
    request('GET /v1/categories HTTP/1.1', HOST, `X-A: ${'b'.repeat(20_000)}`),
    TOO_LARGE,
  ],
  ['100 headers', get(...Array.from({ length: 98 }, (_, i) => `X-${i}: b`)), '200, open'],
  ['101 headers', get(...Array.from({ length: 99 }, (_, i) => `X-${i}: b`)), TOO_LARGE],
  ['900 headers', get(...Array.from({ length: 898 }, (_, i) => `X-${i}: b`)), TOO_LARGE],
  [
    'A second Authorization behind 200 headers',
    get(...Array.from({ length: 200 }, (_, i) => `X-${i}: b`), 'Authorization: Bearer other'),
    TOO_LARGE,
  ],
  ['2,000 headers', get(...Array.from({ length: 2000 }, () => 'X:')), TOO_LARGE],
  ['A head without an end', `GET /v1/categories HTTP/1.1\r\n${'X-A: b\r\n'.repeat(10_000)}`, TOO_LARGE],
];

describeCorpus('request lines', requestLines);
describeCorpus('methods', methods);
describeCorpus('targets', targets);
describeCorpus('headers', headers);

test('a script that says patch to fetch, which sends it as it is, is told of capitals', async () => {
  await using service = await testService();
  const { message } = await json<{ message: string }>(fetch(`${service.url}/pets/1`, { method: 'patch' }));
  assert.equal(message, 'The method is not supported; methods are in capitals, such as PATCH');
});
