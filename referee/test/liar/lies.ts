import { head, isLimited, LIMIT, type Lying, REFUSED, REMAINING, RESET, say } from './lie.ts';
import { type Counters, type Decision, freshCounters, type Key, type Limiter, minuteFromFirst } from './limiter.ts';
import type { Asked, Way } from './server.ts';

/** Decides for the limited key otherwise. */
const decide = (change: (decision: Decision, asked: Asked) => Decision): Way => ({
  decides: (decision, asked) => (isLimited(asked) ? change(decision, asked) : decision),
});
/** Tells of admitted requests of the limited key otherwise than is counted. */
const tell = (change: (decision: Decision, asked: Asked) => Decision) =>
  decide((decision, asked) => (decision.isRefused ? decision : change(decision, asked)));
const plus = (number: number) => (decision: Decision) => ({ ...decision, remaining: decision.remaining + number });
/** Tells of another number of requests per minute than is admitted. */
const ofMinute = (admitted: number, told: number): Way => ({
  ...decide((decision) => ({
    ...decision,
    limit: told,
    remaining: decision.isRefused ? 0 : Math.max(0, decision.remaining + told - admitted),
  })),
  limit: admitted,
});
const wait = (change: (seconds: number) => string | number) =>
  head(REFUSED, 'retry-after', (text) => change(Number(text)));
const asAdmitted = (decision: Decision): Decision => ({ ...decision, isRefused: false, remaining: 0 });
/** Changes the limiter of all keys. */
const limit = (change: (decide: Limiter, key: Key, counters: Counters, now: number) => Decision): Way => ({
  limiter: (...given) => change(minuteFromFirst, ...given),
});
const isCreate = ({ method }: Asked) => method === 'POST';

/** Lies about a limit, each with the rules that find it. */
export const LIES: readonly (readonly [told: string, rules: string, way: Lying])[] = [
  ['a key may do 19 requests, and is told of a limit of 20', 'limits.429-over-limit', ofMinute(19, 20)],
  ['a key may do 50 requests, and is told of a limit of 20', 'limits.429-over-limit', ofMinute(50, 20)],
  ['a key may do 21 requests, and is told of a limit of 20', 'limits.last-token', ofMinute(21, 20)],
  [
    'the limits are told, and nothing is refused',
    'limits.429-over-limit',
    decide((decision) => (decision.isRefused ? asAdmitted(decision) : decision)),
  ],
  [
    'the last request of a window is checked apart from its count, so that several at once are admitted',
    'limits.last-token',
    decide((decision, { state: { memory }, now }) => {
      if (!decision.isRefused) memory.spare = 3;
      const isAtOnce = now === memory.at;
      memory.at = now;
      if (!decision.isRefused || !isAtOnce || !memory.spare) return decision;
      memory.spare -= 1;
      return asAdmitted(decision);
    }),
  ],
  ['Remaining still counts the request that it answers', 'limits.remaining-true', tell(plus(1))],
  ['Remaining is one too few', 'limits.remaining-true', tell((made) => plus(made.remaining > 0 ? -1 : 0)(made))],
  [
    'a create is admitted over the limit',
    'limits.refused-everywhere',
    decide((decision, asked) => (decision.isRefused && isCreate(asked) ? asAdmitted(decision) : decision)),
  ],
  [
    'each method has a count of its own',
    'limits.every-request-counts limits.refused-everywhere',
    () => {
      const counters = new Map<string, Counters>();
      return decide((_, { method, key, now }) => {
        const own = counters.get(method) ?? freshCounters();
        counters.set(method, own);
        return minuteFromFirst(key as Key, own, now);
      });
    },
  ],
  [
    'a create takes nothing of the quota',
    'limits.every-request-counts',
    {
      decides(decision, asked) {
        const counters = asked.key && asked.state.counters.get(asked.key.secret);
        if (!counters || decision.isRefused || !isCreate(asked)) return decision;
        counters.minute.used -= 1;
        return plus(1)(decision);
      },
    },
  ],
  [
    'a key over its limit has all others refused',
    'limits.per-key',
    () => {
      let refused: Decision | undefined;
      return {
        decides(decision, asked) {
          if (decision.isRefused && isLimited(asked)) refused = decision;
          return !isLimited(asked) && refused && asked.now < refused.reset ? refused : decision;
        },
      };
    },
  ],
  ['Retry-After has a unit', 'limits.retry-after-is-a-wait', wait((seconds) => `${seconds}s`)],
  ['Retry-After ends one second before the window', 'limits.retry-after-suffices', wait((s) => Math.max(1, s - 1))],
  [
    'a key is refused for two seconds after its Retry-After',
    'limits.retry-after-suffices',
    () => {
      let until = 0;
      return decide((decision, { now }) => {
        if (decision.isRefused && until === 0) until = decision.reset + 2;
        const isLate = now < until && !decision.isRefused && until - now <= 2;
        return isLate ? { ...decision, isRefused: true, remaining: 0, reset: until } : decision;
      });
    },
  ],
  [
    'a key is admitted again after three fifths of Retry-After',
    'limits.window-as-told',
    limit((decided, key, counters, now) => {
      const told = counters.minute.ends;
      if (key.isLimited && told > 0 && now >= told - 24 && counters.minute.used >= key.minute) {
        counters.minute = { ends: 0, used: 0 };
      }
      return decided(key, counters, now);
    }),
  ],
  [
    'every refusal starts the minute anew',
    'limits.refusals-cost-nothing',
    limit((decided, key, counters, now) => {
      const made = decided(key, counters, now);
      if (!made.isRefused) return made;
      counters.minute.ends = Math.floor(now) + 60;
      return { ...made, reset: counters.minute.ends };
    }),
  ],
  ['Remaining is missing on a 201', 'limits.headers-on-every', head({ status: 201 }, REMAINING)],
  ['Limit is missing on a 429', 'limits.headers-on-every', head(REFUSED, LIMIT)],
];

/** Lies about `Reset`, which not every family has. */
export const LIES_OF_RESET: typeof LIES = [
  ['Retry-After ends three seconds after the window', 'limits.retry-after-within-reset', wait((s) => s + 3)],
  [
    'Reset is the present second on a refusal',
    'limits.reset-ahead',
    say(REFUSED, (answer, { now }) => {
      answer.headers[RESET] = Math.floor(now);
    }),
  ],
  ['Reset is an hour late', 'limits.window-as-told', head({}, RESET, (at) => Number(at) + 3_600)],
  [
    'Reset is a minute late, and there is no Retry-After',
    'limits.window-as-told',
    say({ when: isLimited }, ({ headers }) => {
      headers[RESET] = Number(headers[RESET]) + 60;
      delete headers['retry-after'];
    }),
  ],
];
