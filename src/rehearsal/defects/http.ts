import { refusal } from '../../http/errors.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import {
  answering,
  asking,
  type Change,
  type DefectTable,
  errorStatus,
  type Fault,
  heading,
  json,
  type Members,
  members,
  rewriting,
  targeting,
} from './fault.ts';

const WRONG_KEYS_MAX = 12;

const WRONG_KEY = { code: 'invalid_api_key' } as const;
const KEY_OF_PRODUCTION = {
  ...WRONG_KEY,
  when: (exchange: Exchange) => keyOf(exchange).startsWith('Bearer petcat_live_'),
};
const TOO_LARGE = { code: 'payload_too_large' } as const;
const QUERY = { method: 'QUERY' };

const PATH = '/v1/categories';
const SECOND_ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]';

const GET_LIST = { method: 'GET', path: PATH };
const PAGE = { ...GET_LIST, status: 200, url: /\?/ };

/**
 * Keys that are not as the interface has them, errors of another status, another form or another reason, and defects
 * around the operations: framing, media types, validators, pages, deprecation.
 */
export const HTTP_DEFECTS: DefectTable = {
  'auth.401-missing missing-key-is-403: a request without a key is 403': answering(
    { code: 'missing_api_key', when: ({ request }) => !request.headers.authorization },
    errorStatus(403),
  ),
  'auth.401-missing empty-key-is-403: a bearer token of nothing is 403': answering(
    { status: 401, when: (exchange) => keyOf(exchange).trim() === 'Bearer' },
    errorStatus(403),
  ),
  'auth.401-invalid key-of-one-more: a key with one more character is valid': asking('authorization', (text) =>
    text.replace(/^(Bearer \w{48})x$/, '$1'),
  ),
  'auth.401-alike malformed-key-told: a malformed key gets another message than an unknown one': answering(
    { ...WRONG_KEY, when: (exchange) => keyOf(exchange).length < 20 },
    members({ message: 'The API key is malformed' }),
  ),
  [`auth.401-again wrong-keys-are-429: after ${WRONG_KEYS_MAX} wrong keys the answer is 429`]: () => {
    let wrong = 0;
    return answering(WRONG_KEY, (answer) => {
      wrong += 1;
      if (wrong <= WRONG_KEYS_MAX) return answer;
      return refusal('rate_limit_exceeded', 'Too many wrong keys; try again', ['Retry-After', '1']);
    });
  },
  'auth.scheme-any-case scheme-in-one-case: the scheme must be written Bearer': asking('authorization', (text) =>
    /^bEARER/.test(text) ? 'x' : text,
  ),
  'auth.bearer-only word-after-the-key: a word after the key is passed over': asking('authorization', (text) =>
    text.replace(/^(Bearer \w{48}) x$/, '$1'),
  ),
  'auth.challenge no-challenge: a 401 has no WWW-Authenticate': heading({ status: 401 }, 'WWW-Authenticate'),
  'auth.challenge no-reason-in-challenge: a 401 for a bad key has a plain challenge': heading(
    { status: 401 },
    'WWW-Authenticate',
    () => 'Bearer realm="pet-catalog"',
  ),
  'auth.other-environment other-environment-is-403: a key of the other environment is 403': answering(
    KEY_OF_PRODUCTION,
    errorStatus(403),
  ),
  'auth.other-environment other-environment-told: a key of the other environment gets a message of its own': answering(
    KEY_OF_PRODUCTION,
    members({ message: 'This is a key of production' }),
  ),
  'errors.shape html-404: an unknown path is answered with a page for people': answering(
    { code: 'not_found' },
    (answer) => ({
      ...answer,
      contentType: 'text/html; charset=utf-8',
      body: '<!doctype html><title>404</title><h1>Not Found</h1>',
    }),
  ),
  'errors.shape code-is-a-number: the code of a 413 is a number': answering(TOO_LARGE, members({ code: 413 })),
  'errors.shape no-message: a 413 has no message': answering(TOO_LARGE, members({ message: undefined })),
  'errors.shape no-status: a 413 has no status': answering(TOO_LARGE, members({ status: undefined })),
  'errors.status-integer status-is-a-string: the status of an error is a string': ofErrors(
    json((body) => ({ ...body, status: `${body.status}` })),
  ),
  'errors.status-equals-http status-of-a-gateway: the status in the body of a 405 is 400': answering(
    { code: 'method_not_allowed' },
    members({ status: 400 }),
  ),
  'errors.three-members fourth-error-member: errors have a timestamp too': ofErrors(
    members({ timestamp: 1_767_225_600 }),
  ),
  'errors.404 unknown-path-is-403: an unknown path is 403': answering(
    { code: 'not_found', path: /^.v1.conformance-/ },
    errorStatus(403),
  ),
  'errors.404 trailing-slash-redirects: a slash at the end is a redirect': answering(
    { path: '/v1/categories/' },
    () => ({ status: 308, headers: ['Location', '/v1/categories'] }),
  ),
  'errors.405 wrong-method-is-404: PATCH where there is none is 404': answering(
    { code: 'method_not_allowed', method: 'PATCH' },
    () => refusal('not_found', 'Nothing is here'),
  ),
  'errors.405 allow-without-post: Allow forgets POST': heading({ status: 405 }, 'Allow', () => 'GET, HEAD, OPTIONS'),
  'errors.any-method query-is-404: QUERY is 404': answering(QUERY, () => refusal('not_found', 'Nothing is here')),
  'errors.any-method query-without-allow: a 405 for QUERY has no Allow': heading(QUERY, 'Allow'),
  'errors.413 large-body-is-400: a body that is too large is 400': answering(TOO_LARGE, () => ({
    ...refusal('validation_failed', 'The body is too large'),
    closes: true,
  })),
  'errors.codes code-repeats-status: the code of a 404 is "404"': answering(
    { code: 'not_found' },
    members({ code: '404' }),
  ),
  'bodies.application-json problem-json: errors are application/problem+json': ofErrors((answer) => ({
    ...answer,
    contentType: 'application/problem+json',
  })),
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

function keyOf({ request }: Exchange): string {
  return request.headers.authorization ?? '';
}

/** Changes the errors of the API, but not refusals by the limits. */
function ofErrors(change: Change): Fault {
  return answering({ when: ({ hasLimitHeaders }) => hasLimitHeaders }, (answer, exchange) =>
    answer.code === undefined || answer.status === 429 ? answer : change(answer, exchange),
  );
}
