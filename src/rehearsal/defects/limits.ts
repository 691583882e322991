import { setTimeout as wait } from 'node:timers/promises';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { Decision } from '../../limits/limiter.ts';
import {
  adding,
  answering,
  type Change,
  type DefectTable,
  deciding,
  errorStatus,
  type Fault,
  heading,
  json,
  jsonIn,
  type Limiter,
  limiting,
  type Members,
  members,
  status,
  telling,
  type Where,
} from './fault.ts';

const MINUTE_SECONDS = 60;
const FREE_LIMIT = 60;
const BAN_SECONDS = 60;
/** The time that the last request of a window waits for another one to overtake it. */
const OVERTAKEN_MS = 1_000;
const REFUSED = { status: 429 };
const RATE_LIMITED = { code: 'rate_limit_exceeded' } as const;
const LIMIT = 'X-RateLimit-Limit';
const REMAINING = 'X-RateLimit-Remaining';
const RESET = 'X-RateLimit-Reset';

/** Answers that may lack a header of the limits. */
const ON: Readonly<Record<string, Where>> = {
  ...Object.fromEntries([201, 304, 400, 401, 405, 413, 415, 429].map((status) => [status, { status }])),
  200: { status: 200, method: 'GET', path: '/v1/categories' },
  404: { status: 404, path: /^(?!.v1.pets)/ },
  head: { method: 'HEAD' },
  options: { method: 'OPTIONS' },
  pets: { status: 200, path: '/v1/pets' },
  every: { status: 422 },
};

/** Answers that may lack all three at once. */
const BARE: ReadonlySet<string> = new Set(['304', '401', '404', '413', '429']);

/** A header that reveals the limits of an address without a key, and its value. */
const TOLD_ON_401: Readonly<Record<string, readonly [string, (value: string) => string | number]>> = {
  limit: [LIMIT, () => 59],
  remaining: [REMAINING, () => 59],
  reset: [RESET, (text) => Number(text) + 42],
  ratelimit: ['RateLimit', () => '"minute";r=59;t=42'],
};

/** Headers of the IETF on a 404 that disagree with the others. */
const PAIR: Readonly<Record<string, readonly [string, string, string | RegExp, string]>> = {
  'policy-in-words': ['RateLimit-Policy names no window', 'RateLimit-Policy', /.*/, '60 a minute'],
  'rate-limit-in-words': ['RateLimit names no window', 'RateLimit', /.*/, '59 left'],
  'rate-limit-remaining': ['RateLimit tells another r', 'RateLimit', /r=\d+/, 'r=7'],
  'rate-limit-quota': ['RateLimit-Policy tells another q', 'RateLimit-Policy', /q=\d+/, 'q=7'],
  'rate-limit-time': ['RateLimit tells another t', 'RateLimit', /t=\d+/, 't=7000'],
};

/**
 * Limit headers that are missing on one kind of answer, or that no count fits, and counts that are wrong, with headers
 * and refusals that do not fit them.
 */
