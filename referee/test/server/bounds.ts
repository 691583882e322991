import { type Asked, type Category, fixedWindow, MAIN_KEY, type Made, type Make } from './stranger.ts';
import { changing, header } from './wrong.ts';

/** A refusal in the words of our interface, with other members. */
export const refusing = (more: object) =>
  changing((made) => {
    if (made.status === 429) made.body = { code: 'rate_limit_exceeded', message: 'No', status: 429, ...more };
  });
/** Bans after so many refusals in a row, those of the first two seconds aside. */
export const banningAfter = (refusals: number) =>
  changing((made, { key, now, state: { memory } }) => {
    if (key === MAIN_KEY) return;
    if (made.status !== 429) [memory.since, memory.refused] = [now, 0];
    else if (now >= (memory.since ?? 0) + 2) {
      memory.refused = (memory.refused ?? 0) + 1;
      if (memory.refused > refusals) made.body = { code: 'key_banned', message: 'No', status: 429 };
    }
  });
/** GET /rate_limit, free of charge, whose day counts so many more than were admitted. */
export const counting = (more: number): Make => ({
  limiter(key, limit, now, state) {
    state.memory[key] = state.counters.get(key)?.[1] ?? 0;
    return fixedWindow(key, limit, now, state);
  },
  changes(made, { path, key, state }) {
    if (path !== '/rate_limit') return;
    const [ends = 0] = state.counters.get(key) ?? [];
    const used = state.memory[key] ?? 0;
    state.counters.set(key, [ends, used]);
    made.status = 200;
    made.headers['x-ratelimit-remaining'] = (key === MAIN_KEY ? 1_000 : 60) - used;
    made.body = {
      plan: 'free',
      minute: { remaining: 60 - used },
      day: { limit: 99, remaining: 99 - used - more },
      ban: null,
    };
  },
});
export const began = ({ now }: { now: number }, { memory }: { memory: Record<string, number> }) => {
  memory.began ??= Math.floor(now);
  return memory.began;
};

