import { beyondReset, LIMIT_RULES, resetOf } from '../../limits/rules.ts';
import {
  ask,
  askLimited,
  askUntilRefused,
  countAdmitted,
  countUnknown,
  refusals,
  type Spent,
  spend,
  waitOut,
} from '../../limits/spending.ts';
import { bodyOf, dateOf, type Exchange, membersOf, retryAfterOf, Skipped } from '../../trial/exchange.ts';
import { limitedOf } from '../../trial/limited.ts';
import {
  type Clause,
  each,
  expect,
  expectStatus,
  given,
  known,
  ours,
  published,
  type RuleTable,
  usually,
} from '../../trial/rule.ts';
import type { Trial } from '../../trial/trial.ts';
import { CATALOG_LIMITS, limitsOf } from '../catalog-limit.ts';
import { EVERY } from './limit-headers.ts';

const OVER = published(
  'Limits, rule 3',
  'A request over the limit receives 429 Too Many Requests, and the response gives the wait time in the Retry-After header.',
);
const REQUEST_RATE = 'Limits, request rate by plan';
const BY_PLAN = published(
  REQUEST_RATE,
  'The rate limits by plan: free 60 a minute and 1,000 a day, pro 300 and 10,000, business 1,000 and 100,000.',
);
const BACK_OFF = published('Limits, rule 4', 'A client is expected to retry after the indicated time.');
const NO_REFUSALS = 'the limited key was never refused';

/** Refusals in the second of the first and in the next one do not count. */
const IN_FLIGHT_SECONDS = 2;
/** More refusals in a minute than the limit of the free plan, and at least 60, lead to a ban. */
const REFUSALS_MIN = 60;
const REFUSALS_MAX = 64;
/** Requests at once to a slow server. */
const GROUP = 16;

/** The rules of any limit that the interface states in words of its own. */
const STATED = {
  'limits.headers-on-429': EVERY,
  'limits.429-over-limit': OVER,
  'limits.refused-everywhere': OVER,
  'limits.last-token': OVER,
  'limits.remaining-true': EVERY,
  'limits.per-key': ours('limits.md, Plans', 'The limits count per key.'),
  'limits.retry-after-present': OVER,
  'limits.retry-after-is-a-wait': OVER,
  'limits.retry-after-within-reset': OVER,
  'limits.retry-after-suffices': BACK_OFF,
  'limits.window-as-told': BACK_OFF,
} satisfies Partial<Record<keyof typeof LIMIT_RULES, Clause>>;

const ANY: RuleTable = Object.fromEntries(
  Object.entries(STATED).map(([id, clause]) => [id, { ...LIMIT_RULES[id as keyof typeof STATED], ...clause }]),
);

