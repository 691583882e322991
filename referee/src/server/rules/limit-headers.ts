import { expectAhead, expectLimits, SKEW_SECONDS } from '../../limits/rules.ts';
import { dateOf, type Exchange, NoAnswer, Skipped } from '../../trial/exchange.ts';
import { isUnixTime } from '../../trial/limited.ts';
import {
  type Asked,
  answersTo,
  each,
  expect,
  given,
  type Level,
  ours,
  published,
  type RuleTable,
} from '../../trial/rule.ts';
import type { Trial } from '../../trial/trial.ts';
import { CATALOG_LIMITS, limitsOf } from '../catalog-limit.ts';
import {
  countedTogether,
  create,
  head,
  largeBody,
  list,
  notModified,
  options,
  takenBetween,
  unknownMethod,
  unknownPath,
  withNumberAsName,
  withoutKey,
  withUnknownKey,
  wrongMediaType,
} from '../probes.ts';

export const EVERY = published(
  'Limits, rule 1',
  'Every API response carries the headers X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.',
);

const ANSWERS: readonly {
  readonly on: string;
  readonly level?: Level;
  /** True if the interface says nothing of such an answer, so that none need come. */
  readonly isOptional?: true;
  readonly probes: readonly Asked[];
}[] = [
  { on: '200', probes: [list] },
  { on: '201', probes: [create] },
  { on: '304', probes: [notModified] },
  { on: '400', probes: [withNumberAsName] },
  { on: '401', probes: [withoutKey, withUnknownKey] },
  { on: '404', isOptional: true, probes: [unknownPath] },
  { on: '405', isOptional: true, probes: [unknownMethod] },
  { on: '413', isOptional: true, probes: [largeBody] },
  { on: '415', isOptional: true, probes: [wrongMediaType] },
  { on: 'HEAD', level: 'ours', probes: [head] },
  { on: 'OPTIONS', level: 'ours', probes: [options] },
  { on: 'pets', level: 'ours', probes: [petsAndStore] },
];

/** The statuses that have a rule of their own. */
const JUDGED: ReadonlySet<number> = new Set([200, 201, 304, 400, 401, 404, 405, 413, 415, 429]);

