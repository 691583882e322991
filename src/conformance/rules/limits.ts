import { dateOf, type Exchange, jsonOf, limitsOf, membersOf, retryAfterOf } from '../exchange.ts';
import { isUnixTime, resetOf } from '../probes.ts';
import { expect, expectStatus, known, type Rule, Skipped } from '../rule.ts';
import { refusals, type Spent, spend, waitOut } from '../spending.ts';
import type { Trial } from '../trial.ts';
import { EVERY, expectLimits } from './limit-headers.ts';

const OVER =
  'A request over the limit receives 429 Too Many Requests, and the response gives the wait time in the Retry-After header.';
const WAIT_SECONDS_MAX = 366 * 86_400;
const NO_REFUSALS = 'the limited key was never refused';

/** Rules that spend the limited key. They run together, before its window ends. */
export const LIMITS: readonly Rule[] = [
  {
    id: 'limits.headers-on-429',
    level: 'published',
    sentence: EVERY,
    expected: 'the three headers, each one whole number, on every 429',
    brokenBy: 'a gate that refuses before the headers are known, or a gateway that strips them',
    needs: 'limited-key',
    async judge(trial) {
      for (const exchange of await trial.once(refusals)) expectLimits(exchange);
    },
  },
  {
    id: 'limits.429-over-limit',
    level: 'published',
    sentence: OVER,
    expected: '429 once the requests that X-RateLimit-Limit names are spent',
    brokenBy: 'limits that are announced and not enforced',
    needs: 'limited-key',
    async judge(trial) {
      const { refused, admitted, limit } = await trial.once(spend);
      const last = admitted.at(-1);
      const seen = `${admitted.length} requests were admitted, with a limit of ${limit}`;
      expect(refused !== undefined, seen, ...(last ? [last] : []));
    },
  },
  {
    id: 'limits.last-token',
    level: 'published',
    sentence: OVER,
    expected: 'at most one request admitted of those that ask at once when Remaining is 1',
    brokenBy: 'a check that is apart from the count',
    needs: 'limited-key',
    async judge(trial) {
      const { volley, last } = await lastToken(trial);
      const admitted = volley.filter(isAdmitted);
      const seen = `${admitted.length} of ${volley.length} requests at once were admitted, with 1 left`;
      expect(admitted.length <= 1 + refilled(last, volley), seen, last, ...admitted.slice(0, 2));
    },
  },
  {
    id: 'limits.remaining-true',
    level: 'ours',
    sentence: 'X-RateLimit-Remaining is the number of requests that the window still admits.',
    expected: 'one request admitted after Remaining: 1, and none after Remaining: 0',
    brokenBy: 'a Remaining that is off by one',
    needs: 'limited-key',
    async judge(trial) {
      const { volley, last } = await lastToken(trial);
      const admitted = volley.find(isAdmitted);
      expect(admitted !== undefined, 'none was admitted, with 1 left', last, ...volley.slice(0, 1));
      const { remaining } = limitsOf(admitted.answer);
      expect(remaining === 0, `the last one admitted is told of ${remaining}`, admitted);
    },
  },
  {
    id: 'limits.remaining-falls-by-one',
    level: 'ours',
    sentence: 'Each admitted request spends one of the window; all three headers speak of one window.',
    expected: 'a Remaining smaller by one, and the same Reset, on each request of a window',
    brokenBy: 'headers that never change',
    needs: 'limited-key',
    async judge(trial) {
      const { admitted } = await trial.once(spend);
      for (const [index, exchange] of admitted.entries()) {
        const before = admitted[index - 1];
        if (!before || !isFull(exchange) || !isFull(before)) continue;
        const [now, then] = [limitsOf(exchange.answer), limitsOf(before.answer)];
        const seen = `Remaining went from ${then.remaining} to ${now.remaining}`;
        expect((then.remaining ?? 0) - (now.remaining ?? 0) === 1, seen, before, exchange);
      }
    },
  },
  {
    id: 'limits.free-plan',
    level: 'ours',
    sentence: 'Free: 60 requests per minute. The limits cover every operation.',
    expected: 'Limit: 60 and Remaining: 59 on the first answer to a fresh key of the free plan',
    brokenBy: 'a limit of another plan',
    needs: 'limited-key',
    async judge(trial) {
      const first = await firstOf(trial);
      const { limit } = limitsOf(first.answer);
      expect(limit === 60, `Limit is ${limit}`, first);
    },
  },
  {
    id: 'limits.window-60s',
    level: 'ours',
    sentence: 'A minute window opens at the first admitted request and resets 60 s later.',
    expected: 'a Reset 60 s after the Date of the first answer',
    brokenBy: 'minutes of the wall clock',
    needs: 'limited-key',
    async judge(trial) {
      const first = await firstOf(trial);
      const now = known(dateOf(first.answer), 'there is no Date');
      const seconds = resetOf(first) - now;
      expect(seconds >= 59 && seconds <= 61, `Reset is ${seconds} s after Date`, first);
    },
  },
  {
    id: 'limits.retry-after-present',
    level: 'published',
    sentence: OVER,
    expected: 'Retry-After on every 429',
    brokenBy: 'a 429 without Retry-After',
    needs: 'limited-key',
    async judge(trial) {
      for (const exchange of await trial.once(refusals)) {
        expect(exchange.answer.headers.has('retry-after'), 'Retry-After is missing', exchange);
      }
    },
  },
  {
    id: 'limits.retry-after-is-a-wait',
    level: 'published',
    sentence: OVER,
    expected: 'a number of seconds, or a date, in Retry-After',
    brokenBy: 'a Unix time in Retry-After',
    needs: 'limited-key',
    async judge(trial) {
      for (const exchange of await trial.once(refusals)) {
        if (!exchange.answer.headers.has('retry-after')) throw new Skipped('there is no Retry-After');
        const seconds = retryAfterOf(exchange.answer) ?? Number.NaN;
        expect(seconds >= 0 && seconds <= WAIT_SECONDS_MAX, 'it is no wait', exchange);
      }
    },
  },
  {
    id: 'limits.retry-after-reaches-reset',
    level: 'ours',
    sentence: 'X-RateLimit-Reset = until, Retry-After = until − now ≥ 1, both integers.',
    expected: 'Date + Retry-After = X-RateLimit-Reset on one of three refusals a second apart',
    brokenBy: 'a Retry-After that is one second short',
    needs: 'limited-key',
    async judge(trial) {
      const refused = await trial.once(refusals);
      // A Date may have been written just before its second ended, but not on all three.
      const offBy = refused.map((exchange) => {
        const seconds = retryAfterOf(exchange.answer);
        const now = dateOf(exchange.answer);
        const isWait = seconds !== undefined && seconds <= WAIT_SECONDS_MAX;
        if (!isWait || now === undefined) throw new Skipped('there is no Retry-After in seconds, or no Date');
        return now + seconds - resetOf(exchange);
      });
      expect(offBy.includes(0), `the sum is off by ${offBy.join(', ')} s`, ...refused.slice(0, 1));
    },
  },
  {
    id: 'limits.refused-remaining-0',
    level: 'ours',
    sentence: 'Refused (429): Remaining: 0; Limit of the window that refused.',
    expected: 'Remaining: 0 on every refusal',
    brokenBy: 'a Remaining that counts refusals, down to −1, −2, …',
    needs: 'limited-key',
    async judge(trial) {
      for (const exchange of await trial.once(refusals)) {
        const { remaining } = limitsOf(exchange.answer);
        if (remaining !== undefined) expect(remaining === 0, `Remaining is ${remaining}`, exchange);
      }
    },
  },
  {
    id: 'limits.refusals-extend-nothing',
    level: 'ours',
    sentence: 'A refusal consumes nothing; there is one moment when every window admits again.',
    expected: 'the same Reset on refusals a second apart',
    brokenBy: 'a refusal that extends the window',
    needs: 'limited-key',
    async judge(trial) {
      const [first, ...later] = await trial.once(refusals);
      for (const exchange of later) {
        const moved = resetOf(exchange) - resetOf(known(first, NO_REFUSALS));
        expect(moved === 0, `Reset moved by ${moved} s`, ...(first ? [first] : []), exchange);
      }
    },
  },
  {
    id: 'limits.429-error',
    level: 'ours',
    sentence: 'Over a window: 429 rate_limit_exceeded (minute) or daily_quota_exceeded (day).',
    expected: 'an Error with code rate_limit_exceeded and status 429',
    brokenBy: 'a 429 in plain text',
    needs: 'limited-key',
    async judge(trial) {
      const [refused] = await trial.once(refusals);
      const exchange = known(refused, NO_REFUSALS);
      const { code, message } = membersOf(jsonOf(exchange.answer));
      expect(code === 'rate_limit_exceeded' && typeof message === 'string', 'the body is another', exchange);
    },
  },
  {
    id: 'limits.rate-limit-operation',
    level: 'ours',
    sentence: 'GET /rate_limit, free of charge, answered even over the limit.',
    expected: '200 with plan, minute, day and ban for a spent key; the day counts no refusal',
    brokenBy: 'a refusal that counts in the day',
    needs: 'limited-key',
    async judge(trial) {
      const { admitted, volley } = await trial.once(spend);
      await trial.once(refusals);
      const authorization = `Bearer ${trial.keys.limitedKey}`;
      const state = await trial.send({ path: '/rate_limit', authorization });
      expectStatus(state, 200);
      const { minute, day, ban } = membersOf(jsonOf(state.answer));
      const used = Number(membersOf(day).limit) - Number(membersOf(day).remaining);
      const sent = admitted.length + volley.filter(isAdmitted).length;
      if (Number(membersOf(minute).remaining) > 1) throw new Skipped('the window has ended');
      expect(ban === null && membersOf(minute).remaining === 0, 'the state is another', state);
      expect(used <= sent, `${sent} requests were admitted, and the day counts ${used}`, state);
    },
  },
  {
    id: 'limits.retry-after-suffices',
    level: 'published',
    sentence: 'A client is expected to retry after the indicated time.',
    expected: 'no 429 after exactly the wait that Retry-After names',
    brokenBy: 'a Retry-After that ends before the window',
    needs: 'full',
    async judge(trial) {
      const { refused, after, seconds } = await trial.once(waitOut);
      expect(after.answer.status !== 429, `still refused ${seconds} s later`, refused, after);
    },
  },
  {
    id: 'limits.window-opens-again',
    level: 'ours',
    sentence: 'A client that waits exactly that long and then calls is admitted, in a new window.',
    expected: 'Remaining = Limit − 1, and a Reset 60 s later',
    brokenBy: 'a window that lets in a part',
    needs: 'full',
    async judge(trial) {
      const { refused, after } = await trial.once(waitOut);
      const { limit, remaining } = limitsOf(after.answer);
      if (limit === undefined) throw new Skipped('there is no X-RateLimit-Limit');
      expect(remaining === limit - 1, `Remaining is ${remaining}`, after);
      const later = resetOf(after) - resetOf(refused);
      expect(later >= 60, `Reset is ${later} s later`, refused, after);
    },
  },
];

