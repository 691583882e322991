import { bodyFault, bodyOf, type Exchange, NoAnswer } from '../../trial/exchange.ts';
import { answersTo, each, expect, expectStatus, ours, published, type RuleTable, statuses } from '../../trial/rule.ts';
import type { Trial } from '../../trial/trial.ts';
import {
  badJson,
  create,
  invalidValues,
  largeBody,
  list,
  unknownMethod,
  unknownPath,
  withNumberAsName,
  withoutKey,
  withUnknownKey,
  wrongMediaType,
} from '../probes.ts';

export const ERRORS: RuleTable = {
  'errors.shape': {
    ...published('Errors', 'All error bodies use the Error shape (code, message, status).'),
    expected: 'a JSON object with code, message and status in every error body',
    judge: each([errors], (exchange) => {
      const fault = bodyFault(exchange);
      expect(fault === undefined, fault ?? '', exchange);
      const { code, message, status } = bodyOf(exchange);
      expect(typeof code === 'string', 'the body of an error has no code, or one that is no string', exchange);
      expect(typeof message === 'string', 'the body of an error has no message, or one that is no string', exchange);
      expect(status !== undefined, 'the body of an error has no status', exchange);
    }),
  },
  'errors.status-integer': {
    ...published('Error', 'Error: status, integer.'),
    expected: 'a status that is a JSON integer',
    judge: each([errors], (exchange) => {
      const { status = 0 } = bodyOf(exchange);
      expect(Number.isInteger(status), 'the status in a body is no integer', exchange);
    }),
  },
  'errors.status-equals-http': {
    ...published('Errors', 'The status field equals the HTTP status code of the response.'),
    expected: 'the same status in the body as in the status line',
    judge: each([errors], (exchange) => {
      const { status = exchange.status } = bodyOf(exchange);
      expect(Number(status) === exchange.status, `the body of a ${exchange.status} says ${status}`, exchange);
    }),
  },
  'errors.three-members': {
    ...ours('wire.md, Errors', 'Every error body is exactly code, message and status; no other member.'),
    expected: 'no fourth member',
    judge: each([errors], (exchange) => {
      const { code: _, message: __, status: ___, ...more } = bodyOf(exchange);
      expect(Object.keys(more).length === 0, `there is also ${Object.keys(more)}`, exchange);
    }),
  },
  'bodies.application-json': {
    ...published('Endpoints', 'Request and response bodies are application/json.'),
    expected: 'Content-Type: application/json on 200, 201, 400 and 401',
    judge: each([withoutKey, list, create, withNumberAsName], (exchange) => {
      const type = exchange.headers.get('content-type') ?? 'missing';
      expect(/^application\/json *(;|$)/i.test(type), `Content-Type is ${type}`, exchange);
    }),
  },
  'errors.404': {
    ...ours(
      'wire.md, Errors',
      'An unknown path is 401 without a key and 404 with one; a trailing slash is no redirect.',
    ),
    expected: '404 not_found for an unknown path and for /categories/',
    judge: statuses(404, unknownPath, { path: '/categories/' }),
  },
  'errors.405': {
    ...ours('RFC 9110, section 15.5.6', 'A wrong method is 405 with Allow.'),
    expected: '405 with Allow: GET, HEAD, OPTIONS, POST for PATCH /categories',
    judge: each([unknownMethod], (exchange) => {
      expectStatus(exchange, 405);
      const allowed = (exchange.headers.get('allow') ?? 'nothing').split(/, */).sort().join();
      expect(allowed === 'GET,HEAD,OPTIONS,POST', `Allow names ${allowed}`, exchange);
    }),
  },
  'errors.any-method': {
    ...ours(
      'RFC 9110, sections 9.1 and 15.6.2; RFC 10008',
      'A method that is not known gets an answer: 405 with Allow, or 501 (RFC 9110, section 9.1).',
    ),
    expected: 'for QUERY, PROPFIND and CONFORM on /categories: 405 with Allow, or 501',
    judge: each([{ method: 'QUERY' }, { method: 'PROPFIND' }, { method: 'CONFORM' }], (exchange) => {
      expectStatus(exchange, 405, 501);
      const isAllowed = exchange.status === 501 || exchange.headers.has('allow');
      expect(isAllowed, 'Allow is missing', exchange);
    }),
  },
  'errors.413': {
    ...ours('wire.md, Errors', 'A body has up to 256 KiB, else the answer is 413.'),
    expected: '413 for a body of 300,002 bytes',
    judge: statuses(413, largeBody),
  },
  'errors.codes': {
    ...ours('wire.md, Errors', 'The set of codes is closed.'),
    expected: 'missing_api_key, invalid_api_key, validation_failed, not_found, method_not_allowed, …',
    judge: each([errors], (exchange) => {
      const { code } = bodyOf(exchange);
      const wanted = CODES[exchange.status];
      if (wanted && typeof code === 'string') expect(wanted.includes(`${code}`), `the code is ${code}`, exchange);
    }),
  },
};

const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['validation_failed', 'invalid_json'],
  401: ['missing_api_key', 'invalid_api_key'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
};

async function errors(trial: Trial): Promise<readonly Exchange[]> {
  const provoked = await answersTo(trial, [withoutKey, withUnknownKey, withNumberAsName, invalidValues, badJson]);
  for (const probe of [unknownPath, unknownMethod, wrongMediaType, largeBody]) {
    // The interface does not say that there is an answer.
    const exchange = await trial.once(probe).catch((error: unknown) => {
      if (!(error instanceof NoAnswer)) throw error;
    });
    if (exchange) provoked.push(exchange);
  }
  return provoked.filter(({ status }) => status >= 400);
}