export const LIMIT_DEFECTS: DefectTable = {
  ...Object.fromEntries(Object.entries(ON).flatMap(([on, where]) => missing(on, where))),
  ...Object.fromEntries(
    Object.entries(TOLD_ON_401).map(([name, [header, change]]) => [
      `limits.401-no-quota ${name}-on-401: a 401 tells the ${header} of an address`,
      heading({ status: 401 }, header, change),
    ]),
  ),
  'limits.every-operation free-400: a 400 takes nothing of the quota': adding({ status: 400 }, REMAINING, 1),
  ...Object.fromEntries(
    Object.entries(PAIR).map(([name, [description, header, part, other]]) => [
      `limits.ietf-pair ${name}: ${description}`,
      heading({ status: 404 }, header, (text) => text.replace(part, other)),
    ]),
  ),
  'limits.reset-unix-time reset-in-seconds-from-now: X-RateLimit-Reset is the number of seconds until the reset':
    telling((decision) => ({ ...decision, reset: decision.reset - decision.now })),
  'limits.reset-unix-time reset-in-milliseconds: X-RateLimit-Reset is a Unix time in milliseconds': telling(
    (decision) => ({ ...decision, reset: decision.reset * 1000 }),
  ),
  'limits.reset-unix-time reset-over-on-429: Reset is over on a refusal': adding(REFUSED, RESET, -60),
  'limits.reset-unix-time reset-over-on-400: Reset is over on a 400': adding({ status: 400 }, RESET, -600),
  'limits.reset-unix-time reset-in-years: Reset is ten years ahead on a 400': adding(
    { status: 400 },
    RESET,
    315_360_000,
  ),
  'limits.plan limit-of-no-plan: the free plan has a limit of 50': ofPlan(50, 50),
  'limits.free-plan free-plan-of-50: the free plan has 50 requests a minute': ofPlan(50, 50),
  'limits.429-over-limit over-limit-is-403: a refusal by the limits is 403': answering(REFUSED, errorStatus(403)),
  'limits.429-over-limit limits-not-enforced: the limits are told, and nothing is refused': deciding(
    ({ refusal, ...admitted }) => (refusal ? { ...admitted, remaining: 0 } : admitted),
  ),
  'limits.429-over-limit limit-understated: a key may do 90 requests, and is told of a limit of 60': ofPlan(90, 60),
  'limits.429-over-limit limit-overstated: a key may do 50 requests, and is told of a limit of 60': ofPlan(50, 60),
  'limits.last-token last-token-twice: the last request of a window is checked apart from its count, so that two at once are admitted':
    limiting(overtaking),
  'limits.remaining-true remaining-off-by-one: X-RateLimit-Remaining still counts the request that it answers': telling(
    (decision) => {
      const more = plus('remaining', 1);
      if (decision.refusal) return decision;
      return { ...more(decision), minute: more(decision.minute), day: more(decision.day) };
    },
  ),
  'limits.remaining-true remaining-one-too-few: Remaining is one too few': tellingFree(plus('remaining', -1)),
  'limits.remaining-falls-by-one limit-changes: Limit is another while 30 requests remain': tellingFree((decision) =>
    decision.remaining === 30 ? { ...decision, limit: 61 } : decision,
  ),
  'limits.remaining-falls-by-one reset-drifts: Reset is another while 30 requests remain': tellingFree((decision) =>
    decision.remaining === 30 ? plus('reset', 1)(decision) : decision,
  ),
  'limits.window-60s window-of-90s: Reset of a minute is 90 s ahead': tellingFree(plus('reset', 30)),
  'limits.per-key limits-shared: a key over its limit has all others refused': () => {
    let refused: Decision | undefined;
    return deciding((decision) => {
      if (decision.refusal) refused = decision;
      return refused && decision.now < refused.reset ? refused : decision;
    });
  },
  'limits.retry-after-present retry-after-missing: a 429 has no Retry-After': heading(REFUSED, 'Retry-After'),
  'limits.retry-after-is-a-wait retry-after-unix-time: Retry-After is a Unix time in milliseconds': (time) =>
    waitingFor((seconds) => `${(time.now().unix + seconds) * 1000}`),
  'limits.retry-after-is-a-wait retry-after-with-a-fraction: Retry-After has a fraction': waitingFor(
    (seconds) => `${seconds}.5`,
  ),
  'limits.retry-after-reaches-reset retry-after-short: Retry-After ends one second before the window': waitingFor(
    (seconds) => `${Math.max(1, seconds - 1)}`,
  ),
  'limits.refused-remaining-0 remaining-counts-refusals: X-RateLimit-Remaining goes on falling below zero with each refusal':
    () => {
      let refusals = 0;
      return telling((decision) => {
        if (!decision.refusal) return decision;
        refusals += 1;
        return { ...decision, remaining: -refusals };
      });
    },
  'limits.refused-limit no-limit-when-refused: Limit is 0 on a refusal': heading(REFUSED, LIMIT, () => 0),
  'limits.refused-window limit-of-the-day-when-refused: Limit is that of the day on a refusal': heading(
    REFUSED,
    LIMIT,
    () => 1_000,
  ),
  'limits.refusals-extend-nothing refusal-extends-window: every refusal starts the minute anew': limiting(
    (limiter) => ({
      charge: async (key) => extended(await limiter.charge(key)),
      current: (key, decision) => extended(limiter.current(key, decision)),
    }),
  ),
  'limits.429-error refusal-in-plain-text: a 429 says "Too Many Requests" in plain text': answering(
    REFUSED,
    (answer) => ({ ...answer, contentType: 'text/plain', body: 'Too Many Requests' }),
  ),
  'limits.429-error refusal-of-another-code: the code of a refusal is too_many_requests': answering(
    RATE_LIMITED,
    members({ code: 'too_many_requests' }),
  ),
  'limits.429-error refusal-says-400: the status in the body of a refusal is 400': answering(
    RATE_LIMITED,
    members({ status: 400 }),
  ),
  'limits.rate-limit-operation rate-limit-is-404: GET /rate_limit is 404 for a key of the free plan': stating(
    isFree,
    status(404),
  ),
  'limits.rate-limit-operation state-without-plan: GET /rate_limit names no plan': stating(
    isFree,
    members({ plan: undefined }),
  ),
  'limits.rate-limit-operation state-of-another-minute: GET /rate_limit tells of 1 request more': stating(
    isFree,
    within('minute', { remaining: 1 }),
  ),
  'limits.rate-limit-operation state-with-a-ban: GET /rate_limit tells of a ban that is none': stating(
    (state) => isFree(state) && !isBanned(state),
    members({ ban: { until: 0, reason: '' } }),
  ),
  'limits.rate-limit-operation refusals-count-in-the-day: a refusal counts in the day': stating(
    isFree,
    within('day', { remaining: 900 }),
  ),
  'limits.retry-after-suffices window-outlasts-retry-after: a key is refused for two seconds after its Retry-After':
    () => {
      let until = 0;
      return deciding((decision) => {
        if (decision.refusal && until === 0) until = decision.reset + 2;
        return decision.now < until && !decision.refusal && until - decision.now <= 2
          ? { ...decision, refusal: 'rate_limit_exceeded', remaining: 0, reset: until }
          : decision;
      });
    },
  'limits.window-opens-again window-opens-in-part: a new window tells of 10 requests fewer': laterWindow(
    (decision) => ({ ...decision, remaining: Math.max(0, decision.remaining - 10) }),
  ),
  'limits.window-opens-again window-opens-for-less: a new window ends half a minute early': laterWindow(
    plus('reset', -30),
  ),
  'bans.repeated-refusals no-bans: a key is never banned': banning(({ ban, ...rest }) =>
    ban ? { ...rest, refusal: 'rate_limit_exceeded' } : rest,
  ),
  'bans.repeated-refusals ban-at-once: a key is banned after forty refusals': () => {
    let [refusals, until] = [0, 0];
    const look = (decision: Decision) => (decision.now < until ? banned(decision, until) : decision);
    return banning((decision) => {
      if (decision.refusal) refusals += 1;
      if (refusals > 40 && until === 0) until = decision.now + BAN_SECONDS;
      return look(decision);
    }, look);
  },
  'bans.calls-do-not-lengthen ban-lengthened: a call during a ban lengthens it': banning((decision) =>
    decision.ban ? { ...decision, reset: decision.now + BAN_SECONDS } : decision,
  ),
  'bans.rate-limit-operation banned-state-is-403: GET /rate_limit is 403 during a ban': stating(isBanned, status(403)),
  'bans.rate-limit-operation ban-of-another-end: GET /rate_limit tells of another end of a ban': stating(
    isBanned,
    within('ban', { until: 1 }),
  ),
  'bans.rate-limit-operation ban-without-reason: GET /rate_limit tells no reason of a ban': stating(
    isBanned,
    within('ban', { reason: null }),
  ),
  'bans.end ban-outlasts-retry-after: a ban goes on for a minute after its Retry-After': () => {
    let ends = 0;
    return banning((decision) => {
      if (decision.ban) ends = decision.reset;
      return decision.now >= ends && decision.now < ends + BAN_SECONDS
        ? banned(decision, ends + BAN_SECONDS)
        : decision;
    });
  },
};

