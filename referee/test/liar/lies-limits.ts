import {
  add,
  fail,
  head,
  isLimited,
  LIMIT,
  type Lying,
  members,
  REFUSED,
  REMAINING,
  RESET,
  say,
  status,
  type Told,
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
/** Changes a part of a header of the drafts on a 404. */
const pair = (header: string, part: RegExp, other: string) =>
  head({ status: 404 }, header, (text) => text.replace(part, other));
/** Counts requests under a name of their own instead of together. */
const apart =
  (nameOf: (asked: Asked) => string): Lying =>
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

/** Each kind of answer lacks one of the headers, in turn: they are looked for together. */
export const OF_MISSING_LIMITS: Told = Object.fromEntries(
  Object.entries(ON).map(([on, where], index) => {
    const [header = '', kind] = [[LIMIT, REMAINING, RESET][index % 3], on === 'every' ? '422' : on];
    return [`limits.headers-on-${on}`, { [`${header} is missing on an answer to ${kind}`]: head(where, header) }];
  }),
);

/** Headers of limits that are untrue, and limits that are not kept. */
export const OF_LIMITS: Told = {
  'limits.headers-on-400': {
    'X-RateLimit-Reset of a 400 has a fraction': head({ status: 400 }, RESET, (at) => `${at}.5`),
  },
  'limits.headers-on-201': {
    'X-RateLimit-Limit of a create names its window': head(
      { status: 201 },
      LIMIT,
      (count) => `${count}, ${count};w=60`,
    ),
  },
  'limits.headers-on-429': {
    'X-RateLimit-Remaining goes on falling below zero with each refusal': () => {
      let refusals = 0;
      return head(REFUSED, REMAINING, () => {
        refusals += 1;
        return -refusals;
      });
    },
  },
  'limits.401-no-quota': {
    'a 401 tells the Limit of an address': head({ status: 401 }, LIMIT, () => 59),
    'a 401 tells the Remaining of an address': head({ status: 401 }, REMAINING, () => 59),
    'a 401 tells the Reset of an address': head({ status: 401 }, RESET, (at) => Number(at) + 42),
    'a 401 has a RateLimit': head({ status: 401 }, 'ratelimit', () => '"minute";r=59;t=42'),
  },
  'limits.every-operation': {
    'a 400 takes nothing of the quota': free(({ text }) => text === '{}'),
  },
  'limits.every-request-counts': {
    'a create takes nothing of the quota': free(({ method, text }) => method === 'POST' && text !== '{}'),
    'an unknown path takes nothing of the quota': free((asked) => pathOf(asked).startsWith('/conformance-')),
  },
  'limits.refused-everywhere': {
    'a create is admitted over the limit': freeWhenOver(({ method }) => method === 'POST'),
    'an unknown path is answered over the limit': freeWhenOver((asked) => pathOf(asked).startsWith('/conformance-')),
    'each method has a count of its own': apart(({ method }) => method),
  },
  'limits.ietf-pair': {
    'RateLimit-Policy names no window': pair('ratelimit-policy', /.*/, '60 a minute'),
    'RateLimit names no window': pair('ratelimit', /.*/, '59 left'),
    'RateLimit tells another r': pair('ratelimit', /r=\d+/, 'r=7'),
    'RateLimit-Policy tells another q': pair('ratelimit-policy', /q=\d+/, 'q=7'),
    'RateLimit tells another t': pair('ratelimit', /t=\d+/, 't=7000'),
  },
  'limits.reset-unix-time': {
    'X-RateLimit-Reset is a Unix time in milliseconds': head({}, RESET, (at) => at && Number(at) * 1000),
    'Reset is the present second on a refusal': head(REFUSED, RESET, (_, { now }) => Math.floor(now)),
    'Reset is over on a 400': add({ status: 400 }, RESET, -1_200),
    'Reset is ten years ahead on a 400': add({ status: 400 }, RESET, 315_360_000),
    'Reset is a minute ago on a 401': add({ status: 401 }, RESET, -60),
  },
  'limits.plan': {
    'the free plan has a limit of 50': ofMinute(50, 50),
  },
  'limits.free-plan': {
    'a key of the free plan has a limit of 50': ofMinute(50, 50),
  },
  'limits.key-plan': {
    'the business plan has the limit of the pro plan': {
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
  },
  'limits.429-over-limit': {
    'a refusal by the limits is 403': status(REFUSED, 403),
    'a refusal by the limits is 503': fail({ ...REFUSED, when: isLimited }, 503, 'unavailable'),
    'the limits are told, and nothing is refused': decide((decision) =>
      decision.code ? asAdmitted(decision) : decision,
    ),
    'a key may do 50 requests, and is told of a limit of 20': ofMinute(50, 20),
    'a key may do 19 requests, and is told of a limit of 20': ofMinute(19, 20),
  },
  'limits.last-token': {
    'a key may do 21 requests, and is told of a limit of 20': ofMinute(21, 20),
    'the last request of a window is checked apart from its count, so that several at once are admitted': decide(
      (decision, { state: { memory }, now }) => {
        if (!decision.code || decision.ban) memory.spare = 3;
        const isAtOnce = now === memory.at;
        memory.at = now;
        if (!decision.code || decision.ban || !isAtOnce || !memory.spare) return decision;
        memory.spare -= 1;
        return { ...asAdmitted(decision) };
      },
    ),
  },
  'limits.429-over-limit limits.remaining-falls-by-one limits.window-60s': {
    'a bucket gives twice what it says': {
      limiter: (key, counters, now, cost) => {
        const told = bucket()({ ...key, minute: key.minute * 2 }, counters, now, cost);
        return { ...told, limit: key.minute, minute: { ...told.minute, limit: key.minute } };
      },
    },
  },
  'limits.remaining-true': {
    'X-RateLimit-Remaining still counts the request that it answers': tell(plus('remaining', 1)),
    'Remaining is one too few': tell((decision) => plus('remaining', decision.remaining > 0 ? -1 : 0)(decision)),
  },
  'limits.remaining-falls-by-one': {
    'Limit is another while 10 requests remain': tell((decision) =>
      decision.remaining === 10 ? plus('limit', 1)(decision) : decision,
    ),
    'Reset is another while 10 requests remain': tell((decision) =>
      decision.remaining === 10 ? plus('reset', 1)(decision) : decision,
    ),
  },
  'limits.window-60s': {
    'Reset of a minute is 90 s ahead': tell(plus('reset', 30)),
  },
  'limits.per-key': {
    'a key over its limit has all others refused': () => {
      let refused: Decision | undefined;
      return {
        decides(decision, asked) {
          if (decision.code === 'rate_limit_exceeded' && isLimited(asked)) refused = decision;
          return !isLimited(asked) && refused && asked.now < refused.reset ? refused : decision;
        },
      };
    },
  },
  'limits.retry-after-present': {
    'a 429 has no Retry-After': head(REFUSED, 'retry-after'),
  },
  'limits.retry-after-is-a-wait': {
    'Retry-After is a Unix time in milliseconds': wait((seconds, { now }) => Math.floor((now + seconds) * 1000)),
    'Retry-After has a fraction': wait((seconds) => `${seconds}.5`),
    'Retry-After is below zero': wait((seconds) => -seconds),
    'Retry-After has a unit': wait((seconds) => `${seconds}s`),
  },
  'limits.retry-after-within-reset': {
    'Retry-After ends three seconds after the window': wait((seconds) => seconds + 3),
  },
  'limits.retry-after-reaches-reset': {
    'Retry-After ends one second after the window': wait((seconds) => seconds + 1),
  },
  'limits.retry-after-reaches-reset limits.retry-after-suffices': {
    'Retry-After ends one second before the window': wait((seconds) => Math.max(1, seconds - 1)),
  },
  'limits.refused-remaining-0': {
    'Remaining is 1 on a refusal': head(REFUSED, REMAINING, () => 1),
  },
  'limits.refused-limit': {
    'Limit is 0 on a refusal': head(REFUSED, LIMIT, () => 0),
  },
  'limits.refused-window': {
    'Limit is that of the day on a refusal': head({ ...RATE_LIMITED, ...REFUSED }, LIMIT, () => 1_000),
  },
  'limits.refusals-extend-nothing': {
    'every refusal starts the minute anew': limit((decided, key, counters, now, cost) => {
      const made = decided(key, counters, now, cost);
      if (made.code !== 'rate_limit_exceeded') return made;
      counters.minute.ends = Math.floor(now) + MINUTE;
      return { ...made, reset: counters.minute.ends, minute: { ...made.minute, reset: counters.minute.ends } };
    }),
  },
  'limits.429-error': {
    'the code of a refusal is too_many_requests': members(RATE_LIMITED, { code: 'too_many_requests' }),
    'the status in the body of a refusal is 400': members(RATE_LIMITED, { status: 400 }),
  },
  'limits.rate-limit-operation': {
    'GET /rate_limit is 404 for a key of the free plan': fail(
      { path: '/rate_limit', when: (asked, { body: told }) => isLimited(asked) && (told as Members).ban === null },
      404,
      'not_found',
    ),
    'GET /rate_limit names no plan': state(whatever, (answer) => {
      answer.body = { ...(answer.body as Members), plan: undefined };
    }),
    'GET /rate_limit tells of 1 request more': state(whatever, within('minute', { remaining: 1 })),
    'GET /rate_limit tells of a ban that is none': state(
      (told) => !isBanned(told),
      (answer) => {
        answer.body = { ...(answer.body as Members), ban: { until: 0, reason: '' } };
      },
    ),
    'a refusal counts in the day': state(whatever, within('day', { remaining: 900 })),
  },
  'limits.retry-after-suffices': {
    'a key is refused for two seconds after its Retry-After': () => {
      let until = 0;
      return decide((decision, { now }) => {
        if (decision.code === 'rate_limit_exceeded' && until === 0) until = decision.reset + 2;
        const isLate = now < until && !decision.code && until - now <= 2;
        return isLate ? { ...decision, code: 'rate_limit_exceeded', remaining: 0, reset: until } : decision;
      });
    },
  },
  'limits.window-as-told': {
    'a key is admitted again after a quarter of Retry-After': limit((decided, key, counters, now, cost) => {
      const told = counters.minute.ends;
      if (key.plan === 'free' && told > 0 && now >= told - 45 && counters.minute.used >= key.minute) {
        counters.minute = { ends: 0, used: 0 };
      }
      return decided(key, counters, now, cost);
    }),
  },
  'limits.window-opens-again': {
    'a new window tells of 10 requests fewer': later((decision) =>
      plus('remaining', -Math.min(10, decision.remaining))(decision),
    ),
    'a new window ends half a minute early': later(plus('reset', -30)),
  },
  'bans.repeated-refusals': {
    'a key is never banned': limit((decided, key, counters, now, cost) => {
      counters.refusals.count = 0;
      return decided(key, counters, now, cost);
    }),
    'a key is banned after forty refusals': limit((decided, key, counters, now, cost) => {
      if (counters.refusals.count === 40) counters.refusals.count = 60;
      return decided(key, counters, now, cost);
    }),
  },
  'bans.calls-do-not-lengthen': {
    'a call during a ban lengthens it': limit((decided, key, counters, now, cost) => {
      const made = decided(key, counters, now, cost);
      if (!made.ban || cost === 0) return made;
      const until = Math.floor(now) + BAN_SECONDS;
      counters.bans[counters.bans.length - 1] = until;
      return { ...made, reset: until, ban: { ...made.ban, until } };
    }),
  },
  'bans.rate-limit-operation': {
    'GET /rate_limit tells of another end of a ban': state(isBanned, within('ban', { until: 1 })),
    'GET /rate_limit tells no reason of a ban': state(isBanned, within('ban', { reason: null })),
  },
  'bans.end': {
    'a ban goes on for a minute after its Retry-After': () => {
      let ends = 0;
      return decide((decision, { now }) => {
        if (decision.ban) ends = decision.reset;
        return now >= ends && now < ends + BAN_SECONDS ? banned(decision, ends + BAN_SECONDS) : decision;
      });
    },
  },
};

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