async function lastToken(trial: Trial): Promise<{ volley: Spent['volley']; last: Exchange }> {
  const { admitted, volley } = await trial.once(spend);
  const last = admitted.at(-1);
  if (volley.length === 0 || !last)
    throw new Skipped('no answer told of 1 remaining request, or the window ended just then');
  return { volley, last };
}

async function firstOf(trial: Trial): Promise<Exchange> {
  const [first] = (await trial.once(spend)).admitted;
  const exchange = known(first, 'no request of the limited key was admitted');
  const { limit, remaining } = limitsOf(exchange.answer);
  if (remaining === undefined || remaining < (limit ?? 0) - 1) throw new Skipped('the limited key is not fresh');
  return exchange;
}

/** Tokens that a continually refilled bucket may have gained meanwhile; 0 for a window with an end. */
function refilled(last: Exchange, volley: Spent['volley']): number {
  const { limit = 0, reset } = limitsOf(last.answer);
  if (volley.every(({ answer }) => limitsOf(answer).reset === reset)) return 0;
  const [from, to] = [dateOf(last.answer) ?? 0, Math.max(...volley.map(({ answer }) => dateOf(answer) ?? 0))];
  return reset !== undefined && isUnixTime(reset) ? Math.ceil((Math.max(1, to - from) * limit) / 60) : 0;
}

function isAdmitted({ answer }: Exchange): boolean {
  return answer.status !== 429;
}

function isFull({ answer }: Exchange): boolean {
  const { remaining, reset } = limitsOf(answer);
  return remaining !== undefined && reset !== undefined;
}