/** Each of the headers missing on one kind of answer, and all of them on some. */
function missing(on: string, where: Where): [string, Fault][] {
  const rule = `limits.headers-on-${on}`;
  const [name, answer] = on === 'every' ? ['422', 'a 422'] : [on, `an answer to ${on}`];
  const one = [LIMIT, REMAINING, RESET].map((header): [string, Fault] => [
    `${rule} no-${header.split('-').at(-1)?.toLowerCase()}-on-${name}: ${header} is missing on ${answer}`,
    heading(where, header),
  ]);
  if (!BARE.has(on)) return one;
  const bare = answering(where, (answer, exchange) => {
    exchange.hasLimitHeaders = false;
    return answer;
  });
  return [...one, [`${rule} no-limits-on-${on}: a ${on} has no limit headers`, bare]];
}

/** Adds to a number of a decision, or of one of its windows. */
function plus<Name extends string>(member: Name, number: number) {
  return <T extends Readonly<Record<Name, number>>>(state: T): T => ({ ...state, [member]: state[member] + number });
}

function extended(decision: Decision): Decision {
  return decision.refusal ? { ...decision, reset: decision.now + MINUTE_SECONDS } : decision;
}

/** Changes the state reported to admitted requests of the free plan. */
function tellingFree(change: (decision: Decision) => Decision): Fault {
  return telling((decision) =>
    decision.refusal || decision.minute.limit !== FREE_LIMIT ? decision : change(decision),
  );
}

