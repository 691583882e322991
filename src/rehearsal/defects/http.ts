import { refusal } from '../../http/errors.ts';
import {
  answering,
  asking,
  type DefectTable,
  errorStatus,
  heading,
  type Members,
  rewriting,
  targeting,
} from './fault.ts';

const PATH = '/v1/categories';
const SECOND_ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]';

const GET_LIST = { method: 'GET', path: PATH };
const PAGE = { ...GET_LIST, status: 200, url: /\?/ };

/** Defects around the operations: framing, media types, validators, pages, deprecation. */
export const HTTP_DEFECTS: DefectTable = {
  'http.one-answer smuggled-answer: the body of a GET is taken for the next request, and answered': answering(
    { method: 'GET' },
    (answer, { request }) => {
      const hasBody = Number(request.headers['content-length'] ?? 0) > 0;
      // After this answer was written, which happens at once.
      if (hasBody) queueMicrotask(() => request.socket.write(SECOND_ANSWER));
      return answer;
    },
  ),
  'create.415 lenient-media-type: a body is parsed whatever its media type': asking(
    'content-type',
    () => 'application/json',
  ),
  'http.304 etag-ignored: If-None-Match is ignored': asking('if-none-match', () => undefined),
  'http.304 weak-etag: the ETag of the list is weak': heading(GET_LIST, 'ETag', (tag) => tag && `W/${tag}`),
  'http.304 etag-stays: the ETag of the list never changes': () => {
    let real = '';
    return {
      ...asking('if-none-match', (tag) => (tag === '"same"' ? real : tag)),
      ...heading(GET_LIST, 'ETag', (tag) => {
        if (tag) real = tag;
        return tag && '"same"';
      }),
    };
  },
  'http.304 any-etag-matches: a list is 304 for any If-None-Match': answering(
    { status: 200, path: PATH, when: ({ request }) => !!request.headers['if-none-match'] },
    (answer) => ({ ...answer, status: 304, body: '' }),
  ),
  'http.head head-is-405: HEAD is 405': answering({ method: 'HEAD' }, () => refusal('method_not_allowed', 'No')),
  'http.pages page-limit-ignored: the parameter limit is ignored': targeting(/([?&])limit=[1-9]\d*/, '$1limit=1000'),
  'http.pages page-is-404: a page is 404': answering(PAGE, () => refusal('not_found', 'There are no pages')),
  'http.pages page-in-an-object: a page is an object': rewriting(PAGE, (items) => ({ items })),
  'http.pages next-loops: the next page is the same one': heading(
    PAGE,
    'Link',
    (_, { request }) => `<${request.url}>; rel="next"`,
  ),
  'http.pages no-next: a page has no link to the next': heading(PAGE, 'Link'),
  'http.pages next-elsewhere: the next page is on another host': heading(
    PAGE,
    'Link',
    () => '<https://example.invalid/v1/categories>; rel="next"',
  ),
  'http.pages pages-of-others: the pages have other ids than the list': rewriting<Members[]>(PAGE, (all) =>
    all.map((each) => ({ ...each, id: Number(each.id) + 100_000 })),
  ),
  'http.pages limit-of-zero: a limit of 0 is the usual one': targeting(/\?limit=0$/, ''),
  "http.request-id request-id-ignored: the caller's id is ignored": heading({}, 'X-Request-Id', () => 'ours'),
  'http.request-id request-id-echoed: any id is echoed': heading(
    {},
    'X-Request-Id',
    (id, { request }) => `${request.headers['x-request-id'] ?? id}`,
  ),
  'http.idempotency-key idempotency-key-ignored: Idempotency-Key is ignored': asking(
    'idempotency-key',
    () => undefined,
  ),
  'http.idempotency-key replay-not-told: a replay has no Idempotency-Replayed': heading({}, 'Idempotency-Replayed'),
  'http.idempotency-key reused-key-is-409: another body under a used Idempotency-Key is 409': answering(
    { status: 422 },
    errorStatus(409),
  ),
  'http.cache-control list-may-be-shared: shared caches may keep the list for a minute': answering({}, (answer) =>
    answer.cacheControl ? { ...answer, cacheControl: 'public, max-age=60' } : answer,
  ),
  'http.cache-control sniffed: X-Content-Type-Options is missing': heading({}, 'X-Content-Type-Options'),
  'http.parameters unknown-parameter-ignored: an unknown parameter is passed over': targeting('?colour=red', ''),
  'http.parameters first-of-two-taken: of a parameter that is given twice the first counts': targeting('&limit=2', ''),
  'http.parameters ids-once-only: ids that are given twice are 400': answering({ url: /&ids=/ }, () =>
    refusal('validation_failed', 'ids is given twice; give it once'),
  ),
  'http.etag-of-one created-weak-etag: the ETag of a create is weak': heading(
    { status: 201 },
    'ETag',
    (tag) => `W/${tag}`,
  ),
  'http.etag-of-one etag-of-another: a GET of a category has another ETag than its create': heading(
    { path: /^.v1.categories.\d+$/ },
    'ETag',
    (tag) => tag && '"other"',
  ),
  'http.if-match if-match-ignored: If-Match is ignored': asking('if-match', () => undefined),
  'http.if-match if-match-is-412: any If-Match is 412': answering(
    { status: 200, when: ({ request }) => !!request.headers['if-match'] },
    () => refusal('precondition_failed', 'It has changed'),
  ),
  'deprecation.headers no-sunset: the deprecated read has no Sunset': heading({}, 'Sunset'),
  'deprecation.headers no-deprecation: the deprecated read has no Deprecation': heading({}, 'Deprecation'),
  'deprecation.headers sunset-of-1970: the Sunset of the deprecated read is 1970': heading(
    {},
    'Sunset',
    (text) => text && 'Thu, 01 Jan 1970 00:00:00 GMT',
  ),
  'deprecation.headers no-successor: the deprecated read names no successor': heading({}, 'Link', (text) =>
    text.replace('successor-version', 'next'),
  ),
};
