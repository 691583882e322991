import type { Decision } from '../../limits/limiter.ts';
import { type Defect, defect, type Fault, jsonIn } from './defect.ts';
import { changed, rewriting } from './errors.ts';
import { limiting, retryAfter, telling } from './limits.ts';

const FREE_LIMIT = 60;
const LIMIT_HEADERS = ['Limit', 'Remaining', 'Reset'];
/** The answers by which each of the headers is judged. */
const ON: Readonly<Record<string, (status: number, method: string, path: string) => boolean>> = {
  '200': (status, method, path) => status === 200 && method === 'GET' && path === '/v1/categories',
  '201': (status) => status === 201,
  '304': (status) => status === 304,
  '400': (status) => status === 400,
  '401': (status) => status === 401,
  '404': (status, _, path) => status === 404 && !path.startsWith('/v1/pets'),
  '405': (status) => status === 405,
  '413': (status) => status === 413,
  '415': (status) => status === 415,
  '429': (status) => status === 429,
  head: (_, method) => method === 'HEAD',
  options: (_, method) => method === 'OPTIONS',
  pets: (status, _, path) => status === 200 && path === '/v1/pets',
  every: (status) => status === 422,
};

/** Limit headers that are missing on one kind of answer, or that no count fits. */
export const HEADER_DEFECTS: readonly Defect[] = [
  ...Object.entries(ON).flatMap(([on, isOn]) =>
    LIMIT_HEADERS.map((header) =>
      defect(
        `limits.headers-on-${on}`,
        `no-${header.toLowerCase()}-on-${on === 'every' ? '422' : on}`,
        `X-RateLimit-${header} is missing on ${on === 'every' ? 'a 422' : `an answer to ${on}`}`,
        onWire((headers, status, method, path) => {
          if (isOn(status, method, path)) headers.delete(`X-RateLimit-${header}`);
        }),
      ),
    ),
  ),
  ...(['Limit', 'Remaining', 'Reset', 'RateLimit'] as const).map((header) =>
    defect(
      'limits.401-no-quota',
      `${header.toLowerCase()}-on-401`,
      `a 401 tells the ${header} of an address`,
      onWire((headers, status) => {
        if (status !== 401) return;
        if (header === 'RateLimit') headers.set('RateLimit', '"minute";r=59;t=42');
        else if (header === 'Reset')
          headers.set('X-RateLimit-Reset', `${Number(headers.get('X-RateLimit-Reset')) + 42}`);
        else headers.set(`X-RateLimit-${header}`, '59');
      }),
    ),
  ),
  set(
    'limits.every-operation',
    'free-400',
    'a 400 takes nothing of the quota',
    400,
    'X-RateLimit-Remaining',
    (value) => value + 1,
  ),
  pair('policy-in-words', 'RateLimit-Policy names no window', 'RateLimit-Policy', () => '60 a minute'),
  pair('rate-limit-in-words', 'RateLimit names no window', 'RateLimit', () => '59 left'),
  pair('rate-limit-remaining', 'RateLimit tells another r', 'RateLimit', (text) => text.replace(/r=\d+/, 'r=7')),
  pair('rate-limit-quota', 'RateLimit-Policy tells another q', 'RateLimit-Policy', (text) =>
    text.replace(/q=\d+/, 'q=7'),
  ),
  pair('rate-limit-time', 'RateLimit tells another t', 'RateLimit', (text) => text.replace(/t=\d+/, 't=7000')),
  set(
    'limits.reset-unix-time',
    'reset-over-on-429',
    'Reset is over on a refusal',
    429,
    'X-RateLimit-Reset',
    (value) => value - 60,
  ),
  set(
    'limits.reset-unix-time',
    'reset-over-on-400',
    'Reset is over on a 400',
    400,
    'X-RateLimit-Reset',
    (value) => value - 600,
  ),
  set(
    'limits.reset-unix-time',
    'reset-in-years',
    'Reset is ten years ahead on a 400',
    400,
    'X-RateLimit-Reset',
    (value) => value + 315_360_000,
  ),
  set('limits.refused-limit', 'no-limit-when-refused', 'Limit is 0 on a refusal', 429, 'X-RateLimit-Limit', () => 0),
  set(
    'limits.refused-window',
    'limit-of-the-day-when-refused',
    'Limit is that of the day on a refusal',
    429,
    'X-RateLimit-Limit',
    () => 1_000,
  ),
  defect('limits.429-over-limit', 'over-limit-is-403', 'a refusal by the limits is 403', {
    answer: (answer) =>
      answer.status === 429 ? { ...answer, status: 403, body: changed(answer, { status: 403 }) } : answer,
  }),
  defect(
    'limits.429-over-limit',
    'limits-not-enforced',
    'the limits are told, and nothing is refused',
    limited((decision) => {
      const { refusal: _, ...admitted } = decision;
      return decision.refusal ? { ...admitted, remaining: 0 } : decision;
    }),
  ),
  defect(
    'limits.429-over-limit',
    'limit-understated',
    'a key may do 90 requests, and is told of a limit of 60',
    ofPlan(90, 60),
  ),
  defect(
    'limits.429-over-limit',
    'limit-overstated',
    'a key may do 50 requests, and is told of a limit of 60',
    ofPlan(50, 60),
  ),
  defect('limits.plan', 'limit-of-no-plan', 'the free plan has a limit of 50', ofPlan(50, 50)),
  defect('limits.free-plan', 'free-plan-of-50', 'the free plan has 50 requests a minute', ofPlan(50, 50)),
  defect(
    'limits.remaining-true',
    'remaining-one-too-few',
    'Remaining is one too few',
    told(({ remaining, ...rest }) => ({ ...rest, remaining: remaining - 1 })),
  ),
  defect(
    'limits.remaining-falls-by-one',
    'limit-changes',
    'Limit is another while 30 requests remain',
    told((decision) => (decision.remaining === 30 ? { ...decision, limit: 61 } : decision)),
  ),
  defect(
    'limits.remaining-falls-by-one',
    'reset-drifts',
    'Reset is another while 30 requests remain',
    told((decision) => (decision.remaining === 30 ? { ...decision, reset: decision.reset + 1 } : decision)),
  ),
  defect(
    'limits.window-60s',
    'window-of-90s',
    'Reset of a minute is 90 s ahead',
    told((decision) => ({ ...decision, reset: decision.reset + 30 })),
  ),
  defect('limits.per-key', 'limits-shared', 'a key over its limit has all others refused', () => {
    let until = 0;
    let refused: Decision | undefined;
    return limited((decision) => {
      if (decision.refusal) [until, refused] = [decision.reset, decision];
      return refused && decision.now < until ? refused : decision;
    });
  }),
  defect('limits.retry-after-is-a-wait', 'retry-after-with-a-fraction', 'Retry-After has a fraction', () =>
    retryAfter((seconds) => `${seconds}.5`),
  ),
  defect(
    'limits.429-error',
    'refusal-of-another-code',
    'the code of a refusal is too_many_requests',
    rewriting('rate_limit_exceeded', (answer) => ({ ...answer, body: changed(answer, { code: 'too_many_requests' }) })),
  ),
  defect(
    'limits.429-error',
    'refusal-says-400',
    'the status in the body of a refusal is 400',
    rewriting('rate_limit_exceeded', (answer) => ({ ...answer, body: changed(answer, { status: 400 }) })),
  ),
  defect(
    'limits.rate-limit-operation',
    'rate-limit-is-404',
    'GET /rate_limit is 404 for a key of the free plan',
    state((body) => ({ ...body, status: 404 }), 404),
  ),
  defect(
    'limits.rate-limit-operation',
    'state-without-plan',
    'GET /rate_limit names no plan',
    state(({ plan: _, ...rest }) => rest),
  ),
  defect(
    'limits.rate-limit-operation',
    'state-of-another-minute',
    'GET /rate_limit tells of 1 request more',
    state((body) => ({ ...body, minute: { ...(body.minute as object), remaining: 1 } })),
  ),
  defect(
    'limits.rate-limit-operation',
    'state-with-a-ban',
    'GET /rate_limit tells of a ban that is none',
    state((body) => (body.ban ? body : { ...body, ban: { until: 0, reason: '' } })),
  ),
  defect(
    'limits.rate-limit-operation',
    'refusals-count-in-the-day',
    'a refusal counts in the day',
    state((body) => ({ ...body, day: { ...(body.day as object), remaining: 900 } })),
  ),
  waiting(
    defect(
      'limits.retry-after-suffices',
      'window-outlasts-retry-after',
      'a key is refused for two seconds after its Retry-After',
      () => {
        let until = 0;
        return limited((decision) => {
          if (decision.refusal && until === 0) until = decision.reset + 2;
          return decision.now < until && !decision.refusal && until - decision.now <= 2
            ? { ...decision, refusal: 'rate_limit_exceeded', remaining: 0, reset: until }
            : decision;
        });
      },
    ),
  ),
  waiting(
    defect('limits.window-opens-again', 'window-opens-in-part', 'a new window tells of 10 requests fewer', () => {
      let windows = 0;
      return told((decision) => {
        if (decision.remaining === FREE_LIMIT - 1) windows += 1;
        return windows > 1 ? { ...decision, remaining: Math.max(0, decision.remaining - 10) } : decision;
      });
    }),
  ),
  waiting(
    defect('limits.window-opens-again', 'window-opens-for-less', 'a new window ends half a minute early', () => {
      let windows = 0;
      return told((decision) => {
        if (decision.remaining === FREE_LIMIT - 1) windows += 1;
        return windows > 1 ? { ...decision, reset: decision.reset - 30 } : decision;
      });
    }),
  ),
];

