import { ask, head, isLimited, type Lying, members, REFUSED, refuse, say, store, take } from './lie.ts';
import { bucket, clockWindow, type Decision, type Limiter, slidingLog } from './limiter.ts';
import type { Category, Way } from './server.ts';

/** A key that goes on after a refusal is banned for five minutes. */
const banning: Limiter = (key, counters, now, cost) => {
  const until = counters.bans.at(-1) ?? 0;
  const told = slidingLog(key, counters, now, cost);
  const banned = (): Decision => ({ ...told, code: 'key_banned', remaining: 0, reset: counters.bans.at(-1) ?? 0 });
  if (now < until) return banned();
  if (told.code && cost === 1) counters.refusals.count += 1;
  if (counters.refusals.count <= 12) return told;
  counters.refusals.count = 0;
  counters.bans.push(Math.floor(now) + 300);
  return banned();
};

const headers = (more: Record<string, string>) => say({}, (answer) => Object.assign(answer.headers, more));
const created = (change: (category: Category) => object) => store(change);
const list = (change: (all: readonly Category[]) => readonly unknown[]) =>
  say({ status: 200, method: 'GET', path: '/categories' }, (answer) => {
    answer.body = change(answer.body as readonly Category[]);
  });
const spelled = (spell: (value: unknown) => string) =>
  say({ when: (_, { body }) => body !== undefined }, (answer) => {
    answer.body = Buffer.from(spell(answer.body));
  });
const OWN_ANSWERS = ['etag', 'location', 'ratelimit', 'ratelimit-policy', 'www-authenticate', 'x-request-id', 'allow'];

/** Servers that keep the published interface, each in a way of its own. */
export const HONEST: Readonly<Record<string, Lying>> = {
  'our level': {},
  'nothing beyond the text': {
    ...ask('if-none-match', () => undefined),
    ...say({}, ({ headers: all }) => {
      for (const name of OWN_ANSWERS) delete all[name];
    }),
  },
  'a token bucket': { limiter: bucket() },
  'a token bucket that tells the next token': { limiter: bucket(undefined, (now) => Math.ceil(now) + 1) },
  'a token bucket that tells a minute from now': {
    limiter: bucket(undefined, (now) => Math.floor(now) + 60),
    ...head(REFUSED, 'retry-after', () => 1),
  },
  'a bucket with a burst below the rate': { limiter: bucket(15) },
  'a sliding window': { limiter: slidingLog },
  'minutes of the wall clock': { limiter: clockWindow() },
  'days only': { limiter: clockWindow(86_400) },
  'bans after a dozen refusals': { limiter: banning },
  'a limit of 7': { limit: 7 },
  gzip: { coding: 'gzip' },
  'HTTP/1.0': { isOld: true },
  'one connection for each request': headers({ connection: 'close' }),
  'one connection at a time, kept alive': { isSerial: true },
  'ids above 2^53': created((each) => ({ ...each, id: 9_007_199_254_740_993n + BigInt(each.id as number) })),
  'ids that fall': created((each) => ({ ...each, id: 1_000_000 - (each.id as number) })),
  'random ids': created((each) => ({ ...each, id: ((each.id as number) * 7_919_993) % 2_147_483_647 })),
  'pretty JSON': spelled((body) => `\n${JSON.stringify(body, null, 2)}\n`),
  'letters as escapes': spelled((body) =>
    JSON.stringify(body).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ),
  'newest first': list((all) => all.toReversed()),
  'a charset': head({}, 'content-type', (type) => type && `${type}; charset=utf-8`),
  'further members': created((each) => ({ ...each, createdAt: '2026-01-01', slug: 'a' })),
  'a fourth member in errors': members({ when: (_, { status }) => status >= 400 }, { timestamp: 1, path: '/v1' }),
  'no further members in a body': refuse((body) => 'id' in body || 'extra' in body),
  'ASCII names only': refuse(({ name }) => /[^ -~]/.test(`${name}`)),
  'names without markup': refuse(({ name }) => /[<&]/.test(`${name}`)),
  'no empty descriptions': refuse(({ description }) => description === ''),
  'names that are unique': {
    takes: (body, { state }) => {
      const { name } = (body ?? {}) as Partial<Category>;
      return state.categories.some((each) => each.name === name) ? undefined : body;
    },
  },
  'null is no description': take(({ description, ...rest }) =>
    description === null ? rest : { ...rest, description },
  ),
  'dates in Retry-After': head(REFUSED, 'retry-after', (wait, { now }) =>
    new Date((Math.floor(now) + Number(wait)) * 1000).toUTCString(),
  ),
  'Retry-After rounded up by two': head(REFUSED, 'retry-after', (wait) => Number(wait) + 2),
  'a 429 in plain text': say(REFUSED, (answer) => {
    answer.body = Buffer.from('Too many');
    answer.headers['content-type'] = 'text/plain';
  }),
  'no Date': { hasNoDate: true },
  'weak ETags': {
    ...ask('if-none-match', (tag) => tag.replace('W/', '')),
    ...head({}, 'etag', (tag) => tag && `W/${tag}`),
  },
  'categories of its own': list((all) => [{ id: 77_777, name: 'Dog', description: '' }, ...all]),
  'a list a second late': () => {
    let [shown, until] = [0, 0];
    return say({ status: 200, method: 'GET', path: '/categories' }, (answer, { now }) => {
      const all = answer.body as readonly Category[];
      if (shown === all.length) return;
      if (until === 0) until = now + 1;
      if (now < until) {
        answer.body = all.slice(0, shown);
        return;
      }
      [shown, until] = [all.length, 0];
    });
  },
  'drops large bodies': {
    instead({ text, response }) {
      if (text.length > 100_000) response.socket?.destroy();
      return text.length > 100_000;
    },
  },
  '403 for what is not there': say({ when: (_, { status }) => status === 404 || status === 405 }, (answer) => {
    Object.assign(answer, { status: 403, body: { code: 'x', message: 'y', status: 403 } });
  }),
  '50 ms, and a bucket': { latencySeconds: 0.05, limiter: bucket() },
  '90 ms, and a bucket that gives 180 a minute': { latencySeconds: 0.09, limit: 180, limiter: bucket() },
  '100 ms, and a bucket without Date': { latencySeconds: 0.1, limiter: bucket(), hasNoDate: true },
  '250 ms, and a bucket': { latencySeconds: 0.25, limiter: bucket() },
  '2 s for each answer': { latencySeconds: 2 },
  '5 s for each answer': { latencySeconds: 5 },
  'one in twenty is 503': { failsEvery: 20 },
  'one in ten is 503': { failsEvery: 10 },
  'one in nine is counted, then 503': say(
    { status: 200, when: (asked) => isLimited(asked) && asked.state.requests % 9 === 0 },
    (answer) => {
      answer.status = 503;
    },
  ),
  'its own headers, cookies and hints': headers({ 'set-cookie': 'a=b', via: '1.1 gateway', server: 'x' }),
};

/** Servers that fail one in twenty requests by chance: with 503, or by ending the connection. */
export const FLAKY: readonly Way[] = Array.from({ length: 5 }, (_, index) => ({ seed: (index + 1) * 7_919 }));
