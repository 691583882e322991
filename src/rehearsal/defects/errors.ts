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
  members,
} from './fault.ts';

const WRONG_KEYS_MAX = 12;

const WRONG_KEY = { code: 'invalid_api_key' } as const;
const KEY_OF_PRODUCTION = {
  ...WRONG_KEY,
  when: (exchange: Exchange) => keyOf(exchange).startsWith('Bearer petcat_live_'),
};
const TOO_LARGE = { code: 'payload_too_large' } as const;
const QUERY = { method: 'QUERY' };

/** Keys that are not as the interface has them, and errors of another status, another form or another reason. */
export const ERROR_DEFECTS: DefectTable = {
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
