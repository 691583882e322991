import { type Exchange, jsonOf, membersOf } from '../exchange.ts';
import {
  create,
  largeBody,
  list,
  unknownMethod,
  unknownPath,
  withNumberAsName,
  withoutKey,
  withUnknownKey,
  wrongMediaType,
} from '../probes.ts';
import { expect, expectStatus, type Rule } from '../rule.ts';
import type { Trial } from '../trial.ts';

const SHAPE = 'All error bodies use the Error shape (code, message, status).';

/** Rules of errors, judged by one of each kind. */
export const ERRORS: readonly Rule[] = [
  {
    id: 'errors.shape',
    level: 'published',
    sentence: SHAPE,
    expected: 'a JSON object with code, message and status in every error body',
    brokenBy: 'an HTML page for an unknown path',
    async judge(trial) {
      for (const exchange of await trial.once(errors)) {
        const { code, message, status } = membersOf(jsonOf(exchange.answer));
        const isError = typeof code === 'string' && typeof message === 'string' && status !== undefined;
        expect(isError, 'the body is no Error', exchange);
      }
    },
  },
  {
    id: 'errors.status-integer',
    level: 'published',
    sentence: 'Error: status, integer.',
    expected: 'a status that is a JSON integer',
    brokenBy: 'a status as a string',
    async judge(trial) {
      for (const exchange of await trial.once(errors)) {
        const { status = 0 } = membersOf(jsonOf(exchange.answer));
        expect(Number.isInteger(status), 'the status is no integer', exchange);
      }
    },
  },
  {
    id: 'errors.status-equals-http',
    level: 'published',
    sentence: 'The status field equals the HTTP status code of the response.',
    expected: 'the same status in the body as in the status line',
    brokenBy: 'a proxy that changes the one and not the other',
    async judge(trial) {
      for (const exchange of await trial.once(errors)) {
        const { status = exchange.answer.status } = membersOf(jsonOf(exchange.answer));
        expect(Number(status) === exchange.answer.status, `the body says ${status}`, exchange);
      }
    },
  },
  {
    id: 'errors.three-members',
    level: 'ours',
    sentence: 'Every error body is exactly code, message and status; no other member.',
    expected: 'no fourth member',
    brokenBy: 'a timestamp, a path or a trace id beside them',
    async judge(trial) {
      for (const exchange of await trial.once(errors)) {
        const { code: _, message: __, status: ___, ...more } = membersOf(jsonOf(exchange.answer));
        expect(Object.keys(more).length === 0, `there is also ${Object.keys(more)}`, exchange);
      }
    },
  },
  {
    id: 'bodies.application-json',
    level: 'published',
    sentence: 'Request and response bodies are application/json.',
    expected: 'Content-Type: application/json on 200, 201, 400 and 401',
    brokenBy: 'text/html or application/problem+json',
    async judge(trial) {
      const [[missing], ...answered] = [
        await trial.once(withoutKey),
        await trial.once(list),
        await trial.once(create),
        await trial.once(withNumberAsName),
      ];
      for (const exchange of [missing, ...answered]) {
        const type = exchange.answer.headers.get('content-type') ?? 'missing';
        expect(/^application\/json *(;|$)/i.test(type), `Content-Type is ${type}`, exchange);
      }
    },
  },
  {
    id: 'errors.404',
    level: 'ours',
    sentence: 'An unknown path is 401 without a key and 404 with one; a trailing slash is no redirect.',
    expected: '404 not_found for an unknown path and for /categories/',
    brokenBy: 'a redirect',
    async judge(trial) {
      expectStatus(await trial.once(unknownPath), 404);
      expectStatus(await trial.send({ path: '/categories/' }), 404);
    },
  },
  {
    id: 'errors.405',
    level: 'ours',
    sentence: 'A wrong method is 405 with Allow.',
    expected: '405 with Allow: GET, HEAD, OPTIONS, POST for PATCH /categories',
    brokenBy: 'a 404 for a wrong method',
    async judge(trial) {
      const exchange = await trial.once(unknownMethod);
      expectStatus(exchange, 405);
      const allowed = (exchange.answer.headers.get('allow') ?? '').split(/, */).sort().join();
      expect(allowed === 'GET,HEAD,OPTIONS,POST', `Allow names ${allowed}`, exchange);
    },
  },
  {
    id: 'errors.413',
    level: 'ours',
    sentence: 'A body has up to 256 KiB, else the answer is 413.',
    expected: '413 for a body of 300,002 bytes',
    brokenBy: 'a connection that is reset',
    async judge(trial) {
      expectStatus(await trial.once(largeBody), 413);
    },
  },
  {
    id: 'errors.codes',
    level: 'ours',
    sentence: 'The set of codes is closed.',
    expected: 'missing_api_key, invalid_api_key, validation_failed, not_found, method_not_allowed, …',
    brokenBy: 'a code that only repeats the status',
    async judge(trial) {
      for (const exchange of await trial.once(errors)) {
        const { code } = membersOf(jsonOf(exchange.answer));
        const wanted = CODES[exchange.answer.status];
        if (wanted && code !== undefined) expect(wanted.includes(`${code}`), `the code is ${code}`, exchange);
      }
    },
  },
];

const CODES: Readonly<Record<number, readonly string[]>> = {
  400: ['validation_failed', 'invalid_json'],
  401: ['missing_api_key', 'invalid_api_key'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
};

/** One error of each kind that the server answers with. */
async function errors(trial: Trial): Promise<readonly Exchange[]> {
  const provoked = [
    ...(await trial.once(withoutKey)),
    ...(await trial.once(withUnknownKey)),
    await trial.once(withNumberAsName),
    await trial.once(unknownPath),
    await trial.once(unknownMethod),
    await trial.once(wrongMediaType),
    await trial.once(largeBody),
  ];
  return provoked.filter(({ answer }) => answer.status >= 400);
}
