import type { ApiKey } from '../../catalog/api-key.ts';
import type { AppOptions } from '../../http/app.ts';
import type { Decision } from '../../limits/limiter.ts';
import type { Fault } from './fault.ts';

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

/** Changes decisions as they are made; they are not restated. `look` changes those that count nothing. */
export function deciding(
  change: (decision: Decision, key: ApiKey) => Decision,
  look = (decision: Decision) => decision,
): Fault {
  return limiting((limiter) => ({
    charge: async (key) => change(await limiter.charge(key), key),
    peek: async (key) => look(await limiter.peek(key)),
    current: (_, decision) => decision,
  }));
}
