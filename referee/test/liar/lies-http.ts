import { ask, body, bytes, fail, head, type Lie, members, type Row, say, status, target, type Where } from './lie.ts';
import { type Asked, type Category, LIMITED_KEY, MAIN_KEY, OTHER_KEY } from './server.ts';

const WRONG_KEYS_MAX = 19;
const WRONG_KEY = { code: 'invalid_api_key' };
const OF_OTHER = { ...WRONG_KEY, when: (asked: Asked) => keyOf(asked) === `Bearer ${OTHER_KEY}` };
const TOO_LARGE = { code: 'payload_too_large' };
const NOT_FOUND = { code: 'not_found', path: /^(?!\/pets)/ };
const QUERY = { method: 'QUERY' };
const GET_LIST = { method: 'GET', path: '/categories' };
const PAGE = { ...GET_LIST, status: 200, url: /\?/ };
/** Errors of the API, but no refusal by the limits. */
const ERROR: Where = { when: (_, { status: code }) => code >= 400 && code !== 429 };
const SECOND_ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]';

const keyOf = ({ headers }: Asked) => headers.authorization ?? '';
/** Takes a credential for the main key. */
const knows = (isKnown: (sent: string) => boolean): Lie['way'] => ({
  knows: (sent) => (sent !== undefined && isKnown(sent)) || undefined,
});

