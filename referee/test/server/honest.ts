import { bucket, LIMITED_KEY, type Limiter, type Make, slidingLog } from './stranger.ts';

/** Minutes of the wall clock. */
const wallMinute: Limiter = (key, limit, now, { counters }) => {
  const ends = Math.floor(now / 60) * 60 + 60;
  const [before = 0, count = 0] = counters.get(key) ?? [];
  const used = before === ends ? count : 0;
  if (used >= limit) return { limit, remaining: 0, reset: ends, wait: Math.max(1, ends - Math.floor(now)) };
  counters.set(key, [ends, used + 1]);
  return { limit, remaining: limit - used - 1, reset: ends };
};

/** The bucket's moments as others tell them: when the next token comes, or a minute from now. */
const bucketTelling =
  (reset: (now: number) => number): Limiter =>
  (key, limit, now, state) => ({ ...bucket(key, limit, now, state), reset: reset(now) });

/** A burst smaller than the rate. */
const smallBurst: Limiter = (key, limit, now, state) => {
  const told = bucket(key, limit / 4, now, state);
  return told;
};

/** The day's numbers on a server that counts days only. */
const dayWindow: Limiter = (key, limit, now, { counters }) => {
  const ends = Math.floor(now / 86_400) * 86_400 + 86_400;
  const [used = 0] = counters.get(key) ?? [];
  if (used >= limit) return { limit, remaining: 0, reset: ends, wait: ends - Math.floor(now) };
  counters.set(key, [used + 1]);
  return { limit, remaining: limit - used - 1, reset: ends };
};

/** A key that goes on after a refusal is banned for five minutes. */
const banning: Limiter = (key, limit, now, state) => {
  const { memory } = state;
  const until = memory[`ban ${key}`] ?? 0;
  if (now < until) return { limit, remaining: 0, reset: until, wait: until - Math.floor(now) };
  const told = slidingLog(key, limit, now, state);
  if (told.wait !== undefined) {
    memory[key] = (memory[key] ?? 0) + 1;
    if (memory[key] > 12) memory[`ban ${key}`] = Math.floor(now) + 300;
  }
  return told;
};

const headers = (more: Record<string, string>): Make => ({
  changes: (made) => Object.assign(made.headers, more),
});

