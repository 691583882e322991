import type { Answer } from '../trial/exchange.ts';
import type { Limited, LimitState, Reading } from '../trial/limited.ts';
import { creating } from '../trial/trial.ts';

/** A path at which nothing is. */
export const NOWHERE = '/conformance-nothing-is-here';
/** The plan with the most requests a minute that is spent. */
const LIMIT_MAX = 300;
/** The requests a minute of the free plan. */
const FREE_LIMIT = 60;

/** The published headers of the catalog: whole numbers from 0 on, `Reset` in Unix seconds. */
export const CATALOG_LIMITS: Reading = {
  names: { limit: 'X-RateLimit-Limit', remaining: 'X-RateLimit-Remaining', reset: 'X-RateLimit-Reset' },
  form: 'whole number',
  read: limitsOf,
  isRefusal: ({ status }) => status === 429,
};

/** The three limit headers of an answer; undefined where one is missing or no whole number. */
export function limitsOf({ headers }: Answer): LimitState {
  const read = (name: string) => {
    const text = headers.get(`x-ratelimit-${name}`) ?? '';
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  return { limit: read('limit'), remaining: read('remaining'), reset: read('reset') };
}

/** The limit of a key that is spent; `key` is that of the other requests. */
export function limitedBy(limitedKey: string, key: string): Limited {
  const authorization = `Bearer ${limitedKey}`;
  return {
    ...CATALOG_LIMITS,
    caller: 'the limited key',
    first: { authorization },
    others: {
      'a create': (newName) => ({ ...creating({ name: newName() }), authorization }),
      'an unknown path': () => ({ path: NOWHERE, authorization }),
    },
    stranger: key === limitedKey ? undefined : { authorization: `Bearer ${key}` },
    begun: [],
    // The other rules have used the key, if it is the only one.
    isFresh: key !== limitedKey,
    limitUntold: FREE_LIMIT,
    limitMax: LIMIT_MAX,
    adviceFor: () => `give one with at most ${LIMIT_MAX}`,
    windowSeconds: 60,
    resetTolerance: 0,
  };
}