/** The headers of the IETF draft, with another policy for the minute. */
export const drafted = (policy: string) =>
  changing(({ headers, status }, { now }) => {
    if (status >= 500) return;
    const { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': left, 'x-ratelimit-reset': reset } = headers;
    headers['ratelimit-policy'] = `"minute";q=${limit};${policy}, "day";q=9999;w=86400`;
    headers.ratelimit = `"minute";r=${left};t=${Number(reset) - Math.floor(now)}, "day";r=9998;t=9`;
  });
/** Keeps the id of a request, and gives another one to what has none that may be kept. */
export const naming = (other: string) =>
  changing(({ headers }, { request }) => {
    const { 'x-request-id': id } = request.headers;
    headers['x-request-id'] = / /.test(`${id}`) ? other : `${id}`;
  });

/** The codes of our interface, but for these. */
export const coding = (others: Readonly<Record<number, string>>) =>
  changing((made, { request }) => {
    const codes: Record<number, string> = {
      400: 'validation_failed',
      401: request.headers.authorization ? 'invalid_api_key' : 'missing_api_key',
      404: 'not_found',
      405: 'method_not_allowed',
      413: 'payload_too_large',
      415: 'unsupported_media_type',
      ...others,
    };
    if (request.headers['content-type'] === 'text/plain') made.status = 415;
    const code = codes[made.status];
    if (code) made.body = { code, message: 'No', status: made.status };
  });
/** Refuses names in creates; a pattern is of the body as it was sent. */
export const refusingNames = (...patterns: RegExp[]): Make => ({
  validates: (body) => (patterns.some((pattern) => pattern.test(body)) ? false : undefined),
});
export const EMPTY = /"name":""/;
export const [WHITE, NUL, LINE_FEED, LONG] = [/"name":" \u3000"/, /\\u0000/, /\\n/, /"name":"[^"]{256}"/];
/** Lists these besides what was created. */
export const listingAlso = (...ids: number[]): Make => ({
  listed: (categories) => [...ids.map((id) => ({ id, name: 'old' })), ...categories],
});
/** A pet that is announced to end at a moment, by a release of July 2025. */
export const ending = (sunset: number) =>
  changing(({ headers }, { path }) => {
    if (path !== '/pets/1') return;
    headers.deprecation = '@1752000000';
    headers.sunset = new Date(sunset * 1_000).toUTCString();
    headers.link = '</v1/pets?ids=1>; rel="successor-version"';
  });
/** A category by its id, and its create, with this validator. */
export const validated = (etag: string) =>
  changing((made, { path }) => {
    if (/^\/categories\/\d+$/.test(path)) made.status = 200;
    made.headers.etag = etag;
  });
export const cached = (of404: string) =>
  changing(({ headers, status }) => {
    headers['cache-control'] = status === 404 ? of404 : 'no-store';
    headers['x-content-type-options'] = 'nosniff';
  });
/** Changes answers to a path. */
const at = (path: string, change: (made: Made, asked: Asked) => void) =>
  changing((made, asked) => {
    if (asked.path === path) change(made, asked);
  });
/** Answers to a path with this status, and no headers of limits. */
export const bare = (path: string, status: number) => at(path, (made) => Object.assign(made, { status, headers: {} }));
/** Changes the members of refusals that are in the words of our interface. */
export const refusal = (code: string, name: string, value: (before: number) => number) =>
  changing((made) => {
    if (made.status !== 429) return;
    made.body = { code, message: 'No', status: 429 };
    made.headers[name] = value(Number(made.headers[name]));
  });
export const onAll = (name: string, value: (before: number, asked: Asked) => string | number | undefined) =>
  header([200, 201, 400, 401, 404], name, value);
/** Lists what was created so many seconds late. */
export const late = (seconds: number): Make => ({
  listed: (categories, { now, state: { memory } }) => {
    if (categories.length > 7) memory.since ??= now;
    return now < (memory.since ?? now) + seconds ? categories.slice(0, 5) : categories;
  },
});
/** Answers from the so manieth request with an unknown key on with 403. */
export const wearyAfter = (count: number) =>
  changing((made, { key, state: { memory } }) => {
    if (!key.startsWith('unknown')) return;
    memory.unknown = (memory.unknown ?? 0) + 1;
    if (memory.unknown > count) made.status = 403;
  });
export const challenging = (missing: string, unknown: string) =>
  header([401], 'www-authenticate', (_, { request }) => (request.headers.authorization ? unknown : missing));
export const PLAIN = 'Bearer realm="a"';
export const NAMED = `${PLAIN}, error="invalid_token"`;
/** A `Location` of each create, at which the category is. */
export const located = (location: (id: unknown, host: string) => string) =>
  changing((made, { path, state, request: { headers } }) => {
    const id = Number(/^\/categories\/(\d+)$/.exec(path)?.[1]);
    if (id) Object.assign(made, { status: 200, body: state.categories.find((each) => each.id === id) });
    if (made.status === 201) made.headers.location = location((made.body as Category).id, `${headers.host}`);
  });
/** Three categories in pages of one, each with a link to the next. */
export const paging = (link: (target: string) => string): Make => ({
  listed: (_, { path }) => {
    const after = Number(/after=(\d)/.exec(path)?.[1] ?? 0);
    const all = [1, 2, 3].map((id) => ({ id, name: 'old' }));
    return path.includes('limit=') ? all.slice(after, after + 1) : all;
  },
  changes: (made, { path }) => {
    if (path.includes('limit=0')) Object.assign(made, { status: 400 });
    const after = Number(/after=(\d)/.exec(path)?.[1] ?? 0) + 1;
    if (path.includes('limit=1') && after < 3) made.headers.link = link(`/v1/categories?limit=1&after=${after}`);
  },
});
export const storing = (change: (category: Category) => object): Make => ({
  store: (category) => ({ ...category, ...change(category) }),
});
/** The IETF headers of a 404 with another part. */
export const pair = (name: string, part: RegExp, other: (before: string) => string) =>
  changing((made, asked) => {
    drafted('w=60').changes?.(made, asked);
    if (made.status === 404) made.headers[name] = `${made.headers[name]}`.replace(part, other);
  });
export const allowing = (status: number, allow?: string) =>
  changing((made, { method }) => {
    if (!/^(GET|POST|HEAD)$/.test(method)) Object.assign(made, { status });
    if (made.status === status) made.headers.allow = allow;
  });