/** Rules of the three headers, whatever their values count. */
export const LIMIT_HEADERS: RuleTable = {
  ...Object.fromEntries(
    ANSWERS.map(({ on, level = 'published', isOptional, probes }): [string, RuleTable[string]] => [
      `limits.headers-on-${on.toLowerCase()}`,
      {
        ...EVERY,
        level,
        expected: `the three headers, each one whole number, on an answer to ${on === '413' ? 'a large body' : on}`,
        async judge(trial) {
          const exchanges = await answersTo(trial, probes).catch((error: unknown) => {
            throw isOptional && error instanceof NoAnswer ? new Skipped(error.message) : error;
          });
          const [first] = exchanges;
          const isOther = isOptional && first && `${first.status}` !== on && JUDGED.has(first.status);
          if (isOther) throw new Skipped(`the answer is a ${first.status}, which is judged elsewhere`);
          for (const exchange of exchanges) expectLimits(CATALOG_LIMITS, exchange);
        },
      },
    ]),
  ),
  'limits.401-no-quota': {
    ...ours(
      'limits.md, Headers',
      'Without a valid key there is no quota: Limit: 0, Remaining: 0, Reset = the present second.',
    ),
    expected: '0, 0 and the present second, and no RateLimit',
    judge: each([withoutKey, withUnknownKey], (exchange) => {
      if (exchange.status !== 401) return;
      const { limit, remaining, reset, now } = wholeLimitsOf(exchange);
      if (!isUnixTime(reset) || reset < now - SKEW_SECONDS) throw new Skipped('limits.reset-unix-time judges Reset');
      expect(limit === 0, `without a key, Limit is ${limit}`, exchange);
      expect(remaining === 0, `without a key, Remaining is ${remaining}`, exchange);
      expect(reset <= now + SKEW_SECONDS, `Reset is ${reset - now} s after Date`, exchange);
      expect(!exchange.headers.has('ratelimit'), 'there is a RateLimit', exchange);
    }),
  },
  'limits.every-request-counts': {
    ...published('Limits, request rate by plan', 'Requests per minute, for the platform’s API, by plan.'),
    expected: 'a Remaining that falls for a create and for an unknown path as it does for a list',
    judge: given(countedTogether, (counted) => {
      for (const [name, [before, after]] of Object.entries(counted)) {
        expect(takenBetween(before, after) >= 2, `${name} took nothing of the quota`, before, after);
      }
    }),
  },
  'limits.every-operation': {
    ...ours('limits.md, Plans', 'Authenticated 4xx answers consume quota; getRateLimit does not.'),
    expected: 'a Remaining smaller by one after a 400, and by none after getRateLimit',
    async judge(trial) {
      const exchanges = [await trial.send(), await trial.post({}), await trial.send({ path: '/rate_limit' })] as const;
      const [listed, refused, state] = exchanges;
      for (const [name, before, after, wanted] of [
        ['a 400', listed, refused, 1],
        ['getRateLimit', refused, state, 0],
      ] as const) {
        const taken = takenBetween(before, after);
        expect(taken === wanted, `${name} took ${taken} of the quota`, before, after);
      }
    },
  },
  'limits.ietf-pair': {
    ...ours(
      'limits.md, Headers',
      'With a valid key also RateLimit-Policy and RateLimit (IETF draft), consistent with them.',
    ),
    expected: 'RateLimit-Policy and RateLimit with the windows minute and day; the smaller r and its q and t are told',
    judge: each([list, create, unknownPath], (exchange) => {
      const { headers } = exchange;
      const { limit, remaining, reset, now } = wholeLimitsOf(exchange);
      const policy = /^"minute";q=(\d+);w=60, "day";q=(\d+);w=86400$/.exec(headers.get('ratelimit-policy') ?? '');
      expect(policy !== null, 'the RateLimit-Policy is another', exchange);
      const left = /^"minute";r=(\d+);t=(\d+), "day";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '');
      expect(left !== null, 'the RateLimit is another', exchange);
      const [minute, minuteLeft, day, dayLeft] = left.slice(1).map(Number) as [number, number, number, number];
      const isMinute = minute <= day;
      expect(Math.min(minute, day) === remaining, 'RateLimit and Remaining differ', exchange);
      expect(Number(policy[isMinute ? 1 : 2]) === limit, 'RateLimit-Policy and Limit differ', exchange);
      // In another unit it is another rule's matter.
      if (!isUnixTime(reset)) return;
      const seconds = isMinute ? minuteLeft : dayLeft;
      expect(Math.abs(now + seconds - reset) <= SKEW_SECONDS, 'RateLimit and Reset differ', exchange);
    }),
  },
};

/** Rules of the three headers on whatever was answered to a valid key. */
export const ALL_LIMIT_HEADERS: RuleTable = {
  'limits.headers-on-every': {
    ...EVERY,
    expected: 'the three headers on every other answer to a valid key',
    place: 'looks-back',
    judge(trial) {
      requireAdmitted(trial);
      const others = trial.answered.filter(({ sent, status }) => {
        return sent.method !== 'OPTIONS' && !JUDGED.has(status) && !GATEWAYS.has(status);
      });
      for (const exchange of others) expectLimits(CATALOG_LIMITS, exchange);
    },
  },
  'limits.reset-unix-time': {
    ...published('Limits, rule 2', 'X-RateLimit-Reset is a Unix timestamp of the moment the limit resets.'),
    expected: 'a number of seconds since 1970 on every answer, 401 too, and not before the request was sent',
    place: 'looks-back',
    judge(trial) {
      requireAdmitted(trial);
      for (const exchange of trial.answered) expectAhead(CATALOG_LIMITS, exchange);
    },
  },
};

function petsAndStore(trial: Trial): Promise<readonly Exchange[]> {
  return trial.sendAll(['/pets', '/store/orders', '/inventory'].map((path) => ({ path })));
}

/** The limit headers of an answer with its moment. Skipped unless all are there. */
function wholeLimitsOf(exchange: Exchange) {
  const { limit, remaining, reset } = limitsOf(exchange);
  const now = dateOf(exchange);
  if (limit === undefined || remaining === undefined || reset === undefined || now === undefined)
    throw new Skipped('a header is missing');
  return { limit, remaining, reset, now };
}

/** Answers of a gateway that had none of the server's. */
const GATEWAYS: ReadonlySet<number> = new Set([502, 503, 504]);

function requireAdmitted({ answered }: Trial): void {
  if (answered.every(({ status }) => status === 429 || status === 401))
    throw new Skipped('no request with a valid key was admitted');
}
