import { dateOf, type Exchange, momentOf, retryAfterOf, Skipped } from './exchange.ts';
import { isUnixTime, type LimitState, limitedOf, type Reading } from './limited.ts';
import { expect, given, known, type RuleTable } from './rule.ts';
import {
  countAdmitted,
  countUnknown,
  elsewhere,
  NO_REFUSALS,
  refusals,
  spend,
  spendToLastToken,
  waitOut,
} from './spending.ts';

/** The distance that a window may reach into the future: a year, for plans with a month. */
const RESET_SECONDS_MAX = 366 * 86_400;
/** The skew that the clocks of a server and of a gateway may have. */
const SKEW_SECONDS = 5;
/** The seconds by which `Retry-After` may lie beyond `Reset`: each may be rounded up. */
const BEYOND_RESET_SECONDS = 2;
/** A shorter wait may be over sooner, as it is rounded up. */
const TELLING_SECONDS_MIN = 4;
const NO_RESET = 'no header tells of the reset';

/** The rules that every limit keeps, for any API; what they ask and how answers are read is data of the trial. */
export const LIMIT_RULES = {
  'limits.429-over-limit': {
    expected: 'a refusal once the requests that the limit names are spent, no sooner and no later',
    judge: given(spend, ({ refused, other, groups, volley, limit, isWhole, refilled }) => {
      expect(other === undefined, `the status of a refusal is ${other?.status}`, ...(other ? [other] : []));
      const all = groups.flatMap(({ admitted }) => admitted);
      const admitted = countAdmitted(groups, volley);
      const shown = [...all.slice(0, 1), ...(refused ? [refused] : all.slice(-1))];
      expect(refused !== undefined, `${admitted} requests were admitted and none refused; Limit is ${limit}`, ...shown);
      expect(admitted <= limit + refilled, `${admitted} requests were admitted; Limit is ${limit}`, ...shown);
      const atMost = admitted + countUnknown(groups);
      if (refilled > 0 || (!isWhole && atMost === limit)) return;
      if (!isWhole) throw new Skipped(`${admitted} of ${limit} requests were left to a caller that may have been used`);
      expect(atMost >= limit, `only ${admitted} requests of a fresh key were admitted; Limit is ${limit}`, ...shown);
    }),
  },
  'limits.remaining-true': {
    expected: 'as many requests admitted after each answer as its Remaining tells',
    judge: given(spend, ({ groups, volley, limit, refused: over, refilled, isWhole }, trial) => {
      const refused = known(over, NO_REFUSALS);
      const admittedInAll = countAdmitted(groups, volley);
      const isLimitTrue = admittedInAll <= limit && (!isWhole || admittedInAll + countUnknown(groups) >= limit);
      if (!isLimitTrue && refilled === 0) throw new Skipped('the limit is another, which limits.429-over-limit judges');
      for (const [index, { admitted, refused: others }] of groups.entries()) {
        const [exchange] = admitted;
        // The order of requests at once is not known.
        if (!exchange || admitted.length + others.length > 1) continue;
        const { remaining } = limitedOf(trial).read(exchange);
        if (remaining === undefined) continue;
        const later = groups.slice(index + 1);
        // A caller that seems used may be fresh, and its Remaining wrong.
        const [least, most] = [countAdmitted(later, isWhole ? volley : undefined), countAdmitted(later)];
        const seen = `requests were admitted after an answer with Remaining: ${remaining}`;
        expect(least <= remaining + refilled, `${least} ${seen}`, exchange);
        // A bucket refills meanwhile, so that several of the last requests may be admitted.
        expect(most + countUnknown(later) >= remaining, `${most} ${seen}`, exchange, refused);
      }
    }),
  },
  'limits.refused-everywhere': {
    expected: 'a refusal of every other request of the caller while the limit is spent',
    judge: given(elsewhere, ({ refused, exchange, secondsLater }, trial) => {
      const seconds = retryAfterOf(refused) ?? 0;
      const isTelling = seconds >= TELLING_SECONDS_MIN && secondsLater < seconds / 2;
      if (!isTelling) throw new Skipped('no wait is told, or one that is over too soon');
      const isRefused = limitedOf(trial).isRefusal(exchange);
      expect(isRefused, `the second request is answered with ${exchange.status} over the limit`, refused, exchange);
    }),
  },
  'limits.per-key': {
    expected: 'another caller admitted while the limited one is refused',
    judge: given(refusals, async ([refused], trial) => {
      const { stranger, isRefusal } = limitedOf(trial);
      const other = await trial.sendOnce(known(stranger, 'there is no other caller; --other-header names one'));
      expect(!isRefusal(other), 'another key is refused as well', refused, other);
    }),
  },
  'limits.retry-after-is-a-wait': {
    expected: 'a number of seconds, or a date, in Retry-After',
    judge: given(refusals, (refused) => {
      for (const exchange of refused) {
        const text = known(exchange.headers.get('retry-after'), 'there is no Retry-After');
        const isWait = /^\d{1,15}$/.test(text) || momentOf(text) !== undefined;
        expect(isWait, 'Retry-After is neither digits nor an IMF-fixdate (RFC 9110, section 10.2.3)', exchange);
        const seconds = retryAfterOf(exchange) ?? 0;
        expect(seconds <= RESET_SECONDS_MAX, `Retry-After is a wait of ${seconds} s`, exchange);
      }
    }),
  },
  'limits.retry-after-within-reset': {
    expected: `a Retry-After that ends at most ${BEYOND_RESET_SECONDS} s after the Reset of its answer`,
    judge: given(refusals, (refused, trial) => {
      for (const exchange of refused) {
        const beyond = beyondReset(limitedOf(trial), exchange);
        expect(beyond <= BEYOND_RESET_SECONDS, `Retry-After ends ${beyond} s after Reset`, exchange);
      }
    }),
  },
  'limits.refusals-cost-nothing': {
    expected: 'the same end of the wait on refusals a second apart',
    judge: given(refusals, (refused, trial) => {
      const { read } = limitedOf(trial);
      const [first, last] = [refused[0], refused.at(-1) ?? refused[0]];
      const [then, now] = [first, last].map((exchange) => {
        const [date, seconds, { reset }] = [dateOf(exchange), retryAfterOf(exchange), read(exchange)];
        // Whether Retry-After agrees with Reset, another rule judges.
        if (reset !== undefined && isUnixTime(reset) && reset > (date ?? 0)) return reset;
        return date === undefined || seconds === undefined ? undefined : date + seconds;
      });
      if (then === undefined || now === undefined) throw new Skipped('no refusal tells the end of the wait');
      if ((dateOf(last) ?? 0) >= then) throw new Skipped('the wait was over by then');
      expect(now <= then + 1, `the wait ends ${now - then} s later after ${refused.length} refusals`, first, last);
    }),
  },
  'limits.retry-after-suffices': {
    expected: 'no refusal after exactly the wait that Retry-After names',
    place: 'waits',
    judge: given(waitOut, ({ refused, after, seconds }, trial) => {
      expect(!limitedOf(trial).isRefusal(after), `still refused ${seconds} s later`, refused, after);
    }),
  },
  'limits.window-as-told': {
    expected: 'a refusal shortly before the end of the wait, and a limit that is back as Reset and w tell',
    needs: 'full',
    place: 'waits',
    judge: given(waitOut, ({ first, early, marginSeconds, refilled, after }, trial) => {
      const { read, isRefusal, toldSeconds } = limitedOf(trial);
      if (early) expect(isRefusal(early), `admitted ${marginSeconds} s before the wait was over`, first, early);
      const [then, now, date] = [read(first), read(after), dateOf(after)];
      const [from, until] = [known(then.reset, NO_RESET), known(now.reset, NO_RESET)];
      const isAnew = then.limit === now.limit && (now.remaining ?? 0) >= (now.limit ?? 0) / 2;
      if (!isAnew || refilled > 0 || date === undefined || !isUnixTime(from)) throw new Skipped('no window began anew');
      expect(from - date <= SKEW_SECONDS, `the limit was back ${from - date} s before its Reset`, first, after);
      const [told, between, ahead] = [toldSeconds ?? until - from, until - from, until - date];
      expect(between >= told - SKEW_SECONDS, `the window of ${told} s was over after ${between} s`, first, after);
      expect(ahead <= told + SKEW_SECONDS, `Reset is ${ahead} s ahead, in a window of ${told} s`, after);
    }),
  },
  'limits.last-token': {
    expected: 'at most one request admitted of those that ask at once when one is left',
    place: 'waits',
    judge: given(spendToLastToken, ({ volley, refused: over, refilled, groups, limit, isWhole }) => {
      known(over, NO_REFUSALS);
      const { admitted, refused } = known(volley, 'no answer told of one remaining request');
      const isOther = countAdmitted(groups, volley) > limit + refilled || (admitted.length > 1 && refused.length === 0);
      if (isOther) throw new Skipped('the limit is another, which limits.429-over-limit judges');
      if (admitted.length + refused.length < 2) throw new Skipped('the requests at once got no answers');
      if (admitted.length > 1 && !isWhole && countAdmitted(groups) <= limit) {
        throw new Skipped('Remaining may be wrong, which limits.remaining-true judges');
      }
      const seen = `${admitted.length} of ${admitted.length + refused.length} requests at once were admitted, with 1 left`;
      expect(admitted.length <= 1 + refilled, seen, ...admitted.slice(0, 2));
    }),
  },
  'limits.reset-ahead': {
    expected: 'a moment ahead in Reset on every answer, on a refusal by a second at least',
    place: 'looks-back',
    judge(trial) {
      for (const exchange of trial.answered) expectAhead(limitedOf(trial), exchange);
    },
  },
  'limits.families-agree': {
    expected:
      'the same in every family of headers that an answer has, unless both Limit and Reset tell of another window',
    place: 'looks-back',
    judge(trial) {
      const { read, others } = limitedOf(trial);
      const other = known(others[0], 'there is one family');
      for (const exchange of trial.answered) {
        const [told, own] = [read(exchange), other.read(exchange)];
        const differing = (['limit', 'remaining', 'reset'] as const).filter((member) => {
          const distance = Math.abs((told[member] ?? Number.NaN) - (own[member] ?? Number.NaN));
          return distance > (member === 'reset' ? BEYOND_RESET_SECONDS : 0);
        });
        const isOther = differing.includes('limit') && differing.includes('reset');
        expect(differing.length === 0 || isOther, `${differing.join(' and ')} differ in ${other.name}`, exchange);
      }
    },
  },
} as const satisfies RuleTable;

