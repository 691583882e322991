import { bodyOf, dateOf, type Exchange, limitsOf, membersOf, momentOf, retryAfterOf, Skipped } from '../exchange.ts';
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
} from '../limit-spending.ts';
import { resetOf } from '../probes.ts';
import { each, expect, expectStatus, given, known, ours, published, type RuleTable, usually } from '../rule.ts';
import type { Trial } from '../trial.ts';
import { EVERY, expectLimits } from './limit-headers.ts';

const OVER = published(
  'Limits, rule 3',
  'A request over the limit receives 429 Too Many Requests, and the response gives the wait time in the Retry-After header.',
);
const REQUEST_RATE = 'Limits, request rate by plan';
const WAIT_SECONDS_MAX = 366 * 86_400;
const NO_REFUSALS = 'the limited key was never refused';

/** Refusals in the second of the first and in the next one do not count. */
const IN_FLIGHT_SECONDS = 2;
/** More refusals in a minute than the limit of the free plan, and at least 60, lead to a ban. */
const REFUSALS_MIN = 60;
const REFUSALS_MAX = 64;
/** Requests at once to a slow server. */
const GROUP = 16;

const SPENDING: RuleTable = {
  'limits.headers-on-429': {
    ...EVERY,
    expected: 'the three headers, each one whole number, on every 429',
    judge: each([refusals], expectLimits),
  },
  'limits.plan': {
    ...published(
      REQUEST_RATE,
      'The rate limits by plan: free 60 a minute and 1,000 a day, pro 300 and 10,000, business 1,000 and 100,000.',
    ),
    expected: 'the requests per minute or per day of the plan as Limit',
    needs: 'plan',
    async judge(trial) {
      const limits = known(trial.options.planLimits, 'no --plan');
      const authorization = `Bearer ${known(trial.options.limitedKey, 'no --limited-key')}`;
      const spent = trial.answered.find(({ sent }) => sent.headers.authorization === authorization);
      const exchange = spent ?? (await trial.send({ authorization }));
      const limit = known(limitsOf(exchange).limit, 'there is no X-RateLimit-Limit');
      expect(limits.includes(limit), `Limit is ${limit}, not ${limits.join(' or ')}`, exchange);
    },
  },
  'limits.429-over-limit': {
    ...OVER,
    expected: '429 once the requests that X-RateLimit-Limit names are spent, no sooner and no later',
    judge: given(spend, ({ refused, other, groups, volley, limit, isWhole, refilled }) => {
      expect(other === undefined, `the status of a refusal is ${other?.status}`, ...(other ? [other] : []));
      const all = groups.flatMap(({ admitted }) => admitted);
      const admitted = countAdmitted(groups, volley);
      const shown = [...all.slice(0, 1), ...(refused ? [refused] : all.slice(-1))];
      expect(refused !== undefined, `${admitted} requests were admitted and none refused; Limit is ${limit}`, ...shown);
      expect(admitted <= limit + refilled, `${admitted} requests were admitted; Limit is ${limit}`, ...shown);
      if (!isWhole || refilled > 0) return;
      const atMost = admitted + countUnknown(groups);
      expect(atMost >= limit, `only ${admitted} requests of a fresh key were admitted; Limit is ${limit}`, ...shown);
    }),
  },
  'limits.last-token': {
    ...OVER,
    expected: 'at most one request admitted of those that ask at once when one is left',
    judge: given(spend, ({ volley, refused: over, refilled }) => {
      known(over, NO_REFUSALS);
      const { admitted, refused } = known(volley, 'no answer told of one remaining request');
      if (admitted.length > 1 && refused.length === 0)
        throw new Skipped('the limit is another, which limits.429-over-limit judges');
      if (admitted.length + refused.length < 2) throw new Skipped('the requests at once got no answers');
      const seen = `${admitted.length} of ${admitted.length + refused.length} requests at once were admitted, with 1 left`;
      expect(admitted.length <= 1 + refilled, seen, ...admitted.slice(0, 2));
    }),
  },
  'limits.remaining-true': {
    ...EVERY,
    expected: 'as many requests admitted after each answer as its X-RateLimit-Remaining tells',
    judge: given(spend, ({ groups, volley, refused: over, refilled }) => {
      const refused = known(over, NO_REFUSALS);
      for (const [index, { admitted, refused: others }] of groups.entries()) {
        const [exchange] = admitted;
        // The order of requests at once is not known.
        if (!exchange || admitted.length + others.length > 1) continue;
        const { remaining } = limitsOf(exchange);
        if (remaining === undefined) continue;
        const later = groups.slice(index + 1);
        const [least, most] = [countAdmitted(later, volley), countAdmitted(later)];
        const seen = `requests were admitted after an answer with Remaining: ${remaining}`;
        expect(least <= remaining + refilled, `${least} ${seen}`, exchange);
        // A bucket refills meanwhile, so that several of the last requests may be admitted.
        expect(most + countUnknown(later) >= remaining, `${most} ${seen}`, exchange, refused);
      }
    }),
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
      if (trial.options.planLimits) throw new Skipped('limits.plan judges it');
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
      const seconds = resetOf(first) - now;
      expect(seconds >= 59 - Math.ceil(first.seconds) && seconds <= 61, `Reset is ${seconds} s after Date`, first);
    }),
  },
  'limits.per-key': {
    ...ours('limits.md, Plans', 'The limits count per key.'),
    expected: 'another key admitted while the limited one is refused',
    judge: given(refusals, async ([refused], trial) => {
      const { key, limitedKey } = trial.options;
      const before = trial.answered.findLast(({ sent, status }) => {
        return sent.headers.authorization === `Bearer ${key}` && status !== 429;
      });
      const { remaining = 0 } = before ? limitsOf(before) : {};
      if (key === limitedKey || remaining < 1) throw new Skipped('there is no other key that is within its limit');
      const other = await trial.sendOnce();
      expect(other.status !== 429, 'another key is refused as well', refused, other);
    }),
  },
  'limits.retry-after-present': {
    ...OVER,
    expected: 'Retry-After on every 429',
    judge: each([refusals], (exchange) => {
      expect(exchange.headers.has('retry-after'), 'Retry-After is missing', exchange);
    }),
  },
  'limits.retry-after-is-a-wait': {
    ...OVER,
    expected: 'a number of seconds, or a date, in Retry-After',
    judge: each([refusals], (exchange) => {
      const text = known(exchange.headers.get('retry-after'), 'there is no Retry-After');
      const isWait = /^\d{1,15}$/.test(text) || momentOf(text) !== undefined;
      expect(isWait, 'Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)', exchange);
      const seconds = retryAfterOf(exchange) ?? 0;
      expect(seconds <= WAIT_SECONDS_MAX, `Retry-After is a wait of ${seconds} s`, exchange);
    }),
  },
  'limits.retry-after-reaches-reset': {
    ...ours('limits.md, Headers', 'X-RateLimit-Reset = until, Retry-After = until − now ≥ 1, both integers.'),
    expected: 'Date + Retry-After = X-RateLimit-Reset on one of three refusals a second apart',
    judge: given(refusals, (refused) => {
      // A Date may have been written just before its second ended, but not on all three.
      const offBy = refused.map((exchange) => {
        const seconds = retryAfterOf(exchange);
        const now = dateOf(exchange);
        const isWait = seconds !== undefined && seconds <= WAIT_SECONDS_MAX;
        if (!isWait || now === undefined) throw new Skipped('there is no Retry-After in seconds, or no Date');
        if (resetOf(exchange) <= now) throw new Skipped('Reset is over, which limits.reset-unix-time judges');
        return now + seconds - resetOf(exchange);
      });
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
        const moved = resetOf(exchange) - resetOf(first);
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
      const authorization = `Bearer ${trial.options.limitedKey}`;
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
  'limits.retry-after-suffices': {
    ...published('Limits, rule 4', 'A client is expected to retry after the indicated time.'),
    expected: 'no 429 after exactly the wait that Retry-After names',
    place: 'waits',
    judge: given(waitOut, ({ refused, after, seconds }) => {
      expect(after.status !== 429, `still refused ${seconds} s later`, refused, after);
    }),
  },
  'limits.window-opens-again': {
    ...ours('limits.md, Headers', 'A client that waits exactly that long and then calls is admitted, in a new window.'),
    expected: 'Remaining = Limit − 1, and a Reset 60 s later',
    needs: 'full',
    place: 'waits',
    judge: given(waitOut, ({ refused, after }) => {
      const { limit, remaining } = limitsOf(after);
      if (limit === undefined || after.status === 429) throw new Skipped('there is no X-RateLimit-Limit, or a 429');
      expect(remaining === limit - 1, `Remaining is ${remaining}`, after);
      const later = resetOf(after) - resetOf(refused);
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
      expect(resetOf(later) === resetOf(first), 'Reset moved', first, later);
    }),
  },
  'bans.rate-limit-operation': {
    ...ours('limits.md, Refusals and bans', 'GET /rate_limit is answered even during a ban, with its end and reason.'),
    expected: '200 with ban.until = X-RateLimit-Reset, and a reason',
    judge: given(provoke, async ({ banned }, trial) => {
      const reset = resetOf(known(banned, 'there is no ban'));
      const state = await trial.send({ path: '/rate_limit', authorization: `Bearer ${trial.options.limitedKey}` });
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

async function firstOf(trial: Trial): Promise<Exchange> {
  const { groups, isWhole }: Spent = await trial.once(spend);
  const [first] = groups.flatMap(({ admitted }) => admitted);
  if (!isWhole) throw new Skipped('the window ended meanwhile');
  return known(first, 'no request of the limited key was admitted');
}

/** Spends the key once more, and goes on until it is banned; `refusals` counts those that came before the ban. */
async function provoke(trial: Trial) {
  await trial.once(waitOut);
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
