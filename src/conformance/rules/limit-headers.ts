import { dateOf, type Exchange, limitsOf } from '../exchange.ts';
import {
  create,
  head,
  isUnixTime,
  largeBody,
  list,
  notModified,
  unknownMethod,
  unknownPath,
  withNumberAsName,
  withoutKey,
  withUnknownKey,
  wrongMediaType,
} from '../probes.ts';
import { expect, type Level, type Rule, Skipped } from '../rule.ts';
import type { Trial } from '../trial.ts';

/** The sentence of the published interface that several rules check. */
export const EVERY =
  'Every API response carries the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.';
/** How far a window may reach into the future: a year, for plans with a month. */
const RESET_SECONDS_MAX = 366 * 86_400;
/** How far the clocks of a server and of a gateway before it may differ. */
const SKEW_SECONDS = 5;

/** The answers that must have the headers. */
const ANSWERS: readonly {
  readonly on: string;
  readonly level?: Level;
  readonly probe: (trial: Trial) => Promise<readonly Exchange[]>;
}[] = [
  { on: '200', probe: async (trial) => [await trial.once(list)] },
  { on: '201', probe: async (trial) => [await trial.once(create)] },
  { on: '304', probe: async (trial) => [await trial.once(notModified)] },
  { on: '400', probe: async (trial) => [await trial.once(withNumberAsName)] },
  { on: '401', probe: async (trial) => [...(await trial.once(withoutKey)), ...(await trial.once(withUnknownKey))] },
  { on: '404', probe: async (trial) => [await trial.once(unknownPath)] },
  { on: '405', probe: async (trial) => [await trial.once(unknownMethod)] },
  { on: '413', probe: async (trial) => [await trial.once(largeBody)] },
  { on: '415', probe: async (trial) => [await trial.once(wrongMediaType)] },
  { on: 'HEAD', level: 'ours', probe: async (trial) => [await trial.once(head)] },
  { on: 'OPTIONS', level: 'ours', probe: async (trial) => [await trial.send({ method: 'OPTIONS' })] },
];

/** Rules of the three headers, whatever their values count. */
export const LIMIT_HEADERS: readonly Rule[] = [
  ...ANSWERS.map(
    ({ on, level = 'published', probe }): Rule => ({
      id: `limits.headers-on-${on.toLowerCase()}`,
      level,
      sentence: EVERY,
      expected: `the three headers, each one whole number, on an answer to ${on === '413' ? 'a large body' : on}`,
      brokenBy: `a gate that answers ${on} before the headers are known, or a gateway that strips them`,
      judge: async (trial) => {
        for (const exchange of await probe(trial)) expectLimits(exchange);
      },
    }),
  ),
  {
    id: 'limits.reset-unix-time',
    level: 'published',
    sentence: 'X-RateLimit-Reset is a Unix timestamp of the moment the limit resets.',
    expected: 'a number of seconds since 1970 that is not before Date',
    brokenBy: 'seconds from now, or milliseconds',
    async judge(trial) {
      const exchange = await trial.once(list);
      const { reset } = limitsOf(exchange.answer);
      if (reset === undefined) throw new Skipped('there is no X-RateLimit-Reset');
      expect(isUnixTime(reset), `${reset} is no Unix time in seconds`, exchange);
      const now = dateOf(exchange.answer);
      if (now === undefined) return;
      const isNear = reset >= now - SKEW_SECONDS && reset <= now + RESET_SECONDS_MAX;
      expect(isNear, `it is ${reset - now} s after Date`, exchange);
    },
  },
  {
    id: 'limits.401-no-quota',
    level: 'ours',
    sentence: 'Without a valid key there is no quota: Limit: 0, Remaining: 0, Reset = the present second.',
    expected: '0, 0 and the present second, and no RateLimit',
    brokenBy: 'the limits of the address on a 401',
    async judge(trial) {
      for (const exchange of [...(await trial.once(withoutKey)), ...(await trial.once(withUnknownKey))]) {
        const { limit, remaining, reset } = limitsOf(exchange.answer);
        const now = dateOf(exchange.answer);
        if (limit === undefined || reset === undefined || now === undefined) throw new Skipped('a header is missing');
        expect(limit === 0 && remaining === 0, 'there is a quota', exchange);
        expect(Math.abs(reset - now) <= SKEW_SECONDS, `Reset is ${reset - now} s after Date`, exchange);
        expect(!exchange.answer.headers.has('ratelimit'), 'there is a RateLimit', exchange);
      }
    },
  },
  {
    id: 'limits.ietf-pair',
    level: 'ours',
    sentence: 'With a valid key also RateLimit-Policy and RateLimit (IETF draft), consistent with them.',
    expected: 'RateLimit-Policy and RateLimit with the windows minute and day; the smaller r is Remaining',
    brokenBy: 'two counters that disagree',
    async judge(trial) {
      const exchange = await trial.once(list);
      const { headers } = exchange.answer;
      const { remaining } = limitsOf(exchange.answer);
      if (remaining === undefined) throw new Skipped('there is no X-RateLimit-Remaining');
      const policy = headers.get('ratelimit-policy') ?? '';
      expect(/^"minute";q=\d+;w=60, "day";q=\d+;w=86400$/.test(policy), 'the RateLimit-Policy is another', exchange);
      const left = /^"minute";r=(\d+);t=\d+, "day";r=(\d+);t=\d+$/.exec(headers.get('ratelimit') ?? '');
      expect(left !== null, 'the RateLimit is another', exchange);
      const smaller = Math.min(Number(left[1]), Number(left[2]));
      expect(smaller === remaining, 'RateLimit and Remaining differ', exchange);
    },
  },
];

/** Throws `Broken` unless an answer has the three headers. */
export function expectLimits(exchange: Exchange): void {
  const { limit, remaining, reset } = limitsOf(exchange.answer);
  const isThere = limit !== undefined && remaining !== undefined && reset !== undefined;
  expect(isThere, 'a header is missing, or no whole number', exchange);
}
