import {
  ask,
  body,
  bytes,
  fail,
  head,
  type Lying,
  members,
  say,
  status,
  type Told,
  target,
  type Where,
} from './lie.ts';
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
const knows = (isKnown: (sent: string) => boolean): Lying => ({
  knows: (sent) => (sent !== undefined && isKnown(sent)) || undefined,
});

/** Keys, errors, framing, validators, pages, repeats and the end of an operation that are not as they should be. */
export const OF_HTTP: Told = {
  'auth.401-missing': {
    'a body that is no JSON is 400 without a key': fail(
      { status: 401, when: ({ headers, text }) => !headers.authorization && text === '{"name":' },
      400,
      'invalid_json',
    ),
    'a bearer token of nothing is 403': status({ status: 401, when: (asked) => keyOf(asked).trim() === 'Bearer' }, 403),
    'a list needs no key': {
      asked({ headers, method }) {
        if (method === 'GET') headers.authorization ??= `Bearer ${MAIN_KEY}`;
      },
    },
    'a create without a key is sent to a login': say(
      { status: 401, method: 'POST', when: (asked) => keyOf(asked) === '' },
      (answer) => {
        Object.assign(answer, { status: 302, body: undefined, headers: { ...answer.headers, location: '/login' } });
      },
    ),
    'an invalid body without a key is 400': fail(
      { status: 401, when: ({ headers, text }) => !headers.authorization && text === '{"name":1}' },
      400,
      'validation_failed',
    ),
  },
  'auth.401-invalid auth.401-missing auth.bearer-only auth.401-again auth.other-environment': {
    'a wrong key is 403': status(WRONG_KEY, 403),
  },
  'auth.401-invalid': {
    'a key with one more character is valid': knows((sent) => sent === `Bearer ${MAIN_KEY}x`),
    'the case of a key does not matter': knows(
      (sent) =>
        [MAIN_KEY, LIMITED_KEY].every((key) => sent !== `Bearer ${key}`) &&
        sent.slice(7).toLowerCase() === MAIN_KEY.toLowerCase(),
    ),
  },
  'auth.401-alike': {
    'a malformed key gets another message than an unknown one': members(
      { ...WRONG_KEY, when: (asked) => keyOf(asked).length < 20 },
      { message: 'The API key is malformed' },
    ),
  },
  'auth.401-again': {
    [`after ${WRONG_KEYS_MAX} wrong keys in a row the answer is 429`]: say({}, (answer, { state: { memory }, now }) => {
      memory.wrong = answer.status === 401 ? (memory.wrong ?? 0) + 1 : 0;
      if (memory.wrong <= WRONG_KEYS_MAX) return;
      Object.assign(answer.headers, { 'retry-after': 1, 'x-ratelimit-reset': Math.floor(now) + 1 });
      Object.assign(answer, { status: 429, body: { code: 'rate_limit_exceeded', message: 'Wait', status: 429 } });
    }),
  },
  'auth.scheme-any-case': {
    'the scheme must be written Bearer': ask('authorization', (sent) => (sent.startsWith('bEARER') ? 'x' : sent)),
  },
  'auth.bearer-only': {
    'a word after the key is passed over': knows((sent) => sent === `Bearer ${MAIN_KEY} x`),
    'a key with the scheme Basic is valid': knows((sent) => sent === `Basic ${MAIN_KEY}`),
    'a key without a scheme is valid': knows((sent) => sent === MAIN_KEY),
    'a key that is given twice is valid': knows((sent) => sent.includes(', ')),
  },
  'auth.challenge': {
    'a 401 has no WWW-Authenticate': head({ status: 401 }, 'www-authenticate'),
    'a 401 for a bad key has a plain challenge': head(
      { status: 401 },
      'www-authenticate',
      () => 'Bearer realm="pet-catalog"',
    ),
  },
  'auth.other-environment': {
    'a key of the other environment is 403': status(OF_OTHER, 403),
    'a key of the other environment gets a message of its own': members(OF_OTHER, {
      message: 'This is a key of production',
    }),
  },
  'errors.shape': {
    'a missing key is answered with a page for people': bytes(
      { status: 401, path: '/categories', method: 'GET', when: (asked) => keyOf(asked) === '' },
      '<html>Sign in</html>',
    ),
    'the code of a 413 is a number': members(TOO_LARGE, { code: 413 }),
    'the message of a 413 is a list': members(TOO_LARGE, { message: ['No'] }),
    'an invalid body is answered in plain words': bytes(
      { status: 400, when: ({ text }) => text === '{"name":null}' },
      'No',
    ),
    'a 413 has no status': members(TOO_LARGE, { status: undefined }),
  },
  'errors.status-integer': {
    'the status of an error is a string': body(ERROR, (error) => ({ ...error, status: `${error.status}` })),
  },
  'errors.status-equals-http': {
    'the status in the body of a 401 is 0': members({ status: 401 }, { status: 0 }),
    'the status in the body of a 405 is 400': members({ code: 'method_not_allowed' }, { status: 400 }),
  },
  'errors.three-members': {
    'errors have a timestamp too': members(ERROR, { timestamp: 1_767_225_600 }),
  },
  'errors.404': {
    'an unknown path is 403': status({ code: 'not_found', path: /^\/conformance-/ }, 403),
    'a slash at the end is a redirect': say({ path: '/categories/' }, (answer) => {
      Object.assign(answer, {
        status: 308,
        body: undefined,
        headers: { ...answer.headers, location: '/v1/categories' },
      });
    }),
  },
  'errors.405': {
    'PATCH where there is none is 404': fail({ code: 'method_not_allowed', method: 'PATCH' }, 404, 'not_found'),
    'Allow forgets POST': head({ status: 405 }, 'allow', () => 'GET, HEAD, OPTIONS'),
  },
  'errors.any-method': {
    'QUERY is 404': fail(QUERY, 404, 'not_found'),
    'a 405 for QUERY has no Allow': head(QUERY, 'allow'),
  },
  'errors.413': {
    'a body that is too large is 400': fail(TOO_LARGE, 400, 'validation_failed'),
  },
  'errors.codes': {
    'the code of a 404 is "404"': members(NOT_FOUND, { code: '404' }),
  },
  'bodies.application-json': {
    'errors are application/problem+json': head(ERROR, 'content-type', () => 'application/problem+json'),
    'lists are text/json': head({ ...GET_LIST, status: 200 }, 'content-type', () => 'text/json'),
    'a create has no Content-Type': head({ status: 201 }, 'content-type'),
  },
  'http.one-answer': {
    'the body of a GET is taken for the next request, and answered': say(
      { method: 'GET' },
      (_, { headers, response }) => {
        // After this answer was written, which happens at once.
        if (Number(headers['content-length'] ?? 0) > 0) queueMicrotask(() => response.socket?.write(SECOND_ANSWER));
      },
    ),
  },
  'http.304': {
    'If-None-Match is ignored': ask('if-none-match', () => undefined),
    'the ETag of the list is weak': head(GET_LIST, 'etag', (tag) => tag && `W/${tag}`),
    'the ETag of the list never changes': () => {
      let real = '';
      return {
        ...ask('if-none-match', (tag) => (tag === '"same"' ? real : tag)),
        ...head(GET_LIST, 'etag', (tag) => {
          if (tag) real = tag;
          return tag && '"same"';
        }),
      };
    },
    'a list is 304 for any If-None-Match': say(
      { ...GET_LIST, status: 200, when: ({ headers }) => !!headers['if-none-match'] },
      (answer) => {
        Object.assign(answer, { status: 304, body: undefined });
      },
    ),
  },
  'http.head': {
    'HEAD is 405': fail({ method: 'HEAD' }, 405, 'method_not_allowed'),
  },
  'http.pages': {
    'the parameter limit is ignored': target(/([?&])limit=[1-9]\d*/, '$1limit=1000'),
    'a page is an object': body(PAGE, (items) => ({ items })),
    'the next page is the same one': head(PAGE, 'link', (_, { url }) => `</v1${url}>; rel="next"`),
    'a page has no link to the next': head(PAGE, 'link'),
    'the next page is on another host': head(PAGE, 'link', () => '<https://example.invalid/v1/categories>; rel="next"'),
    'the pages have other ids than the list': body<readonly Category[]>(PAGE, (all) =>
      all.map((each) => ({ ...each, id: Number(each.id) + 100_000 })),
    ),
    'a limit of 0 is the usual one': target(/\?limit=0$/, ''),
  },
  'http.request-id': {
    "the caller's id is ignored": head({}, 'x-request-id', () => 'ours'),
    'any id is echoed': head({}, 'x-request-id', (id, { headers }) => headers['x-request-id'] ?? id),
  },
  'http.idempotency-key': {
    'Idempotency-Key is ignored': ask('idempotency-key', () => undefined),
    'a replay has no Idempotency-Replayed': head({}, 'idempotency-replayed'),
    'another body under a used Idempotency-Key is 409': status({ status: 422 }, 409),
  },
  'http.cache-control': {
    'shared caches may keep the list for a minute': head(
      { ...GET_LIST, status: 200 },
      'cache-control',
      () => 'public, max-age=60',
    ),
    'X-Content-Type-Options is missing': head({}, 'x-content-type-options'),
  },
  'http.parameters': {
    'an unknown parameter is passed over': target('?colour=red', ''),
    'of a parameter that is given twice the first counts': target('&limit=2', ''),
    'ids that are given twice are 400': fail({ url: /&ids=/ }, 400, 'validation_failed'),
  },
  'http.etag-of-one': {
    'the ETag of a create is weak': head({ status: 201 }, 'etag', (tag) => `W/${tag}`),
    'a GET of a category has another ETag than its create': head(
      { path: /^\/categories\/\d+$/ },
      'etag',
      (tag) => tag && '"other"',
    ),
  },
  'http.if-match': {
    'If-Match is ignored': ask('if-match', () => undefined),
    'any If-Match is 412': fail(
      { status: 200, when: ({ headers }) => !!headers['if-match'] },
      412,
      'precondition_failed',
    ),
  },
  'deprecation.headers': {
    'the deprecated read has no Sunset': head({}, 'sunset'),
    'the deprecated read has no Deprecation': head({}, 'deprecation'),
    'the Sunset of the deprecated read is 1970': head({}, 'sunset', (at) => at && 'Thu, 01 Jan 1970 00:00:00 GMT'),
    'the deprecated read names no successor': head({}, 'link', (to) => to.replace('successor-version', 'next')),
  },
  'list.200-array': {
    'a list has fewer bytes than its Content-Length': early({ ...GET_LIST, status: 200 }),
  },
  'create.every-field': {
    'a create with a description has fewer bytes than its Content-Length': early({
      status: 201,
      when: ({ text }) => text.includes('species'),
    }),
  },
};

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