/** Throws `Broken` unless an answer has the headers of the limit. */
export function expectLimits({ read, names }: Reading, exchange: Exchange): void {
  const state = read(exchange);
  for (const [member, header] of Object.entries(names) as [keyof LimitState, string][]) {
    if (header === '') continue;
    const isThere = exchange.headers.has(header.toLowerCase());
    expect(
      state[member] !== undefined,
      isThere ? `${header} is no value of the form that it had at first` : `${header} is missing`,
      exchange,
    );
  }
}

/** Throws `Broken` if the `Reset` of an answer is no moment ahead, by the `Date` of the server. */
function expectAhead({ read, isRefusal }: Reading, exchange: Exchange): void {
  const { seconds } = exchange;
  const { reset } = read(exchange);
  if (reset === undefined) return;
  expect(isUnixTime(reset), `${reset} is no Unix time in seconds`, exchange);
  const now = dateOf(exchange);
  if (now === undefined) return;
  // A date has no fractions of a second, and the answer may have taken several.
  const ahead = reset - (now - Math.ceil(seconds));
  if (isRefusal(exchange) && (retryAfterOf(exchange) ?? 0) >= 1) {
    const over = now - reset;
    expect(ahead >= 1, `the Reset of a refusal is ${over} s over, though it is to be waited for`, exchange);
  }
  expect(ahead >= -SKEW_SECONDS, `Reset is ${-ahead} s before the request`, exchange);
  expect(ahead <= RESET_SECONDS_MAX, `Reset is ${ahead} s after the request`, exchange);
}

/** The seconds by which `Retry-After` ends after `Reset`. Skipped if one of them is judged elsewhere. */
function beyondReset({ read }: Reading, exchange: Exchange): number {
  const [seconds, now, { reset }] = [retryAfterOf(exchange), dateOf(exchange), read(exchange)];
  if (reset === undefined || !isUnixTime(reset)) throw new Skipped('Reset is no moment');
  if (reset <= (now ?? 0)) throw new Skipped('Reset is over on a refusal');
  const isWait = seconds !== undefined && seconds <= RESET_SECONDS_MAX;
  if (!isWait || now === undefined) throw new Skipped('there is no Retry-After in seconds, or no Date');
  return now + seconds - reset;
}
