import { LIMIT, REMAINING, RESET, say } from './lie.ts';
import type { Answer, Asked, Way } from './server.ts';

/** Replaces the headers of the catalog by those of another family. */
const family = (change: (told: { limit: number; left: number; reset: number; ahead: number }) => Answer['headers']) =>
  say({}, (answer: Answer, { now }: Asked) => {
    const { headers } = answer;
    const [limit, left, reset] = [LIMIT, REMAINING, RESET].map((name) => headers[name]);
    for (const name of [LIMIT, REMAINING, RESET, 'ratelimit', 'ratelimit-policy']) delete headers[name];
    if (limit === undefined || left === undefined || reset === undefined) return;
    const told = { limit: Number(limit), left: Number(left), reset: Number(reset) };
    Object.assign(headers, change({ ...told, ahead: told.reset - Math.floor(now) }));
  });

/** The families of headers, each with the name under which the referee finds it. */
export const FAMILIES: readonly (readonly [name: string, way: Way])[] = [
  ['X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset in Unix seconds', {}],
  [
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset in Unix milliseconds',
    family(({ limit, left, reset }) => ({ [LIMIT]: limit, [REMAINING]: left, [RESET]: reset * 1000 })),
  ],
  [
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset in seconds from now',
    family(({ limit, left, ahead }) => ({ [LIMIT]: limit, [REMAINING]: left, [RESET]: ahead })),
  ],
  [
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset in dates',
    family(({ limit, left, reset }) => ({
      [LIMIT]: limit,
      [REMAINING]: left,
      [RESET]: new Date(reset * 1000).toISOString(),
    })),
  ],
  [
    'X-Rate-Limit-Limit, X-Rate-Limit-Remaining',
    family(({ limit, left }) => ({ 'x-rate-limit-limit': limit, 'x-rate-limit-remaining': left })),
  ],
  [
    'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset in seconds from now',
    family(({ limit, left, ahead }) => ({
      'ratelimit-limit': `${limit};w=60, ${limit};w=60`,
      'ratelimit-remaining': left,
      'ratelimit-reset': ahead,
    })),
  ],
  [
    'RateLimit with limit, remaining and reset',
    family(({ limit, left, ahead }) => ({
      'ratelimit-policy': `${limit};w=60`,
      ratelimit: `limit=${limit}, remaining=${left}, reset=${ahead}`,
    })),
  ],
  [
    'RateLimit and RateLimit-Policy with r, t and q',
    family(({ limit, left, ahead }) => ({
      'ratelimit-policy': `"day";q=1000;w=86400, "60-in-1min";q=${limit};w=60;pk=:YWJj:`,
      ratelimit: `"day";r=999;t=3000, "60-in-1min"; r=${left}; t=${ahead}`,
    })),
  ],
];

/** Tells nothing but when to come back. */
export const RETRY_AFTER_ALONE = family(() => ({}));