/** Changes the reported state of every window of a free key but its first. */
function laterWindow(change: (decision: Decision) => Decision): () => Fault {
  return () => {
    let windows = 0;
    return tellingFree((decision) => {
      if (decision.remaining === FREE_LIMIT - 1) windows += 1;
      return windows > 1 ? change(decision) : decision;
    });
  };
}

/** Gives keys of the free plan another limit per minute, and reports one. */
function ofPlan(minute: number, limit: number): Fault {
  return limiting((limiter) => {
    const changed = (key: ApiKey) => (key.plan === 'free' ? { ...key, limits: { ...key.limits, minute } } : key);
    return {
      charge: (key) => limiter.charge(changed(key)),
      peek: (key) => limiter.peek(changed(key)),
      current: (key, decision) => {
        const present = limiter.current(changed(key), decision);
        return present.minute.limit === minute && present.limit === minute ? { ...present, limit } : present;
      },
    };
  });
}

/** Changes decisions on keys of the free plan, and the state that any key reads. */
function banning(change: (decision: Decision) => Decision, look = change): Fault {
  return deciding((decision, key) => (key.plan === 'free' ? change(decision) : decision), look);
}

function banned(decision: Decision, until: number): Decision {
  return {
    ...decision,
    refusal: 'key_banned',
    remaining: 0,
    reset: until,
    ban: { until, reason: 'Too many refusals' },
  };
}

/** Rewrites `Retry-After` of a refusal. */
function waitingFor(change: (seconds: number) => string): Fault {
  return heading(REFUSED, 'Retry-After', (text) => change(Number(text)));
}

/** Changes the state reported to some keys. */
function stating(isMeant: (state: Members) => boolean, change: Change): Fault {
  return answering({ status: 200, method: 'GET', path: '/v1/rate_limit' }, (answer, exchange) =>
    isMeant(jsonIn(answer) as Members) ? change(answer, exchange) : answer,
  );
}

function isFree({ plan }: Members): boolean {
  return plan === 'free';
}

function isBanned({ ban }: Members): boolean {
  return ban !== null;
}

/** Sets members of an object within the state. */
function within(name: string, others: Members): Change {
  return json((state) => ({ ...state, [name]: { ...(state[name] as Members), ...others } }));
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
      else await Promise.race([new Promise<void>((resolve) => looking.set(key.id, resolve)), wait(OVERTAKEN_MS)]);
      looking.delete(key.id);
      const counted = await limiter.charge(key);
      return counted.refusal ? { ...seen, remaining: 0 } : counted;
    },
  };
}
