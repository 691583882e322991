import { type Answer, type Exchange, Skipped } from '../../trial/exchange.ts';
import {
  expect,
  expectStatus,
  expectSuccess,
  known,
  ours,
  published,
  type RuleTable,
  statuses,
} from '../../trial/rule.ts';
import type { Trial } from '../../trial/trial.ts';
import { unknownKeyLike, withoutKey, withUnknownKey } from '../probes.ts';

/** Headers that differ between any two answers. */
const PASSING: ReadonlySet<string> = new Set(['date', 'x-request-id', 'x-ratelimit-reset', 'connection', 'keep-alive']);

const UNAUTHENTICATED = published(
  'Create a category, rule 3; List categories, rule 2',
  'When the key is missing or invalid, the response is 401 with an Error body.',
);

export const AUTHENTICATION: RuleTable = {
  'auth.401-missing': {
    ...UNAUTHENTICATED,
    expected: '401 for a list and for creates, valid or not, without a key',
    judge: statuses(401, withoutKey, { authorization: 'Bearer ' }),
  },
  'auth.401-invalid': {
    ...UNAUTHENTICATED,
    expected: '401 for a list and for creates, valid or not, with an unknown key, and for a key that is nearly right',
    judge: statuses(401, withUnknownKey),
  },
  'auth.scheme-any-case': {
    ...ours('RFC 9110, section 11.1', 'The scheme is case-insensitive, and one or more spaces follow it (RFC 9110).'),
    expected: '200 for `bEARER   KEY`',
    async judge(trial) {
      expectSuccess(await trial.send({ headers: { authorization: `bEARER   ${trial.options.key}` } }));
    },
  },
  'auth.bearer-only': {
    ...ours('wire.md, Authentication', 'Two Authorization headers, or anything but a bearer token, is 401.'),
    expected: '401 for the key alone, with the scheme Basic, twice, and with a word behind it',
    async judge(trial) {
      const { key = '' } = trial.options;
      for (const authorization of [key, `Basic ${key}`, `Bearer ${key}, Bearer ${key}`, `Bearer ${key} x`]) {
        expectStatus(await trial.send({ authorization }), 401);
      }
    },
  },
  'auth.challenge': {
    ...ours(
      'RFC 6750, section 3; wire.md, Authentication',
      'A 401 carries WWW-Authenticate: Bearer realm="…", with error="invalid_token" if a key was sent.',
    ),
    expected: 'a Bearer challenge, with an error only if a key was sent',
    async judge(trial) {
      const missing = await firstOf(trial, withoutKey);
      const unknown = await firstOf(trial, withUnknownKey);
      expect(/^Bearer realm="[^"]+"$/.test(challengeOf(missing)), 'without a key: no plain challenge', missing);
      const named = /^Bearer realm="[^"]+", error="invalid_token"$/.test(challengeOf(unknown));
      expect(named, 'with an unknown key: no invalid_token', unknown);
    },
  },
  'auth.401-alike': {
    ...ours(
      'wire.md, Authentication',
      'Unknown and malformed keys get byte-identical answers, request id and times aside.',
    ),
    expected: 'the same headers and body for an unknown key and for one that is no key at all',
    async judge(trial) {
      const [unknown, malformed] = await alike(trial, 'x');
      expect(lasting(unknown) === lasting(malformed), 'the two differ', unknown, malformed);
    },
  },
  'auth.401-again': {
    ...ours('wire.md, Authentication', 'A failed authentication is always 401, however often it is repeated.'),
    expected: '401 twenty times',
    async judge(trial) {
      const authorization = `Bearer ${unknownKeyLike(trial.options.key ?? '')}`;
      for (let i = 0; i < 20; i += 1) expectStatus(await trial.sendOnce({ authorization }), 401);
    },
  },
  'auth.other-environment': {
    ...ours('wire.md, Addressing', 'A key belongs to one environment; on the other it is simply invalid.'),
    expected: '401, with the same headers and body as an unknown key',
    needs: 'other-environment-key',
    async judge(trial) {
      const other = known(trial.options.otherEnvironmentKey, 'no --other-environment-key');
      const [unknown, exchange] = await alike(trial, other);
      expectStatus(exchange, 401);
      expect(lasting(unknown) === lasting(exchange), 'the two differ', unknown, exchange);
    },
  },
};

/** An unknown key and another one, one right after the other. */
async function alike(trial: Trial, token: string): Promise<[Exchange, Exchange]> {
  const unknown = await trial.send({ authorization: `Bearer ${unknownKeyLike(trial.options.key ?? '')}` });
  return [unknown, await trial.send({ authorization: `Bearer ${token}` })];
}

async function firstOf(trial: Trial, probe: (trial: Trial) => Promise<readonly Exchange[]>): Promise<Exchange> {
  const [first] = await trial.once(probe);
  return known(first, 'there was no answer');
}

function challengeOf({ status, headers }: Exchange): string {
  if (status !== 401) throw new Skipped(`the status is ${status}`);
  return headers.get('www-authenticate') ?? '';
}

/** The part that two answers must have in common, as a text. */
function lasting({ status, headers, body }: Answer): string {
  return JSON.stringify([status, [...headers].filter(([name]) => !PASSING.has(name)), body]);
}
