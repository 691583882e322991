import {
  add,
  fail,
  head,
  isLimited,
  LIMIT,
  type Lie,
  members,
  REFUSED,
  REMAINING,
  RESET,
  type Row,
  say,
  status,
  type Where,
} from './lie.ts';
import {
  bucket,
  type Counters,
  type Decision,
  freshCounters,
  type Key,
  type Limiter,
  minuteAndDay,
  type Window,
} from './limiter.ts';
import { type Answer, type Asked, type Members, pathOf, type Way } from './server.ts';

const MINUTE = 60;
const BAN_SECONDS = 60;
const RATE_LIMITED = { code: 'rate_limit_exceeded' };

/** Answers that may lack a header of the limits. */
const ON: Readonly<Record<string, Where>> = {
  ...Object.fromEntries([201, 304, 400, 401, 405, 413, 415, 429].map((code) => [code, { status: code }])),
  200: { status: 200, method: 'GET', path: '/categories' },
  404: { status: 404, path: /^(?!\/pets)/ },
  head: { method: 'HEAD' },
  options: { method: 'OPTIONS' },
  pets: { status: 200, path: '/pets' },
  every: { status: 422 },
};

/** Decides for the limited key otherwise. */
const decide = (change: (decision: Decision, asked: Asked) => Decision): Way => ({
  decides: (decision, asked) => (isLimited(asked) ? change(decision, asked) : decision),
});
/** Tells of admitted requests of the limited key otherwise than is counted. */
const tell = (change: (decision: Decision, asked: Asked) => Decision) =>
  decide((decision, asked) => (decision.code || pathOf(asked) === '/rate_limit' ? decision : change(decision, asked)));
const plus = (member: keyof Window, number: number) => (decision: Decision) => {
  const more = (window: Window) => ({ ...window, [member]: window[member] + number });
  return { ...decision, [member]: decision[member] + number, minute: more(decision.minute) };
};
/** Tells of another number of requests per minute than is admitted. */
const ofMinute = (admitted: number, told: number): Way => ({
  ...decide((decision) => {
    const minute = {
      ...decision.minute,
      limit: told,
      remaining: decision.code ? 0 : Math.max(0, decision.minute.remaining + told - admitted),
    };
    return {
      ...decision,
      minute,
      ...(decision.limit === admitted && { limit: told, remaining: decision.code ? 0 : minute.remaining }),
    };
  }),
  limit: admitted,
});
const wait = (change: (seconds: number, asked: Asked) => string | number) =>
  head({ ...REFUSED, ...RATE_LIMITED }, 'retry-after', (text, asked) => change(Number(text), asked));
const banned = (decision: Decision, until: number): Decision => ({
  ...decision,
  code: 'key_banned',
  remaining: 0,
  reset: until,
  ban: { until, reason: 'Too many refusals' },
});
const asAdmitted = (decision: Decision): Decision => ({ ...decision, code: undefined, remaining: 0 });
/** Changes the state of the limited key that `getRateLimit` tells. */
const state = (isMeant: (state: Members) => boolean, change: (answer: Answer) => void) =>
  say(
    { status: 200, path: '/rate_limit', when: (asked, answer) => isLimited(asked) && isMeant(answer.body as Members) },
    change,
  );
const within = (name: string, others: Members) => (answer: Answer) => {
  const told = answer.body as Members;
  answer.body = { ...told, [name]: { ...(told[name] as Members), ...others } };
};
const isBanned = ({ ban }: Members) => ban !== null;
const whatever = () => true;
/** Counts requests under a name of their own instead of together. */
const apart =
  (nameOf: (asked: Asked) => string): Lie['way'] =>
  () => {
    const counters = new Map<string, Counters>();
    return decide((_, asked) => {
      const isFree = pathOf(asked) === '/rate_limit';
      const name = isFree ? nameOf({ ...asked, method: 'GET', url: '/categories' }) : nameOf(asked);
      const own = counters.get(name) ?? freshCounters();
      counters.set(name, own);
      return minuteAndDay(asked.key as Key, own, asked.now, isFree ? 0 : 1);
    });
  };
