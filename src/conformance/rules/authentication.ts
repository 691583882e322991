import type { Answer, Exchange } from '../exchange.ts';
import { unknownKeyLike, withoutKey, withUnknownKey } from '../probes.ts';
import { expect, expectStatus, known, type Rule, Skipped } from '../rule.ts';

/** Headers that differ between any two answers. */
const PASSING: ReadonlySet<string> = new Set(['date', 'x-request-id', 'x-ratelimit-reset', 'connection', 'keep-alive']);

/** Rules of keys. */
export const AUTHENTICATION: readonly Rule[] = [
  {
    id: 'auth.401-missing',
    level: 'published',
    sentence: 'When the key is missing or invalid, the response is 401 with an Error body.',
    expected: '401 for a list and for a create without a key',
    brokenBy: 'a 403, or a list that needs no key',
    async judge(trial) {
      for (const exchange of await trial.once(withoutKey)) expectStatus(exchange, 401);
    },
  },
  {
    id: 'auth.401-invalid',
    level: 'published',
    sentence: 'When the key is missing or invalid, the response is 401 with an Error body.',
    expected: '401 for a list and for a create with an unknown key',
    brokenBy: 'a key that is not looked up',
    async judge(trial) {
      for (const exchange of await trial.once(withUnknownKey)) expectStatus(exchange, 401);
    },
  },
  {
    id: 'auth.scheme-any-case',
    level: 'ours',
    sentence: 'The scheme is case-insensitive, and one or more spaces follow it (RFC 9110).',
    expected: '200 for `bEARER   KEY`',
    brokenBy: 'a comparison with "Bearer "',
    async judge(trial) {
      expectStatus(await trial.send({ headers: { authorization: `bEARER   ${trial.keys.key}` } }), 200);
    },
  },
  {
    id: 'auth.bearer-only',
    level: 'ours',
    sentence: 'Two Authorization headers, or anything but a bearer token, is 401.',
    expected: '401 for the key alone, with the scheme Basic, twice, and with a word behind it',
    brokenBy: 'a search for the key anywhere in the header',
    async judge(trial) {
      const { key } = trial.keys;
      for (const authorization of [key, `Basic ${key}`, `Bearer ${key}, Bearer ${key}`, `Bearer ${key} x`, 'Bearer']) {
        expectStatus(await trial.send({ authorization }), 401);
      }
    },
  },
  {
    id: 'auth.challenge',
    level: 'ours',
    sentence: 'A 401 carries WWW-Authenticate: Bearer realm="…", with error="invalid_token" if a key was sent.',
    expected: 'a Bearer challenge, with an error only if a key was sent',
    brokenBy: 'a 401 without WWW-Authenticate',
    async judge(trial) {
      const [missing] = await trial.once(withoutKey);
      const [unknown] = await trial.once(withUnknownKey);
      expect(/^Bearer realm="[^"]+"$/.test(challengeOf(missing)), 'without a key: no plain challenge', missing);
      const named = /^Bearer realm="[^"]+", error="invalid_token"$/.test(challengeOf(unknown));
      expect(named, 'with an unknown key: no invalid_token', unknown);
    },
  },
  {
    id: 'auth.401-alike',
    level: 'ours',
    sentence: 'Unknown and malformed keys get byte-identical answers, request id and times aside.',
    expected: 'the same headers and body for an unknown key and for one that is no key at all',
    brokenBy: 'a message that says what is wrong with the key',
    async judge(trial) {
      const [unknown] = await trial.once(withUnknownKey);
      const malformed = await trial.send({ authorization: 'Bearer x' });
      expect(lasting(unknown.answer) === lasting(malformed.answer), 'the two differ', unknown, malformed);
    },
  },
  {
    id: 'auth.401-again',
    level: 'ours',
    sentence: 'A failed authentication is always 401, however often it is repeated.',
    expected: '401 twenty times',
    brokenBy: 'a 429 or a ban by address',
    async judge(trial) {
      const authorization = `Bearer ${unknownKeyLike(trial.keys.key)}`;
      for (let i = 0; i < 20; i += 1) expectStatus(await trial.send({ authorization }), 401);
    },
  },
  {
    id: 'auth.other-environment',
    level: 'ours',
    sentence: 'A key belongs to one environment; on the other it is simply invalid.',
    expected: '401, with the same headers and body as an unknown key',
    brokenBy: 'environments that share their keys',
    needs: 'other-environment-key',
    async judge(trial) {
      const other = known(trial.keys.otherEnvironmentKey, 'no --other-environment-key');
      const exchange = await trial.send({ authorization: `Bearer ${other}` });
      expectStatus(exchange, 401);
      const [unknown] = await trial.once(withUnknownKey);
      expect(lasting(unknown.answer) === lasting(exchange.answer), 'the two differ', unknown, exchange);
    },
  },
];

function challengeOf({ answer }: Exchange): string {
  if (answer.status !== 401) throw new Skipped(`the status is ${answer.status}`);
  return answer.headers.get('www-authenticate') ?? '';
}

/** What two answers must have in common, as a text. */
function lasting({ status, headers, body }: Answer): string {
  return JSON.stringify([status, [...headers].filter(([name]) => !PASSING.has(name)), body]);
}