const SPENDING: RuleTable = {
  ...ANY,
  'limits.plan': {
    ...BY_PLAN,
    expected: 'the requests per minute or per day of the plan as Limit',
    needs: 'plan',
    async judge(trial) {
      expectPlan(known(trial.options.planLimits, 'no --plan'), await firstAnswer(trial));
    },
  },
  'limits.key-plan': {
    ...BY_PLAN,
    expected: 'the requests per minute or per day of the plan of --key as Limit',
    needs: 'key-plan',
    async judge(trial) {
      expectPlan(known(trial.options.keyPlanLimits, 'no --key-plan'), await trial.send());
    },
  },
  'limits.remaining-falls-by-one': {
    ...ours(
      'limits.md, Headers',
      'Each admitted request spends one of the window; all three headers speak of one window.',
    ),
    expected: 'the same Limit and the same Reset on each request of a window',
    judge: given(spend, ({ groups }) => {
      const [first, ...later] = groups.flatMap(({ admitted }) => admitted);
      for (const exchange of later) {
        const before = known(first, NO_REFUSALS);
        const [then, now] = [limitsOf(before), limitsOf(exchange)];
        expect(now.limit === then.limit, `Limit went from ${then.limit} to ${now.limit}`, before, exchange);
        expect(now.reset === then.reset, `Reset went from ${then.reset} to ${now.reset}`, before, exchange);
      }
    }),
  },
  'limits.free-plan': {
    ...ours(REQUEST_RATE, 'Free: 60 requests per minute. The limits cover every operation.'),
    expected: 'Limit: 60 on the first answer to a fresh key of the free plan',
    async judge(trial) {
      const first = await firstOf(trial);
      const { limit } = limitsOf(first);
      if (limit !== undefined) expect(limit === 60, `Limit is ${limit}`, first);
    },
  },
  'limits.window-60s': {
    ...ours('limits.md, Windows', 'A minute window opens at the first admitted request and resets 60 s later.'),
    expected: 'a Reset 60 s after the Date of the first answer',
    judge: given(firstOf, (first) => {
      const now = known(dateOf(first), 'there is no Date');
      const seconds = resetOf(CATALOG_LIMITS, first) - now;
      expect(seconds >= 59 - Math.ceil(first.seconds) && seconds <= 61, `Reset is ${seconds} s after Date`, first);
    }),
  },
  'limits.retry-after-reaches-reset': {
    ...ours('limits.md, Headers', 'X-RateLimit-Reset = until, Retry-After = until − now ≥ 1, both integers.'),
    expected: 'Date + Retry-After = X-RateLimit-Reset on one of three refusals a second apart',
    judge: given(refusals, (refused) => {
      // A Date may have been written just before its second ended, but not on all three.
      const offBy = refused.map((exchange) => beyondReset(CATALOG_LIMITS, exchange));
      if (offBy.every((seconds) => seconds > 2)) throw new Skipped('limits.retry-after-within-reset judges it');
      expect(offBy.includes(0), `the sum is off by ${offBy.join(', ')} s`, refused[0]);
    }),
  },
  'limits.refused-remaining-0': {
    ...ours('limits.md, Headers', 'Refused (429): Remaining: 0; Limit of the window that refused.'),
    expected: 'Remaining: 0 on every refusal',
    judge: each([refusals], (exchange) => {
      const { remaining } = limitsOf(exchange);
      if (remaining !== undefined) expect(remaining === 0, `Remaining is ${remaining}`, exchange);
    }),
  },
  'limits.refused-limit': {
    ...EVERY,
    expected: 'a Limit above 0 on every refusal of a key that was admitted',
    judge: each([refusals], (exchange) => {
      const { limit = 1 } = limitsOf(exchange);
      expect(limit > 0, `Limit is ${limit} on a refusal`, exchange);
    }),
  },
  'limits.refused-window': {
    ...ours('limits.md, Headers', 'Refused (429): Limit of the window that refused.'),
    expected: 'the Limit of the minute on every refusal by the minute',
    judge: given(firstOf, async (first, trial) => {
      const wanted = known(limitsOf(first).limit, 'there is no X-RateLimit-Limit');
      for (const exchange of await trial.once(refusals)) {
        const { limit } = limitsOf(exchange);
        if (limit === undefined || limit <= 0 || bodyOf(exchange).code !== 'rate_limit_exceeded') continue;
        expect(limit === wanted, `Limit went from ${wanted} to ${limit}`, first, exchange);
      }
    }),
  },
  'limits.refusals-extend-nothing': {
    ...ours('limits.md, Windows', 'A refusal consumes nothing; there is one moment when every window admits again.'),
    expected: 'the same Reset on refusals a second apart',
    judge: given(refusals, ([first, ...later]) => {
      for (const exchange of later) {
        const moved = resetOf(CATALOG_LIMITS, exchange) - resetOf(CATALOG_LIMITS, first);
        expect(moved === 0, `Reset moved by ${moved} s`, first, exchange);
      }
    }),
  },
  'limits.429-error': {
    ...ours(
      'limits.md, Refusals and bans',
      'Over a window: 429 rate_limit_exceeded (minute) or daily_quota_exceeded (day).',
    ),
    expected: 'an Error with code rate_limit_exceeded and status 429',
    judge: given(refusals, ([refused]) => {
      const { code, message, status } = bodyOf(refused);
      expect(code === 'rate_limit_exceeded', `the code of a refusal is ${code}`, refused);
      expect(typeof message === 'string' && status === 429, 'the body of a refusal is no Error', refused);
    }),
  },
  'limits.rate-limit-operation': {
    ...ours('wire.md, Beyond a single request', 'GET /rate_limit, free of charge, answered even over the limit.'),
    expected: '200 with plan, minute, day and ban for a spent key; the day counts no refusal',
    judge: given(spend, async ({ groups }, trial) => {
      await trial.once(refusals);
      const { authorization } = limitedOf(trial).first;
      const state = await trial.send({ path: '/rate_limit', authorization });
      expectStatus(state, 200);
      const { plan, minute, day, ban } = bodyOf(state);
      const used = Number(membersOf(day).limit) - Number(membersOf(day).remaining);
      const most = countAdmitted(groups) + countUnknown(groups);
      if (Number(membersOf(minute).remaining) > 1) throw new Skipped('the window has ended');
      expect(typeof plan === 'string', 'the state has no plan', state);
      expect(membersOf(minute).remaining === 0, 'the state of the minute is another', state);
      expect(ban === null, 'there is a ban', state);
      expect(used <= most, `${most} requests were admitted, and the day counts ${used}`, state);
    }),
  },
  'limits.window-opens-again': {
    ...ours('limits.md, Headers', 'A client that waits exactly that long and then calls is admitted, in a new window.'),
    expected: 'Remaining = Limit − 1, and a Reset 60 s later',
    needs: 'full',
    place: 'waits',
    judge: given(waitOut, async ({ refused, early, after }, trial) => {
      if (early && early.status !== 429) throw new Skipped('limits.window-as-told judges it');
      const { limit, remaining } = limitsOf(after);
      const isTold = limit !== undefined && remaining !== undefined && after.status !== 429;
      if (!isTold) throw new Skipped('a header is missing, or the answer is a 429');
      const { groups, isWhole } = await trial.once(spend);
      const before = groups.flatMap(({ admitted }) => admitted).map(limitsOf)[0];
      // Whether that is true of the first window, another rule judges.
      const wanted = isWhole && before?.remaining !== undefined ? before.remaining : limit - 1;
      expect(remaining === wanted, `Remaining is ${remaining}`, after);
      const later = resetOf(CATALOG_LIMITS, after) - resetOf(CATALOG_LIMITS, refused);
      expect(later >= 60, `Reset is ${later} s later`, refused, after);
    }),
  },
};