/** Keys, errors, framing, validators, pages, repeats and the end of an operation that are not as they should be. */
export const OF_HTTP: readonly Row[] = [
  [
    'auth.401-missing',
    'empty-key-is-403: a bearer token of nothing is 403',
    status({ status: 401, when: (asked) => keyOf(asked).trim() === 'Bearer' }, 403),
  ],
  [
    'auth.401-missing',
    'list-for-everybody: a list needs no key',
    {
      asked({ headers, method }) {
        if (method === 'GET') headers.authorization ??= `Bearer ${MAIN_KEY}`;
      },
    },
  ],
  [
    'auth.401-missing',
    'create-redirects-to-login: a create without a key is sent to a login',
    say({ status: 401, method: 'POST', when: (asked) => keyOf(asked) === '' }, (answer) => {
      Object.assign(answer, { status: 302, body: undefined, headers: { ...answer.headers, location: '/login' } });
    }),
  ],
  [
    'auth.401-missing',
    'body-before-key: an invalid body without a key is 400',
    fail(
      { status: 401, when: ({ headers, text }) => !headers.authorization && text === '{"name":1}' },
      400,
      'validation_failed',
    ),
  ],
  [
    'auth.401-invalid auth.401-missing auth.bearer-only auth.401-again auth.other-environment',
    'wrong-key-is-403: a wrong key is 403',
    status(WRONG_KEY, 403),
  ],
  [
    'auth.401-invalid',
    'key-in-any-case: the case of a key does not matter',
    knows(
      (sent) =>
        [MAIN_KEY, LIMITED_KEY].every((key) => sent !== `Bearer ${key}`) &&
        sent.slice(7).toLowerCase() === MAIN_KEY.toLowerCase(),
    ),
  ],
  [
    'auth.401-alike',
    'malformed-key-told: a malformed key gets another message than an unknown one',
    members({ ...WRONG_KEY, when: (asked) => keyOf(asked).length < 20 }, { message: 'The API key is malformed' }),
  ],
  [
    'auth.401-again',
    `wrong-keys-are-429: after ${WRONG_KEYS_MAX} wrong keys in a row the answer is 429`,
    say({}, (answer, { state: { memory }, now }) => {
      memory.wrong = answer.status === 401 ? (memory.wrong ?? 0) + 1 : 0;
      if (memory.wrong <= WRONG_KEYS_MAX) return;
      Object.assign(answer.headers, { 'retry-after': 1, 'x-ratelimit-reset': Math.floor(now) + 1 });
      Object.assign(answer, { status: 429, body: { code: 'rate_limit_exceeded', message: 'Wait', status: 429 } });
    }),
  ],
  [
    'auth.scheme-any-case',
    'scheme-in-one-case: the scheme must be written Bearer',
    ask('authorization', (sent) => (sent.startsWith('bEARER') ? 'x' : sent)),
  ],
  ['auth.bearer-only', 'key-alone: a key without a scheme is valid', knows((sent) => sent === MAIN_KEY)],
  ['auth.bearer-only', 'key-twice: a key that is given twice is valid', knows((sent) => sent.includes(', '))],
  ['auth.challenge', 'no-challenge: a 401 has no WWW-Authenticate', head({ status: 401 }, 'www-authenticate')],
  [
    'auth.challenge',
    'no-reason-in-challenge: a 401 for a bad key has a plain challenge',
    head({ status: 401 }, 'www-authenticate', () => 'Bearer realm="pet-catalog"'),
  ],
  ['auth.other-environment', 'other-environment-is-403: a key of the other environment is 403', status(OF_OTHER, 403)],
  [
    'auth.other-environment',
    'other-environment-told: a key of the other environment gets a message of its own',
    members(OF_OTHER, { message: 'This is a key of production' }),
  ],
  [
    'errors.shape',
    'html-401: a missing key is answered with a page for people',
    bytes(
      { status: 401, path: '/categories', method: 'GET', when: (asked) => keyOf(asked) === '' },
      '<html>Sign in</html>',
    ),
  ],
  ['errors.shape', 'code-is-a-number: the code of a 413 is a number', members(TOO_LARGE, { code: 413 })],
  ['errors.shape', 'no-message: a 413 has no message', members(TOO_LARGE, { message: undefined })],
  ['errors.shape', 'no-status: a 413 has no status', members(TOO_LARGE, { status: undefined })],
  [
    'errors.status-integer',
    'status-is-a-string: the status of an error is a string',
    body(ERROR, (error) => ({ ...error, status: `${error.status}` })),
  ],
  [
    'errors.status-equals-http',
    'status-of-a-gateway: the status in the body of a 405 is 400',
    members({ code: 'method_not_allowed' }, { status: 400 }),
  ],
  [
    'errors.three-members',
    'fourth-error-member: errors have a timestamp too',
    members(ERROR, { timestamp: 1_767_225_600 }),
  ],
  [
    'errors.404',
    'unknown-path-is-403: an unknown path is 403',
    status({ code: 'not_found', path: /^\/conformance-/ }, 403),
  ],
  [
    'errors.404',
    'trailing-slash-redirects: a slash at the end is a redirect',
    say({ path: '/categories/' }, (answer) => {
      Object.assign(answer, {
        status: 308,
        body: undefined,
        headers: { ...answer.headers, location: '/v1/categories' },
      });
    }),
  ],
  [
    'errors.405',
    'wrong-method-is-404: PATCH where there is none is 404',
    fail({ code: 'method_not_allowed', method: 'PATCH' }, 404, 'not_found'),
  ],
  ['errors.405', 'allow-without-post: Allow forgets POST', head({ status: 405 }, 'allow', () => 'GET, HEAD, OPTIONS')],
  ['errors.any-method', 'query-is-404: QUERY is 404', fail(QUERY, 404, 'not_found')],
  ['errors.any-method', 'query-without-allow: a 405 for QUERY has no Allow', head(QUERY, 'allow')],
  ['errors.413', 'large-body-is-400: a body that is too large is 400', fail(TOO_LARGE, 400, 'validation_failed')],
  ['errors.codes', 'code-repeats-status: the code of a 404 is "404"', members(NOT_FOUND, { code: '404' })],
  [
    'bodies.application-json',
    'problem-json: errors are application/problem+json',
    head(ERROR, 'content-type', () => 'application/problem+json'),
  ],
  [
    'bodies.application-json',
    'list-is-text-json: lists are text/json',
    head({ ...GET_LIST, status: 200 }, 'content-type', () => 'text/json'),
  ],
  [
    'bodies.application-json',
    'create-without-type: a create has no Content-Type',
    head({ status: 201 }, 'content-type'),
  ],
  [
    'http.one-answer',
    'smuggled-answer: the body of a GET is taken for the next request, and answered',
    say({ method: 'GET' }, (_, { headers, response }) => {
      // After this answer was written, which happens at once.
      if (Number(headers['content-length'] ?? 0) > 0) queueMicrotask(() => response.socket?.write(SECOND_ANSWER));
    }),
  ],
  ['http.304', 'etag-ignored: If-None-Match is ignored', ask('if-none-match', () => undefined)],
  ['http.304', 'weak-etag: the ETag of the list is weak', head(GET_LIST, 'etag', (tag) => tag && `W/${tag}`)],
  [
    'http.304',
    'etag-stays: the ETag of the list never changes',
    () => {
      let real = '';
      return {
        ...ask('if-none-match', (tag) => (tag === '"same"' ? real : tag)),
        ...head(GET_LIST, 'etag', (tag) => {
          if (tag) real = tag;
          return tag && '"same"';
        }),
      };
    },
  ],
  [
    'http.304',
    'any-etag-matches: a list is 304 for any If-None-Match',
    say({ ...GET_LIST, status: 200, when: ({ headers }) => !!headers['if-none-match'] }, (answer) => {
      Object.assign(answer, { status: 304, body: undefined });
    }),
  ],
  ['http.head', 'head-is-405: HEAD is 405', fail({ method: 'HEAD' }, 405, 'method_not_allowed')],
  ['http.pages', 'page-limit-ignored: the parameter limit is ignored', target(/([?&])limit=[1-9]\d*/, '$1limit=1000')],
  ['http.pages', 'page-in-an-object: a page is an object', body(PAGE, (items) => ({ items }))],
  [
    'http.pages',
    'next-loops: the next page is the same one',
    head(PAGE, 'link', (_, { url }) => `</v1${url}>; rel="next"`),
  ],
  ['http.pages', 'no-next: a page has no link to the next', head(PAGE, 'link')],
  [
    'http.pages',
    'next-elsewhere: the next page is on another host',
    head(PAGE, 'link', () => '<https://example.invalid/v1/categories>; rel="next"'),
  ],
  [
    'http.pages',
    'pages-of-others: the pages have other ids than the list',
    body<readonly Category[]>(PAGE, (all) => all.map((each) => ({ ...each, id: Number(each.id) + 100_000 }))),
  ],
  ['http.pages', 'limit-of-zero: a limit of 0 is the usual one', target(/\?limit=0$/, '')],
  ['http.request-id', "request-id-ignored: the caller's id is ignored", head({}, 'x-request-id', () => 'ours')],
  [
    'http.request-id',
    'request-id-echoed: any id is echoed',
    head({}, 'x-request-id', (id, { headers }) => headers['x-request-id'] ?? id),
  ],
  [
    'http.idempotency-key',
    'idempotency-key-ignored: Idempotency-Key is ignored',
    ask('idempotency-key', () => undefined),
  ],
  ['http.idempotency-key', 'replay-not-told: a replay has no Idempotency-Replayed', head({}, 'idempotency-replayed')],
  [
    'http.idempotency-key',
    'reused-key-is-409: another body under a used Idempotency-Key is 409',
    status({ status: 422 }, 409),
  ],
  [
    'http.cache-control',
    'list-may-be-shared: shared caches may keep the list for a minute',
    head({ ...GET_LIST, status: 200 }, 'cache-control', () => 'public, max-age=60'),
  ],
  ['http.cache-control', 'sniffed: X-Content-Type-Options is missing', head({}, 'x-content-type-options')],
  ['http.parameters', 'unknown-parameter-ignored: an unknown parameter is passed over', target('?colour=red', '')],
  [
    'http.parameters',
    'first-of-two-taken: of a parameter that is given twice the first counts',
    target('&limit=2', ''),
  ],
  [
    'http.parameters',
    'ids-once-only: ids that are given twice are 400',
    fail({ url: /&ids=/ }, 400, 'validation_failed'),
  ],
  [
    'http.etag-of-one',
    'created-weak-etag: the ETag of a create is weak',
    head({ status: 201 }, 'etag', (tag) => `W/${tag}`),
  ],
  [
    'http.etag-of-one',
    'etag-of-another: a GET of a category has another ETag than its create',
    head({ path: /^\/categories\/\d+$/ }, 'etag', (tag) => tag && '"other"'),
  ],
  ['http.if-match', 'if-match-ignored: If-Match is ignored', ask('if-match', () => undefined)],
  [
    'http.if-match',
    'if-match-is-412: any If-Match is 412',
    fail({ status: 200, when: ({ headers }) => !!headers['if-match'] }, 412, 'precondition_failed'),
  ],
  ['deprecation.headers', 'no-sunset: the deprecated read has no Sunset', head({}, 'sunset')],
  ['deprecation.headers', 'no-deprecation: the deprecated read has no Deprecation', head({}, 'deprecation')],
  [
    'deprecation.headers',
    'sunset-of-1970: the Sunset of the deprecated read is 1970',
    head({}, 'sunset', (at) => at && 'Thu, 01 Jan 1970 00:00:00 GMT'),
  ],
  [
    'deprecation.headers',
    'no-successor: the deprecated read names no successor',
    head({}, 'link', (to) => to.replace('successor-version', 'next')),
  ],
  [
    'list.200-array',
    'list-ends-early: a list has fewer bytes than its Content-Length',
    early({ ...GET_LIST, status: 200 }),
  ],
  [
    'create.every-field',
    'create-ends-early: a create with a description has fewer bytes than its Content-Length',
    early({ status: 201, when: ({ text }) => text.includes('species') }),
  ],
];

/** Says more bytes than come, and ends the connection. */
function early(where: Where) {
  return say(where, (answer, { response }) => {
    const bytes = Buffer.from(JSON.stringify(answer.body));
    answer.body = bytes;
    answer.headers['content-length'] = bytes.length + 10;
    const { socket } = response;
    // The socket is no longer known once the answer is written.
    setImmediate(() => socket?.end());
  });
}