/** Servers that keep the published interface, each in a way of its own. */
export const HONEST: Readonly<Record<string, Make>> = {
  plain: {},
  'token bucket': { limiter: bucket },
  'token bucket that tells the next token': { limiter: bucketTelling((now) => Math.ceil(now) + 1) },
  'token bucket that tells a minute from now': { limiter: bucketTelling((now) => Math.floor(now) + 60) },
  'bucket with a burst below the rate': { limiter: smallBurst },
  'sliding window': { limiter: slidingLog },
  'minutes of the wall clock': { limiter: wallMinute },
  'days only': { limiter: dayWindow },
  'bans after a dozen refusals': { limiter: banning },
  'a limit of 100': { limit: 100 },
  'a limit of 7': { limit: 7 },
  gzip: { coding: 'gzip' },
  brotli: { coding: 'br' },
  deflate: { coding: 'deflate' },
  'HTTP/1.0': { isOld: true },
  'one connection per request': headers({ connection: 'close' }),
  'one connection at a time, kept alive': { isSerial: true },
  'ids above 2^53': {
    store: (category) => ({ ...category, id: 9_007_199_254_740_993n + BigInt(category.id as number) }),
  },
  'ids that fall': { store: (category) => ({ ...category, id: 1_000_000 - (category.id as number) }) },
  'ids below zero': { store: (category) => ({ ...category, id: -(category.id as number) }) },
  'random ids': { store: (category) => ({ ...category, id: ((category.id as number) * 7_919_993) % 2_147_483_647 }) },
  'pretty JSON': {
    changes: (made) => {
      if (made.body !== undefined) made.body = `\n${JSON.stringify(made.body, null, 2)}\n`;
    },
  },
  'newest first': { listed: (categories) => categories.toReversed() },
  'a charset': headers({ 'content-type': 'application/json; charset=utf-8' }),
  'letters as escapes': {
    changes: (made) => {
      const text = JSON.stringify(made.body);
      made.body = text?.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    },
  },
  'further members': {
    store: (category) => ({ ...category, createdAt: '2026-01-01', slug: 'a' }) as typeof category,
  },
  'a fourth member in errors': {
    changes: (made) => {
      if (made.status >= 400) made.body = { ...(made.body as object), timestamp: 1, path: '/v1' };
    },
  },
  'refuses further members': { validates: (body) => (/"(id|extra)":/.test(body) ? false : undefined) },
  'ASCII names only': { validates: (body) => (/[^ -~]/.test(body) ? false : undefined) },
  'null is no description': { validates: (body) => (/"description":null/.test(body) ? true : undefined) },
  'dates in Retry-After': {
    changes: (made, { now }) => {
      const wait = made.headers['retry-after'];
      if (wait !== undefined)
        made.headers['retry-after'] = new Date((Math.floor(now) + Number(wait)) * 1000).toUTCString();
    },
  },
  'a 429 in plain text': {
    changes: (made) => {
      if (made.status === 429)
        Object.assign(made, { body: 'Too many', headers: { ...made.headers, 'content-type': 'text/plain' } });
    },
  },
  'no Date': { withoutDate: true },
  ETags: {
    changes: (made, { request, method, state }) => {
      if (made.status !== 200 || method !== 'GET') return;
      made.headers.etag = `W/"${state.lastId}"`;
      if (request.headers['if-none-match'] === made.headers.etag) Object.assign(made, { status: 304, body: undefined });
    },
  },
  'an empty list of its own': {
    listed: (categories) => [{ id: 77_777, name: 'Dog', description: '' }, ...categories],
  },
  'a list a second late': {
    listed: (categories, { state, now }) => {
      const { memory } = state;
      const shown = memory.shown ?? 0;
      if (shown === categories.length) return categories;
      memory.until ??= now + 1;
      if (now < memory.until) return categories.slice(0, shown);
      delete memory.until;
      memory.shown = categories.length;
      return categories;
    },
  },
  'drops large bodies': {
    instead: ({ body }, response) => {
      if (body.length < 100_000) return false;
      response.socket?.destroy();
      return true;
    },
  },
  '401 for an unknown path': {
    changes: (made) => {
      if (made.status === 404 || made.status === 405)
        Object.assign(made, { status: 403, body: { code: 'x', message: 'y', status: 403 } });
    },
  },
  '90 ms, and a bucket that gives 180 a minute': { latencySeconds: 0.09, limit: 180, limiter: bucket },
  '50 ms for each answer': { latencySeconds: 0.05 },
  '50 ms, and a bucket': { latencySeconds: 0.05, limiter: bucket },
  '100 ms, and a bucket without Date': { latencySeconds: 0.1, limiter: bucket, withoutDate: true },
  '250 ms for each answer': { latencySeconds: 0.25 },
  '2 s for each answer': { latencySeconds: 2 },
  '5 s for each answer': { latencySeconds: 5 },
  '250 ms, and a bucket': { latencySeconds: 0.25, limiter: bucket },
  'one in twenty is 503': { failsEvery: 20 },
  'one in eleven is 503, with a bucket': { failsEvery: 11, limiter: bucket },
  'one in nine is counted, then 503': {
    changes: (made, { key, state }) => {
      if (key === LIMITED_KEY && made.status === 200 && state.requests % 9 === 0) made.status = 503;
    },
  },
  'its own headers, cookies and hints': headers({
    'set-cookie': 'a=b',
    via: '1.1 gateway',
    server: 'x',
    'cache-control': 'no-cache',
  }),
};