/** By our numbers: the interface states none. */
const BANNING: RuleTable = {
  'bans.repeated-refusals': {
    ...ours(
      'Limits, rule 4; limits.md, Refusals and bans',
      'Repeated requests after a 429 can lead to a temporary ban of the API key.',
    ),
    expected: 'key_banned after more than 60 refusals in a minute, and not before',
    judge: given(provoke, ({ banned, refusals, last }) => {
      expect(banned !== undefined, `${refusals} refusals led to no ban`, last);
      expect(refusals >= REFUSALS_MIN, `${refusals} refusals led to a ban`, banned);
    }),
  },
  'bans.calls-do-not-lengthen': {
    ...ours('limits.md, Refusals and bans', 'Calls during a ban never lengthen it.'),
    expected: 'the same Reset on calls a second apart',
    judge: given(provoke, async ({ banned }, trial) => {
      const first = known(banned, 'there is no ban');
      await trial.wait(1, 'the next call during the ban');
      const later = await askLimited(trial);
      expect(resetOf(CATALOG_LIMITS, later) === resetOf(CATALOG_LIMITS, first), 'Reset moved', first, later);
    }),
  },
  'bans.rate-limit-operation': {
    ...ours('limits.md, Refusals and bans', 'GET /rate_limit is answered even during a ban, with its end and reason.'),
    expected: '200 with ban.until = X-RateLimit-Reset, and a reason',
    judge: given(provoke, async ({ banned }, trial) => {
      known(banned, 'there is no ban');
      const reset = resetOf(CATALOG_LIMITS, await askLimited(trial));
      const state = await trial.send({ path: '/rate_limit', authorization: limitedOf(trial).first.authorization });
      expectStatus(state, 200);
      const { until, reason } = membersOf(bodyOf(state).ban);
      expect(until === reset, 'the ban has another end', state);
      expect(typeof reason === 'string', 'the ban has no reason', state);
    }),
  },
  'bans.end': {
    ...ours('limits.md, Refusals and bans', 'A ban ends when Retry-After says so.'),
    expected: 'a request admitted after exactly that wait',
    async judge(trial) {
      await trial.once(provoke);
      const refused = await askLimited(trial);
      const seconds = known(retryAfterOf(refused), 'there is no Retry-After');
      if (refused.status !== 429) throw new Skipped('there is no ban');
      await trial.wait(seconds, 'the end of the ban');
      const after = await askLimited(trial);
      expect(after.status !== 429, `still refused ${seconds} s later`, refused, after);
    },
  },
};

/** Rules that spend the limited key, together before its window ends, and rules of bans after all others. */
export const LIMITS = {
  ...usually({ needs: 'limited-key' }, SPENDING),
  ...usually({ needs: 'full', place: 'waits' }, BANNING),
};

/** The first answer to the limited key, or another one. */
async function firstAnswer(trial: Trial): Promise<Exchange> {
  const { first } = limitedOf(trial);
  return trial.answered.find(({ sent }) => sent.headers.authorization === first.authorization) ?? trial.send(first);
}

/** Throws `Broken` if the `Limit` of an answer is none of a plan. */
function expectPlan(limits: readonly number[], exchange: Exchange): void {
  const limit = known(limitsOf(exchange).limit, 'there is no X-RateLimit-Limit');
  expect(limits.includes(limit), `Limit is ${limit}, not ${limits.join(' or ')}`, exchange);
}

async function firstOf(trial: Trial): Promise<Exchange> {
  const { groups, isWhole }: Spent = await trial.once(spend);
  const [first] = groups.flatMap(({ admitted }) => admitted);
  if (!isWhole) throw new Skipped('the window ended meanwhile');
  return known(first, 'no request of the limited key was admitted');
}

/** Spends the key once more, and goes on until it is banned; `refusals` counts those that came before the ban. */
async function provoke(trial: Trial) {
  const { after } = await trial.once(waitOut);
  if (after.status === 429) throw new Skipped('limits.retry-after-suffices judges it');
  let last = await askUntilRefused(trial);
  await trial.wait(IN_FLIGHT_SECONDS, 'refusals that count');
  // The window may have ended just then.
  const first = await ask(trial, 1);
  if (first.admitted.length > 0) {
    last = await askUntilRefused(trial);
    await trial.wait(IN_FLIGHT_SECONDS, 'refusals that count');
  }
  let refusals = first.refused.length;
  const width = trial.isSlow ? GROUP : 1;
  while (refusals < REFUSALS_MAX) {
    const group = await ask(trial, width);
    const banned = group.refused.find((exchange) => bodyOf(exchange).code === 'key_banned');
    // Of requests at once, any may have been the first.
    if (banned) return { banned, refusals: refusals + width - 1, last: banned };
    refusals += group.refused.length;
    last = group.refused[0] ?? last;
  }
  return { banned: undefined, refusals, last };
}
