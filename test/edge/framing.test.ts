import { AUTHORIZATION, describeCorpus, get, post, type Row, request } from '../kit/edge/corpus.ts';

const BODY = '{"name":"Dog"}';
const SIZE = BODY.length.toString(16);
const MALFORMED = '400 malformed_request, closed';
const NOT_IMPLEMENTED = '501 not_implemented, closed';
const TOO_LARGE = '431 headers_too_large, closed';

/** A create whose body is these chunks. */
function chunked(chunks: string): string {
  return post(chunks, 'Transfer-Encoding: chunked');
}

const CHUNK = `${SIZE}\r\n${BODY}\r\n`;
const LAST_CHUNK = '0\r\n\r\n';

const framing: Row[] = [
  ['A good create', post(BODY, `Content-Length: ${BODY.length}`), '201, open'],
  ['A create in chunks', chunked(CHUNK + LAST_CHUNK), '201, open'],
  ['A create in chunks of one byte', chunked([...BODY].map((c) => `1\r\n${c}\r\n`).join('') + LAST_CHUNK), '201, open'],
  [
    'Content-Length and Transfer-Encoding',
    post(CHUNK + LAST_CHUNK, 'Content-Length: 5', 'Transfer-Encoding: chunked'),
    MALFORMED,
  ],
  [
    'Transfer-Encoding and Content-Length',
    post(CHUNK + LAST_CHUNK, 'Transfer-Encoding: chunked', 'Content-Length: 5'),
    MALFORMED,
  ],
  ['Two Content-Lengths', post(BODY, `Content-Length: ${BODY.length}`, 'Content-Length: 0'), MALFORMED],
  [
    'The same Content-Length twice',
    post(BODY, `Content-Length: ${BODY.length}`, `Content-Length: ${BODY.length}`),
    MALFORMED,
  ],
  ['A list for a Content-Length', post(BODY, `Content-Length: ${BODY.length}, ${BODY.length}`), MALFORMED],
  ...['-1', '+5', '0x5', '5.0', '5e0', '', 'five', '1 2', '5;a', '٥', '99999999999999999999999999'].map(
    (length): Row => [
      `The Content-Length ${JSON.stringify(length)}`,
      post(BODY, `Content-Length: ${length}`),
      MALFORMED,
    ],
  ),
  ['A Content-Length with zeros in front', post(BODY, `Content-Length: 000${BODY.length}`), '201, open'],
  [
    'A Content-Length that is too short',
    post(BODY, `Content-Length: ${BODY.length - 1}`),
    '400 invalid_json, 400 malformed_request, closed',
  ],
  ['A body without a length', post(BODY), '400 invalid_json, 400 malformed_request, closed'],
  ['Two Transfer-Encodings', post(CHUNK, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'), MALFORMED],
  ['Chunked twice', post(CHUNK, 'Transfer-Encoding: chunked, chunked'), MALFORMED],
  ['Chunked before another coding', post(CHUNK, 'Transfer-Encoding: chunked, gzip'), MALFORMED],
  ['An empty Transfer-Encoding', post(CHUNK, 'Transfer-Encoding:'), MALFORMED],
  ['Chunked in capitals', post(CHUNK + LAST_CHUNK, 'Transfer-Encoding: CHUNKED'), '201, open'],
  [
    'Chunked and a Content-Length in HTTP/1.0',
    request('POST /v1/categories HTTP/1.0', AUTHORIZATION, 'Transfer-Encoding: chunked') + CHUNK + LAST_CHUNK,
    MALFORMED,
  ],
  ...['gzip', 'identity', 'xchunked', 'chunkedx', 'gzip, chunked', 'deflate', '"chunked"', 'x y'].map(
    (coding): Row => [`The Transfer-Encoding ${coding}`, post('', `Transfer-Encoding: ${coding}`), NOT_IMPLEMENTED],
  ),
  ['A Transfer-Encoding behind a vertical tab', post(CHUNK, 'Transfer-Encoding: \x0bchunked'), MALFORMED],
  [
    'A chunk size in capitals with zeros in front',
    chunked(`000${SIZE.toUpperCase()}\r\n${BODY}\r\n${LAST_CHUNK}`),
    '201, open',
  ],
  ['A chunk extension', chunked(`${SIZE};a=b;c="d;e"\r\n${BODY}\r\n${LAST_CHUNK}`), '201, open'],
  ['An empty chunk extension', chunked(`${SIZE};\r\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A NUL in a chunk extension', chunked(`${SIZE};a\0\r\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A NUL in a quoted chunk extension', chunked(`${SIZE};a="\0"\r\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A chunk extension with an open quote', chunked(`${SIZE};a="b\r\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A chunk extension ended by a bare line feed', chunked(`${SIZE};a\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A chunk extension over 16 KiB', chunked(`${SIZE};${'a'.repeat(20_000)}\r\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ...['', 'xyz', `0x${SIZE}`, `-${SIZE}`, `+${SIZE}`, ` ${SIZE}`, `${SIZE} `, `${SIZE}h`, '\0', 'f'.repeat(17)].map(
    (size): Row => [
      `The chunk size ${JSON.stringify(size)}`,
      chunked(`${size}\r\n${BODY}\r\n${LAST_CHUNK}`),
      MALFORMED,
    ],
  ),
  ['A chunk size ended by a bare line feed', chunked(`${SIZE}\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A chunk size ended by a bare carriage return', chunked(`${SIZE}\r${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  ['A chunk without an end', chunked(`${SIZE}\r\n${BODY}${LAST_CHUNK}`), MALFORMED],
  ['A chunk ended by a bare line feed', chunked(`${SIZE}\r\n${BODY}\n${LAST_CHUNK}`), MALFORMED],
  ['A chunk longer than its size', chunked(`${(BODY.length - 1).toString(16)}\r\n${BODY}\r\n${LAST_CHUNK}`), MALFORMED],
  [
    'A chunk shorter than its size',
    chunked(`${(BODY.length + 1).toString(16)}\r\n${BODY}\r\n${LAST_CHUNK}`),
    MALFORMED,
  ],
  ['A last chunk ended by bare line feeds', chunked(`${CHUNK}0\n\n`), MALFORMED],
  ['A body ended by a bare line feed', chunked(`${CHUNK}0\r\n\n`), MALFORMED],
  ['A last chunk with a space', chunked(`${CHUNK}0 \r\n\r\n`), MALFORMED],
  ['Trailers', chunked(`${CHUNK}0\r\nX-A: b\r\n\r\n`), '201, open'],
  ['Trailers that would be headers', chunked(`${CHUNK}0\r\nAuthorization: Bearer x\r\nHost: b\r\n\r\n`), '201, open'],
  ['A trailer without a colon', chunked(`${CHUNK}0\r\nX-A\r\n\r\n`), MALFORMED],
  ['A Content-Length in the trailers', chunked(`${CHUNK}0\r\nContent-Length: 5\r\n\r\n`), MALFORMED],
  ['A Transfer-Encoding in the trailers', chunked(`${CHUNK}0\r\nTransfer-Encoding: chunked\r\n\r\n`), MALFORMED],
  ['Trailers over 16 KiB', chunked(`${CHUNK}0\r\nX-A: ${'b'.repeat(20_000)}\r\n\r\n`), TOO_LARGE],
  ['A GET with a body', `${get(`Content-Length: ${BODY.length}`)}${BODY}`, '200, open'],
  ['A GET with chunks', `${get('Transfer-Encoding: chunked')}${CHUNK}${LAST_CHUNK}`, '200, closed'],
  ['A GET with a bad chunk', `${get('Transfer-Encoding: chunked')}xyz\r\n`, MALFORMED, { whole: true }],
];

describeCorpus('framing', framing);