/** Changes the limiter of all keys. */
const limit = (change: (decide: Limiter, key: Key, counters: Counters, now: number, cost: 0 | 1) => Decision): Way => ({
  limiter: (...given) => change(minuteAndDay, ...given),
});

/** Headers of limits that are missing or untrue, and limits that are not kept. */
export const OF_LIMITS: readonly Row[] = [
  // Each kind of answer lacks one of the headers, in turn: they are looked for together.
  ...Object.entries(ON).map(([on, where], index): Row => {
    const [header = '', kind] = [[LIMIT, REMAINING, RESET][index % 3], on === 'every' ? '422' : on];
    const told = `no-${header.split('-').at(-1)}-on-${kind}: ${header} is missing on an answer to ${kind}`;
    return [`limits.headers-on-${on}`, told, head(where, header)];
  }),
  [
    'limits.headers-on-201',
    'limit-with-its-window: X-RateLimit-Limit of a create names its window',
    head({ status: 201 }, LIMIT, (count) => `${count}, ${count};w=60`),
  ],
  [
    'limits.headers-on-429',
    'remaining-counts-refusals: X-RateLimit-Remaining goes on falling below zero with each refusal',
    () => {
      let refusals = 0;
      return head(REFUSED, REMAINING, () => {
        refusals += 1;
        return -refusals;
      });
    },
  ],
  ['limits.401-no-quota', 'limit-on-401: a 401 tells the Limit of an address', head({ status: 401 }, LIMIT, () => 59)],
  [
    'limits.401-no-quota',
    'remaining-on-401: a 401 tells the Remaining of an address',
    head({ status: 401 }, REMAINING, () => 59),
  ],
  [
    'limits.401-no-quota',
    'reset-on-401: a 401 tells the Reset of an address',
    head({ status: 401 }, RESET, (at) => Number(at) + 42),
  ],
  [
    'limits.401-no-quota',
    'ratelimit-on-401: a 401 has a RateLimit',
    head({ status: 401 }, 'ratelimit', () => '"minute";r=59;t=42'),
  ],
  ['limits.every-operation', 'free-400: a 400 takes nothing of the quota', free(({ text }) => text === '{}')],
  [
    'limits.every-request-counts',
    'create-not-counted: a create takes nothing of the quota',
    free(({ method, text }) => method === 'POST' && text !== '{}'),
  ],
  [
    'limits.every-request-counts',
    'unknown-path-not-counted: an unknown path takes nothing of the quota',
    free((asked) => pathOf(asked).startsWith('/conformance-')),
  ],
  [
    'limits.refused-everywhere',
    'create-not-limited: a create is admitted over the limit',
    freeWhenOver(({ method }) => method === 'POST'),
  ],
  [
    'limits.refused-everywhere',
    'unknown-path-not-limited: an unknown path is answered over the limit',
    freeWhenOver((asked) => pathOf(asked).startsWith('/conformance-')),
  ],
  [
    'limits.refused-everywhere',
    'count-for-each-method: each method has a count of its own',
    apart(({ method }) => method),
  ],
  ...Object.entries({
    'policy-in-words': ['RateLimit-Policy names no window', 'ratelimit-policy', /.*/, '60 a minute'],
    'rate-limit-in-words': ['RateLimit names no window', 'ratelimit', /.*/, '59 left'],
    'rate-limit-remaining': ['RateLimit tells another r', 'ratelimit', /r=\d+/, 'r=7'],
    'rate-limit-quota': ['RateLimit-Policy tells another q', 'ratelimit-policy', /q=\d+/, 'q=7'],
    'rate-limit-time': ['RateLimit tells another t', 'ratelimit', /t=\d+/, 't=7000'],
  } as const).map(
    ([name, [told, header, part, other]]): Row => [
      'limits.ietf-pair',
      `${name}: ${told}`,
      head({ status: 404 }, header, (text) => text.replace(part, other)),
    ],
  ),
  [
    'limits.reset-unix-time',
    'reset-in-milliseconds: X-RateLimit-Reset is a Unix time in milliseconds',
    head({}, RESET, (at) => at && Number(at) * 1000),
  ],
  [
    'limits.reset-unix-time',
    'reset-now-on-429: Reset is the present second on a refusal',
    head(REFUSED, RESET, (_, { now }) => Math.floor(now)),
  ],
  ['limits.reset-unix-time', 'reset-over-on-400: Reset is over on a 400', add({ status: 400 }, RESET, -1_200)],
  [
    'limits.reset-unix-time',
    'reset-in-years: Reset is ten years ahead on a 400',
    add({ status: 400 }, RESET, 315_360_000),
  ],
  ['limits.reset-unix-time', 'reset-over-on-401: Reset is a minute ago on a 401', add({ status: 401 }, RESET, -60)],
  ['limits.plan', 'limit-of-no-plan: the free plan has a limit of 50', ofMinute(50, 50)],
  ['limits.free-plan', 'free-plan-of-50: a key of the free plan has a limit of 50', ofMinute(50, 50)],
  [
    'limits.key-plan',
    'business-limit-of-300: the business plan has the limit of the pro plan',
    {
      decides: (decision, asked) =>
        isLimited(asked)
          ? decision
          : {
              ...decision,
              limit: 300,
              remaining: decision.remaining - 700,
              minute: { ...decision.minute, limit: 300, remaining: decision.remaining - 700 },
            },
    },
  ],
  ['limits.429-over-limit', 'over-limit-is-403: a refusal by the limits is 403', status(REFUSED, 403)],
  [
    'limits.429-over-limit',
    'limits-not-enforced: the limits are told, and nothing is refused',
    decide((decision) => (decision.code ? asAdmitted(decision) : decision)),
  ],
  [
    'limits.429-over-limit',
    'limit-understated: a key may do 50 requests, and is told of a limit of 20',
    ofMinute(50, 20),
  ],
  ['limits.last-token', 'one-too-many: a key may do 21 requests, and is told of a limit of 20', ofMinute(21, 20)],
  ['limits.429-over-limit', 'one-too-few: a key may do 19 requests, and is told of a limit of 20', ofMinute(19, 20)],
  [
    'limits.429-over-limit limits.remaining-falls-by-one limits.window-60s',
    'bucket-of-twice-the-rate: a bucket gives twice what it says',
    {
      limiter: (key, counters, now, cost) => {
        const told = bucket()({ ...key, minute: key.minute * 2 }, counters, now, cost);
        return { ...told, limit: key.minute, minute: { ...told.minute, limit: key.minute } };
      },
    },
  ],
  [
    'limits.last-token',
    'last-token-twice: the last request of a window is checked apart from its count, so that several at once are admitted',
    decide((decision, { state: { memory }, now }) => {
      if (!decision.code || decision.ban) memory.spare = 3;
      const isAtOnce = now === memory.at;
      memory.at = now;
      if (!decision.code || decision.ban || !isAtOnce || !memory.spare) return decision;
      memory.spare -= 1;
      return { ...asAdmitted(decision) };
    }),
  ],
  [
    'limits.remaining-true',
    'remaining-off-by-one: X-RateLimit-Remaining still counts the request that it answers',
    tell(plus('remaining', 1)),
  ],
  [
    'limits.remaining-true',
    'remaining-one-too-few: Remaining is one too few',
    tell((decision) => plus('remaining', decision.remaining > 0 ? -1 : 0)(decision)),
  ],
  [
    'limits.remaining-falls-by-one',
    'limit-changes: Limit is another while 10 requests remain',
    tell((decision) => (decision.remaining === 10 ? plus('limit', 1)(decision) : decision)),
  ],
  [
    'limits.remaining-falls-by-one',
    'reset-drifts: Reset is another while 10 requests remain',
    tell((decision) => (decision.remaining === 10 ? plus('reset', 1)(decision) : decision)),
  ],
  ['limits.window-60s', 'window-of-90s: Reset of a minute is 90 s ahead', tell(plus('reset', 30))],
  [
    'limits.per-key',
    'limits-shared: a key over its limit has all others refused',
    () => {
      let refused: Decision | undefined;
      return {
        decides(decision, asked) {
          if (decision.code === 'rate_limit_exceeded' && isLimited(asked)) refused = decision;
          return !isLimited(asked) && refused && asked.now < refused.reset ? refused : decision;
        },
      };
    },
  ],
  ['limits.retry-after-present', 'retry-after-missing: a 429 has no Retry-After', head(REFUSED, 'retry-after')],
  [
    'limits.retry-after-is-a-wait',
    'retry-after-unix-time: Retry-After is a Unix time in milliseconds',
    wait((seconds, { now }) => Math.floor((now + seconds) * 1000)),
  ],
  ['limits.retry-after-is-a-wait', 'retry-after-with-a-unit: Retry-After has a unit', wait((seconds) => `${seconds}s`)],
  [
    'limits.retry-after-within-reset',
    'retry-after-three-more: Retry-After ends three seconds after the window',
    wait((seconds) => seconds + 3),
  ],
  [
    'limits.retry-after-reaches-reset',
    'retry-after-one-more: Retry-After ends one second after the window',
    wait((seconds) => seconds + 1),
  ],
  [
    'limits.retry-after-reaches-reset limits.retry-after-suffices',
    'retry-after-short: Retry-After ends one second before the window',
    wait((seconds) => Math.max(1, seconds - 1)),
  ],
  [
    'limits.refused-remaining-0',
    'remaining-of-one-when-refused: Remaining is 1 on a refusal',
    head(REFUSED, REMAINING, () => 1),
  ],
  ['limits.refused-limit', 'no-limit-when-refused: Limit is 0 on a refusal', head(REFUSED, LIMIT, () => 0)],
  [
    'limits.refused-window',
    'limit-of-the-day-when-refused: Limit is that of the day on a refusal',
    head({ ...RATE_LIMITED, ...REFUSED }, LIMIT, () => 1_000),
  ],
  [
    'limits.refusals-extend-nothing',
    'refusal-extends-window: every refusal starts the minute anew',
    limit((decided, key, counters, now, cost) => {
      const made = decided(key, counters, now, cost);
      if (made.code !== 'rate_limit_exceeded') return made;
      counters.minute.ends = Math.floor(now) + MINUTE;
      return { ...made, reset: counters.minute.ends, minute: { ...made.minute, reset: counters.minute.ends } };
    }),
  ],
  [
    'limits.429-error',
    'refusal-of-another-code: the code of a refusal is too_many_requests',
    members(RATE_LIMITED, { code: 'too_many_requests' }),
  ],
  [
    'limits.429-error',
    'refusal-says-400: the status in the body of a refusal is 400',
    members(RATE_LIMITED, { status: 400 }),
  ],
  [
    'limits.rate-limit-operation',
    'rate-limit-is-404: GET /rate_limit is 404 for a key of the free plan',
    fail(
      { path: '/rate_limit', when: (asked, { body: told }) => isLimited(asked) && (told as Members).ban === null },
      404,
      'not_found',
    ),
  ],
  [
    'limits.rate-limit-operation',
    'state-without-plan: GET /rate_limit names no plan',
    state(whatever, (answer) => {
      answer.body = { ...(answer.body as Members), plan: undefined };
    }),
  ],
  [
    'limits.rate-limit-operation',
    'state-of-another-minute: GET /rate_limit tells of 1 request more',
    state(whatever, within('minute', { remaining: 1 })),
  ],
  [
    'limits.rate-limit-operation',
    'state-with-a-ban: GET /rate_limit tells of a ban that is none',
    state(
      (told) => !isBanned(told),
      (answer) => {
        answer.body = { ...(answer.body as Members), ban: { until: 0, reason: '' } };
      },
    ),
  ],
  [
    'limits.rate-limit-operation',
    'refusals-count-in-the-day: a refusal counts in the day',
    state(whatever, within('day', { remaining: 900 })),
  ],
  [
    'limits.retry-after-suffices',
    'window-outlasts-retry-after: a key is refused for two seconds after its Retry-After',
    () => {
      let until = 0;
      return decide((decision, { now }) => {
        if (decision.code === 'rate_limit_exceeded' && until === 0) until = decision.reset + 2;
        const isLate = now < until && !decision.code && until - now <= 2;
        return isLate ? { ...decision, code: 'rate_limit_exceeded', remaining: 0, reset: until } : decision;
      });
    },
  ],
  [
    'limits.window-as-told',
    'window-shorter-than-told: a key is admitted again after a quarter of Retry-After',
    limit((decided, key, counters, now, cost) => {
      const told = counters.minute.ends;
      if (key.plan === 'free' && told > 0 && now >= told - 45 && counters.minute.used >= key.minute) {
        counters.minute = { ends: 0, used: 0 };
      }
      return decided(key, counters, now, cost);
    }),
  ],
  [
    'limits.window-opens-again',
    'window-opens-in-part: a new window tells of 10 requests fewer',
    later((decision) => plus('remaining', -Math.min(10, decision.remaining))(decision)),
  ],
  [
    'limits.window-opens-again',
    'window-opens-for-less: a new window ends half a minute early',
    later(plus('reset', -30)),
  ],
  [
    'bans.repeated-refusals',
    'no-bans: a key is never banned',
    limit((decided, key, counters, now, cost) => {
      counters.refusals.count = 0;
      return decided(key, counters, now, cost);
    }),
  ],
  [
    'bans.repeated-refusals',
    'ban-at-once: a key is banned after forty refusals',
    limit((decided, key, counters, now, cost) => {
      if (counters.refusals.count === 40) counters.refusals.count = 60;
      return decided(key, counters, now, cost);
    }),
  ],
  [
    'bans.calls-do-not-lengthen',
    'ban-lengthened: a call during a ban lengthens it',
    limit((decided, key, counters, now, cost) => {
      const made = decided(key, counters, now, cost);
      if (!made.ban || cost === 0) return made;
      const until = Math.floor(now) + BAN_SECONDS;
      counters.bans[counters.bans.length - 1] = until;
      return { ...made, reset: until, ban: { ...made.ban, until } };
    }),
  ],
  [
    'bans.rate-limit-operation',
    'ban-of-another-end: GET /rate_limit tells of another end of a ban',
    state(isBanned, within('ban', { until: 1 })),
  ],
  [
    'bans.rate-limit-operation',
    'ban-without-reason: GET /rate_limit tells no reason of a ban',
    state(isBanned, within('ban', { reason: null })),
  ],
  [
    'bans.end',
    'ban-outlasts-retry-after: a ban goes on for a minute after its Retry-After',
    () => {
      let ends = 0;
      return decide((decision, { now }) => {
        if (decision.ban) ends = decision.reset;
        return now >= ends && now < ends + BAN_SECONDS ? banned(decision, ends + BAN_SECONDS) : decision;
      });
    },
  ],
];

/** Gives back what a request took, if it is of some kind. */
function free(isFree: (asked: Asked) => boolean): Way {
  return {
    decides(decision, asked) {
      const counters = asked.key && asked.state.counters.get(asked.key.secret);
      if (!counters || decision.code || !isFree(asked)) return decision;
      counters.minute.used -= 1;
      counters.day.used -= 1;
      return plus('remaining', 1)({ ...decision, day: { ...decision.day, remaining: decision.day.remaining + 1 } });
    },
  };
}

/** Admits some requests over the limit, and counts them no more. */
function freeWhenOver(isFree: (asked: Asked) => boolean): Way {
  return decide((decision, asked) =>
    decision.code === 'rate_limit_exceeded' && isFree(asked) ? asAdmitted(decision) : decision,
  );
}

/** Changes what is told of every window of the limited key but its first. */
function later(change: (decision: Decision) => Decision): () => Way {
  return () => {
    let windows = 0;
    return tell((decision) => {
      if (decision.remaining === decision.limit - 1) windows += 1;
      return windows > 1 ? change(decision) : decision;
    });
  };
}
