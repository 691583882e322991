import type { AppOptions } from '../../http/app.ts';
import type { Decision } from '../../limits/limiter.ts';
import { type Defect, type Fault, withHeader } from './defect.ts';

const MINUTE_SECONDS = 60;
/** How long the last request of a window waits for another one to overtake it. */
const OVERTAKEN_MS = 1_000;

/** Limit headers that are missing, or wrong, and counts that are. */
export const LIMIT_DEFECTS: readonly Defect[] = [
  {
    name: 'reset-in-seconds-from-now',
    rule: 'limits.reset-unix-time',
    description: 'X-RateLimit-Reset is the number of seconds until the reset',
    inject: () => telling((decision) => ({ ...decision, reset: decision.reset - decision.now })),
  },
  {
    name: 'reset-in-milliseconds',
    rule: 'limits.reset-unix-time',
    description: 'X-RateLimit-Reset is a Unix time in milliseconds',
    inject: () => telling((decision) => ({ ...decision, reset: decision.reset * 1000 })),
  },
  {
    name: 'remaining-off-by-one',
    rule: 'limits.remaining-true',
    description: 'X-RateLimit-Remaining still counts the request that it answers',
    inject: () =>
      telling((decision) => {
        if (decision.refusal) return decision;
        const { remaining, minute, day } = decision;
        return {
          ...decision,
          remaining: remaining + 1,
          minute: { ...minute, remaining: minute.remaining + 1 },
          day: { ...day, remaining: day.remaining + 1 },
        };
      }),
  },
  {
    name: 'remaining-counts-refusals',
    rule: 'limits.refused-remaining-0',
    description: 'X-RateLimit-Remaining goes on falling below zero with each refusal',
    inject: () => {
      let refusals = 0;
      return telling((decision) => {
        if (!decision.refusal) return decision;
        refusals += 1;
        return { ...decision, remaining: -refusals };
      });
    },
  },
  {
    name: 'refusal-extends-window',
    rule: 'limits.refusals-extend-nothing',
    description: 'every refusal starts the minute anew',
    inject: () => {
      const extend = (decision: Decision) =>
        decision.refusal ? { ...decision, reset: decision.now + MINUTE_SECONDS } : decision;
      return limiting((limiter) => ({
        charge: (key) => {
          const decision = limiter.charge(key);
          return decision instanceof Promise ? decision.then(extend) : extend(decision);
        },
        current: (key, decision) => extend(limiter.current(key, decision)),
      }));
    },
  },
  {
    name: 'last-token-twice',
    rule: 'limits.last-token',
    description: 'the last request of a window is checked apart from its count, so that two at once are admitted',
    inject: () => limiting(overtaking),
  },
  {
    name: 'retry-after-unix-time',
    rule: 'limits.retry-after-is-a-wait',
    description: 'Retry-After is a Unix time in milliseconds',
    inject: (time) => retryAfter((seconds) => `${(time.now().unix + seconds) * 1000}`),
  },
  {
    name: 'retry-after-missing',
    rule: 'limits.retry-after-present',
    description: 'a 429 has no Retry-After',
    inject: () => retryAfter(() => undefined),
  },
  {
    name: 'retry-after-short',
    rule: 'limits.retry-after-reaches-reset',
    description: 'Retry-After ends one second before the window',
    inject: () => retryAfter((seconds) => `${Math.max(1, seconds - 1)}`),
  },
  {
    name: 'refusal-in-plain-text',
    rule: 'limits.429-error',
    description: 'a 429 says "Too Many Requests" in plain text',
    inject: () => ({
      answer: (answer) =>
        answer.status === 429 ? { ...answer, contentType: 'text/plain', body: 'Too Many Requests' } : answer,
    }),
  },
  ...[401, 404, 304, 413, 429].map(
    (status): Defect => ({
      name: `no-limits-on-${status}`,
      rule: `limits.headers-on-${status}`,
      description: `a ${status} has no limit headers`,
      inject: () => ({
        answer: (answer, exchange) => {
          if (answer.status === status) exchange.isApi = false;
          return answer;
        },
      }),
    }),
  ),
];

export type Limiter = AppOptions['limiter'];

/** Replaces parts of the limiter. */
export function limiting(change: (limiter: Limiter) => Partial<Limiter>): Fault {
  return {
    parts: (options) => {
      const { limiter } = options;
      const unchanged: Limiter = {
        charge: (key) => limiter.charge(key),
        peek: (key) => limiter.peek(key),
        current: (key, decision) => limiter.current(key, decision),
      };
      return { ...options, limiter: { ...unchanged, ...change(limiter) } };
    },
  };
}

/** Changes what headers say, and nothing that is counted. */
export function telling(change: (decision: Decision) => Decision): Fault {
  return limiting((limiter) => ({ current: (key, decision) => change(limiter.current(key, decision)) }));
}

/** Rewrites `Retry-After` of a refusal; undefined removes it. */
export function retryAfter(change: (seconds: number) => string | undefined): Fault {
  return {
    answer: (answer) => {
      const seconds = answer.headers?.[answer.headers.indexOf('Retry-After') + 1];
      if (answer.status !== 429 || seconds === undefined) return answer;
      const changed = change(Number(seconds));
      return withHeader(answer, 'Retry-After', ...(changed === undefined ? [] : [changed]));
    },
  };
}

/** Looks whether one request is left, waits until another one looks as well, and only then counts. */
function overtaking(limiter: Limiter): Partial<Limiter> {
  const looking = new Map<string, () => void>();
  return {
    async charge(key) {
      const seen = await limiter.peek(key);
      if (seen.refusal || seen.remaining !== 1) return limiter.charge(key);
      const other = looking.get(key.id);
      looking.delete(key.id);
      if (other) other();
      else await overtaken((overtake) => looking.set(key.id, overtake));
      looking.delete(key.id);
      const counted = await limiter.charge(key);
      return counted.refusal ? { ...seen, remaining: 0 } : counted;
    },
  };
}

function overtaken(wait: (overtake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, OVERTAKEN_MS);
    wait(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