/** Marks a defect whose rule is judged with `--full` only. */
export function waiting(made: Defect): Defect {
  return { ...made, waits: true };
}

/** Changes headers as they are sent. */
function onWire(change: (headers: Map<string, string>, status: number, method: string, path: string) => void): Fault {
  return { head: (headers, { request, path }, status) => change(headers, status, request.method ?? '', path) };
}

/** Sets a number in a header of one kind of answer. */
function set(
  rule: string,
  name: string,
  description: string,
  on: number,
  header: string,
  change: (value: number) => number,
): Defect {
  return defect(
    rule,
    name,
    description,
    onWire((headers, status) => {
      if (status === on) headers.set(header, `${change(Number(headers.get(header)))}`);
    }),
  );
}

/** Changes the headers of the IETF on a 404. */
function pair(name: string, description: string, header: string, change: (text: string) => string): Defect {
  return defect(
    'limits.ietf-pair',
    name,
    description,
    onWire((headers, status) => {
      if (status === 404) headers.set(header, change(headers.get(header) ?? ''));
    }),
  );
}

/** Changes what the admitted requests of the free plan are told. */
function told(change: (decision: Decision) => Decision): Fault {
  return telling((decision) =>
    decision.refusal || decision.minute.limit !== FREE_LIMIT ? decision : change(decision),
  );
}

