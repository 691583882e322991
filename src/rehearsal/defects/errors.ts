import { refusal } from '../../http/errors.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { type Defect, type Fault, jsonIn, withHeader } from './defect.ts';

/** Wrong keys after which an address is refused. */
const WRONG_KEYS_MAX = 12;

/** Errors with another status, another form or another reason. */
export const ERROR_DEFECTS: readonly Defect[] = [
  {
    name: 'missing-key-is-403',
    rule: 'auth.401-missing',
    description: 'a request without a key is 403',
    inject: () =>
      rewriting('missing_api_key', (answer, { request }) =>
        request.headers.authorization === undefined
          ? { ...answer, status: 403, body: changed(answer, { status: 403 }) }
          : answer,
      ),
  },
  {
    name: 'no-challenge',
    rule: 'auth.challenge',
    description: 'a 401 has no WWW-Authenticate',
    inject: () => ({ answer: (answer) => (answer.status === 401 ? withHeader(answer, 'WWW-Authenticate') : answer) }),
  },
  {
    name: 'malformed-key-told',
    rule: 'auth.401-alike',
    description: 'a malformed key gets another message than an unknown one',
    inject: () =>
      rewriting('invalid_api_key', (answer, { request }) =>
        (request.headers.authorization ?? '').length < 20
          ? { ...answer, body: changed(answer, { message: 'The API key is malformed' }) }
          : answer,
      ),
  },
  {
    name: 'wrong-keys-are-429',
    rule: 'auth.401-again',
    description: `after ${WRONG_KEYS_MAX} wrong keys the answer is 429`,
    inject: () => {
      let wrong = 0;
      return rewriting('invalid_api_key', (answer) => {
        wrong += 1;
        if (wrong <= WRONG_KEYS_MAX) return answer;
        return refusal('rate_limit_exceeded', 'Too many wrong keys; try again', ['Retry-After', '1']);
      });
    },
  },
  {
    name: 'status-is-a-string',
    rule: 'errors.status-integer',
    description: 'the status of an error is a string',
    inject: () => rewritingErrors((answer) => ({ ...answer, body: changed(answer, { status: `${answer.status}` }) })),
  },
  {
    name: 'status-of-a-gateway',
    rule: 'errors.status-equals-http',
    description: 'the status in the body of a 405 is 400',
    inject: () => rewriting('method_not_allowed', (answer) => ({ ...answer, body: changed(answer, { status: 400 }) })),
  },
  {
    name: 'fourth-error-member',
    rule: 'errors.three-members',
    description: 'errors have a timestamp too',
    inject: (time) =>
      rewritingErrors((answer) => ({ ...answer, body: changed(answer, { timestamp: time.now().unix }) })),
  },
  {
    name: 'problem-json',
    rule: 'bodies.application-json',
    description: 'errors are application/problem+json',
    inject: () => rewritingErrors((answer) => ({ ...answer, contentType: 'application/problem+json' })),
  },
  {
    name: 'html-404',
    rule: 'errors.shape',
    description: 'an unknown path is answered with a page for people',
    inject: () =>
      rewriting('not_found', (answer) => ({
        ...answer,
        contentType: 'text/html; charset=utf-8',
        body: '<!doctype html><title>404</title><h1>Not Found</h1>',
      })),
  },
  {
    name: 'error-is-200',
    rule: 'create.400-without-name',
    description: 'a create without a name is 200, with the error in the body',
    inject: () =>
      rewriting('validation_failed', (answer, { body }) =>
        body !== null && typeof body === 'object' && Object.keys(body).length === 0
          ? { ...answer, status: 200 }
          : answer,
      ),
  },
  {
    name: 'bad-json-is-500',
    rule: 'create.400-bad-json',
    description: 'a body that cannot be parsed is 500',
    inject: () =>
      rewriting('invalid_json', (answer, { bodyBytes }) =>
        // A trailing comma, which JSON5 accepts, stays 400: a defect breaks one rule only.
        bodyBytes.includes(',}') ? answer : refusal('internal_error', 'Something went wrong; try again later'),
      ),
  },
];

/** Rewrites the errors of one code. */
export function rewriting(code: Answer['code'], change: (answer: Answer, exchange: Exchange) => Answer): Fault {
  return { answer: (answer, exchange) => (answer.code === code ? change(answer, exchange) : answer) };
}

/** Rewrites the errors of the API, but not refusals by the limits. */
function rewritingErrors(change: (answer: Answer) => Answer): Fault {
  return {
    answer: (answer, { isApi }) =>
      isApi && answer.code !== undefined && answer.status !== 429 ? change(answer) : answer,
  };
}

/** The body of an error with other members. */
export function changed(answer: Answer, members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...(jsonIn(answer) as object), ...members });
}