/** Changes the decisions themselves. */
function limited(change: (decision: Decision) => Decision): Fault {
  return limiting((limiter) => ({
    charge: (key) => {
      const decision = limiter.charge(key);
      return decision instanceof Promise ? decision.then(change) : change(decision);
    },
    current: (_, decision) => decision,
  }));
}

/** Gives keys of the free plan another limit per minute, and tells of one. */
function ofPlan(minute: number, limit: number): Fault {
  return {
    ...limiting((limiter) => ({
      charge: (key) => limiter.charge(key.plan === 'free' ? { ...key, limits: { ...key.limits, minute } } : key),
      peek: (key) => limiter.peek(key.plan === 'free' ? { ...key, limits: { ...key.limits, minute } } : key),
      current: (key, decision) => {
        const present = limiter.current(
          key.plan === 'free' ? { ...key, limits: { ...key.limits, minute } } : key,
          decision,
        );
        return present.minute.limit === minute && present.limit === minute ? { ...present, limit } : present;
      },
    })),
  };
}

/** Changes the state that a spent key of the free plan is told. */
function state(change: (body: Readonly<Record<string, unknown>>) => object, status = 200): Fault {
  return {
    answer: (answer, { path, request }) => {
      if (path !== '/v1/rate_limit' || request.method !== 'GET' || answer.status !== 200) return answer;
      const body = jsonIn(answer) as Readonly<Record<string, unknown>>;
      return body.plan === 'free' ? { ...answer, status, body: JSON.stringify(change(body)) } : answer;
    },
  };
}
