import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  allowing,
  banningAfter,
  bare,
  began,
  cached,
  challenging,
  coding,
  counting,
  drafted,
  EMPTY,
  ending,
  LINE_FEED,
  LONG,
  late,
  listingAlso,
  located,
  NAMED,
  NUL,
  naming,
  onAll,
  PLAIN,
  paging,
  pair,
  refusal,
  refusing,
  refusingNames,
  storing,
  validated,
  WHITE,
  wearyAfter,
} from './bounds.ts';
import { bucket, judgeMake, MAIN_KEY, type Make } from './stranger.ts';
import { admitting, changing, generous, header, telling } from './wrong.ts';

type Bound = readonly [rule: string, seen: string, kept: Make, broken: Make, isFull?: true];

/** Rules with a bound: a make that keeps to it, and one that is just beyond, with the words that say so. */
const BOUNDS: readonly Bound[] = [
  ['limits.429-over-limit', 'only 59 requests of a fresh key were admitted; Limit is 60', {}, admitting(-1)],
  // Without a Date the time of a bucket that refills is that of its answers.
  [
    'limits.last-token',
    '13 of 16 requests at once were admitted, with 1 left',
    { limiter: bucket, withoutDate: true, latencySeconds: 0.1 },
    { ...generous(6), withoutDate: true, latencySeconds: 0.1 },
  ],
  [
    'limits.429-over-limit',
    '75 requests were admitted; Limit is 60',
    { limiter: bucket, withoutDate: true, latencySeconds: 0.1 },
    { ...generous(8), withoutDate: true, latencySeconds: 0.1 },
  ],
  [
    'limits.window-60s',
    'Reset is 62 s after Date',
    telling(({ reset }) => ({ reset: reset + 1 })),
    telling(({ reset }) => ({ reset: reset + 2 })),
  ],
  [
    'limits.window-60s',
    'Reset is 58 s after Date',
    telling(({ reset }) => ({ reset: reset - 1 })),
    telling(({ reset }) => ({ reset: reset - 2 })),
  ],
  // The window may have opened when the request was sent.
  [
    'limits.window-60s',
    'Reset is 57 s after Date',
    { ...telling(({ reset }) => ({ reset: reset - 2 })), latencySeconds: 1 },
    { ...telling(({ reset }) => ({ reset: reset - 3 })), latencySeconds: 1 },
    true,
  ],
  [
    'limits.retry-after-reaches-reset',
    'the sum is off by 1, 1, 1 s',
    {},
    header([429], 'retry-after', (wait) => wait + 1),
  ],
  [
    'limits.refusals-extend-nothing',
    'Reset moved by -1 s',
    {},
    changing((made, asked) => {
      if (made.status === 429)
        made.headers['x-ratelimit-reset'] =
          (began(asked, asked.state) + 90 - (asked.now - began(asked, asked.state))) | 0;
    }),
  ],
  ['limits.429-error', 'the body of a refusal is no Error', refusing({}), refusing({ message: 1 })],
  ['limits.429-error', 'the body of a refusal is no Error', refusing({}), refusing({ status: 400 })],
  ['limits.rate-limit-operation', '60 requests were admitted, and the day counts 61', counting(0), counting(1)],
  ['limits.every-operation', 'getRateLimit took 1 of the quota', counting(0), {}],
  [
    'limits.window-opens-again',
    'Reset is 59 s later',
    {},
    changing((made, asked) => {
      if (asked.now >= began(asked, asked.state) + 60)
        made.headers['x-ratelimit-reset'] = Number(made.headers['x-ratelimit-reset']) - 1;
    }),
    true,
  ],
  ['limits.ietf-pair', 'the RateLimit-Policy is another', drafted('w=60'), drafted('w=61')],
  ['http.request-id', 'the id is ', naming('x'), naming('')],
  ['http.etag-of-one', 'the create has no strong ETag', validated('"1"'), validated('W/"1"')],
  ['http.cache-control', 'Cache-Control is not no-store', cached('no-store'), cached('no-cache')],
  ['deprecation.headers', 'Sunset is not after Deprecation', ending(1_752_000_001), ending(1_751_999_999)],
  [
    'list.200-array',
    'something follows the array',
    {},
    changing((made, { method }) => method === 'GET' && Object.assign(made, { body: '[] x' })),
  ],
  [
    'errors.shape',
    'the body is HTML or XML, not JSON',
    {},
    changing((made, { body }) => body === '{"name":' && Object.assign(made, { body: '<html>' })),
  ],
  [
    'errors.shape',
    'the body is HTML or XML, not JSON',
    {},
    changing((made, { body }) => body === '{"name":null}' && Object.assign(made, { body: '<html>' })),
  ],
  ['auth.bearer-only', 'the status is 200, not 401', {}, { knows: (sent) => sent?.startsWith('Basic ') || undefined }],
  ['auth.bearer-only', 'the status is 200, not 401', {}, { knows: (sent) => sent === MAIN_KEY || undefined }],
  [
    'auth.401-invalid',
    'the status is 200, not 401',
    {},
    { knows: (sent) => sent === `Bearer ${MAIN_KEY.slice(0, -1)}` || undefined },
  ],
  [
    'auth.401-alike',
    'the two differ',
    {},
    header([401], 'www-authenticate', (_, { key }) => `Bearer realm="${key.length > 9}"`),
  ],
  // Headers that differ between any two answers.
  [
    'auth.401-alike',
    'the two differ',
    changing(({ headers }, { key, now }) => {
      headers.date = new Date((now + key.length) * 1_000).toUTCString();
      headers['keep-alive'] = `timeout=${key.length}`;
    }),
    header([401], 'keep-a-live', (_, { key }) => `timeout=${key.length}`),
  ],
  ['create.400-empty-name', 'the status is 201, not 400', refusingNames(EMPTY, WHITE), refusingNames(EMPTY)],
  ['create.400-long-name', 'the status is 201, not 400', refusingNames(LONG), refusingNames(/"name":"[^"]{257}"/)],
  ['create.400-control-characters', 'the status is 201, not 400', refusingNames(NUL, LINE_FEED), refusingNames(NUL)],
  ['create.400-bad-json', 'the status is 201, not 400', {}, { validates: (body) => body === '' || undefined }],
  [
    'create.400-invalid-values',
    'the status is 201, not 400',
    {},
    { validates: (body) => body === '{"name":true}' || undefined },
  ],
  [
    'create.id-integer',
    'the id of a create is no integer of 64 bits',
    { store: (made) => ({ ...made, id: 2n ** 62n }) },
    { store: (made) => ({ ...made, id: 2n ** 64n }) },
  ],
  [
    'create.ids-unique',
    'an id is twice in the list: {"id":"900","name":"old"}',
    listingAlso(900, 901),
    listingAlso(900, 901, 900),
  ],
  ['list.ascending', 'the ids are not ascending: {"id":"0","name":"old"}', listingAlso(0, 0), listingAlso(1, 0)],
  [
    'create.ids-unique',
    'the id 900 was given twice',
    listingAlso(900),
    { ...listingAlso(900), store: (made) => (made.id === 3 ? { ...made, id: 900 } : made) },
  ],
  ['bans.repeated-refusals', '59 refusals led to a ban', banningAfter(60), banningAfter(59), true],
  ['bans.repeated-refusals', '64 refusals led to no ban', banningAfter(60), banningAfter(64), true],
  // A slow server is asked 16 times at once, and any of these may be the one that was banned.
  [
    'bans.repeated-refusals',
    '32 refusals led to a ban',
    { ...banningAfter(60), latencySeconds: 0.3 },
    { ...banningAfter(30), latencySeconds: 0.3 },
    true,
  ],
  [
    'limits.401-no-quota',
    'Reset is -6 s after Date',
    header([401], 'x-ratelimit-reset', (reset) => reset - 5),
    header([401], 'x-ratelimit-reset', (reset) => reset - 6),
  ],
  [
    'limits.401-no-quota',
    'Reset is 6 s after Date',
    header([401], 'x-ratelimit-reset', (reset) => reset + 5),
    header([401], 'x-ratelimit-reset', (reset) => reset + 6),
  ],
  [
    'limits.retry-after-is-a-wait',
    'Retry-After is a wait of 31622401 s',
    header([429], 'retry-after', () => 366 * 86_400),
    header([429], 'retry-after', () => 366 * 86_400 + 1),
  ],
  [
    'limits.retry-after-reaches-reset',
    'the sum is off by -1, -1, -1 s',
    {},
    header([429], 'retry-after', (wait) => wait - 1),
  ],
  [
    'limits.reset-unix-time',
    'Reset is 31622401 s after the request',
    onAll('x-ratelimit-reset', (_, { now }) => Math.floor(now) + 366 * 86_400),
    onAll('x-ratelimit-reset', (_, { now }) => Math.floor(now) + 366 * 86_400 + 1),
  ],
  [
    'limits.reset-unix-time',
    'Reset is 6 s before the request',
    onAll('x-ratelimit-reset', (_, { now }) => Math.floor(now) - 5),
    onAll('x-ratelimit-reset', (_, { now }) => Math.floor(now) - 6),
  ],
  // A date has no fractions of a second, and the answer may have taken one.
  [
    'limits.reset-unix-time',
    'Reset is 6 s before the request',
    { ...onAll('x-ratelimit-reset', (_, { now }) => Math.floor(now) - 6), latencySeconds: 0.1 },
    { ...onAll('x-ratelimit-reset', (_, { now }) => Math.floor(now) - 7), latencySeconds: 0.1 },
  ],
  ['limits.reset-unix-time', '999999999 is no Unix time in seconds', {}, onAll('x-ratelimit-reset', () => 999_999_999)],
  [
    'limits.reset-unix-time',
    'Reset is 767268800 s before the request',
    {},
    onAll('x-ratelimit-reset', () => 1_000_000_000),
  ],
  [
    'limits.reset-unix-time',
    'Reset is 8232731199 s after the request',
    {},
    onAll('x-ratelimit-reset', () => 9_999_999_999),
  ],
  [
    'limits.reset-unix-time',
    '10000000000 is no Unix time in seconds',
    {},
    onAll('x-ratelimit-reset', () => 10_000_000_000),
  ],
  [
    'limits.reset-unix-time',
    'the Reset of a refusal is 0 s over, though it is to be waited for',
    header([429], 'x-ratelimit-reset', (_, { now }) => Math.floor(now) + 1),
    header([429], 'x-ratelimit-reset', (_, { now }) => Math.floor(now)),
  ],
  ['limits.headers-on-404', 'X-RateLimit-Limit is missing', {}, bare('/conformance-nothing-is-here', 403)],
  // What is judged by a rule of its own, or comes from a gateway.
  ...[200, 201, 304, 400, 404, 405, 413, 415, 502, 503, 504].map((status): Bound => {
    return ['limits.headers-on-every', 'X-RateLimit-Limit is missing', bare('/pets', status), bare('/pets', 500)];
  }),
  [
    'limits.refused-limit',
    'Limit is 0 on a refusal',
    header([429], 'x-ratelimit-limit', () => 1),
    header([429], 'x-ratelimit-limit', () => 0),
  ],
  ['limits.refused-remaining-0', 'Remaining is 1', {}, header([429], 'x-ratelimit-remaining', () => 1)],
  ['limits.refused-remaining-0', 'Remaining is -1', {}, header([429], 'x-ratelimit-remaining', () => -1)],
  [
    'limits.refused-window',
    'Limit went from 60 to 61',
    refusal('daily_quota_exceeded', 'x-ratelimit-limit', () => 61),
    refusal('rate_limit_exceeded', 'x-ratelimit-limit', () => 61),
  ],
  [
    'limits.refused-window',
    'Limit went from 60 to 1',
    refusal('rate_limit_exceeded', 'x-ratelimit-limit', () => 0),
    refusal('rate_limit_exceeded', 'x-ratelimit-limit', () => 1),
  ],
  ['limits.free-plan', 'Limit is 61', {}, { limit: 61 }],
  ['limits.free-plan', 'Limit is 59', {}, { limit: 59 }],
  [
    'limits.remaining-falls-by-one',
    'Limit went from 60 to 61',
    {},
    telling(({ remaining, limit }) => ({ limit: limit + (remaining === 30 ? 1 : 0) })),
  ],
  [
    'limits.remaining-falls-by-one',
    'Reset went from 1767268860 to 1767268861',
    {},
    telling(({ remaining, reset }) => ({ reset: reset + (remaining === 30 ? 1 : 0) })),
  ],
  [
    'limits.window-opens-again',
    'Remaining is 58',
    {},
    changing((made, asked) => {
      if (made.status === 200 && asked.now >= began(asked, asked.state) + 60)
        made.headers['x-ratelimit-remaining'] = 58;
    }),
    true,
  ],
  [
    'limits.401-no-quota',
    'without a key, Limit is 1',
    header([401], 'x-ratelimit-limit', () => 0),
    header([401], 'x-ratelimit-limit', () => 1),
  ],
  [
    'limits.401-no-quota',
    'without a key, Remaining is 1',
    header([401], 'x-ratelimit-remaining', () => 0),
    header([401], 'x-ratelimit-remaining', () => 1),
  ],
  [
    'limits.401-no-quota',
    'there is a RateLimit',
    header([404], 'ratelimit', () => 'x'),
    header([401], 'ratelimit', () => 'x'),
  ],
  [
    'limits.ietf-pair',
    'RateLimit and Reset differ',
    pair('ratelimit', /t=60/, () => 't=65'),
    pair('ratelimit', /t=60/, () => 't=66'),
  ],
  [
    'limits.ietf-pair',
    'RateLimit and Reset differ',
    pair('ratelimit', /t=60/, () => 't=55'),
    pair('ratelimit', /t=60/, () => 't=54'),
  ],
  ['limits.ietf-pair', 'RateLimit and Remaining differ', drafted('w=60'), pair('ratelimit', /r=\d+/, () => 'r=7')],
  [
    'limits.ietf-pair',
    'RateLimit-Policy and Limit differ',
    drafted('w=60'),
    pair('ratelimit-policy', /q=\d+/, () => 'q=7'),
  ],
  ['limits.ietf-pair', 'the RateLimit is another', drafted('w=60'), pair('ratelimit', /, "day".*/, () => '')],
  [
    'list.every-category',
    '16 categories are missing in the list or differ there, among them {"id":"6","name":"N-6","description":"The description of N-6"}',
    late(3),
    late(4),
  ],
  [
    'create.in-next-list',
    'the new category is listed later only',
    {},
    {
      listed: (all, { now, state: { memory } }) => {
        memory.since ??= now;
        return now < memory.since + 3 ? [] : all;
      },
    },
  ],
  [
    'create.longest-strings',
    'the status is 400',
    refusingNames(/"name":"[^"]{256}"/u),
    refusingNames(/"name":"[^"]{255}"/u),
  ],
  [
    'create.longest-strings',
    'the status is 400',
    refusingNames(/"description":"([^"\\]|\\.){2001}"/u),
    refusingNames(/"description":"([^"\\]|\\.){2000}"/u),
  ],
  [
    'create.longest-strings',
    'the name differs',
    {},
    storing(({ name }) => ({ name: [...`${name}`].slice(0, 254).join('') })),
  ],
  [
    'create.longest-strings',
    'the description differs',
    storing(() => ({ description: undefined })),
    storing(({ description }) => ({ description: `${description}`.slice(0, 2_000) })),
  ],
  ['create.strings-unchanged', 'the name differs', {}, storing(({ name }) => ({ name: `${name}`.trim() }))],
  ['create.strings-unchanged', 'the name differs', {}, storing(({ name }) => ({ name: `${name}`.normalize('NFC') }))],
  [
    'create.strings-unchanged',
    'an empty description differs',
    {},
    storing(({ description }) => ({ description: description || undefined })),
  ],
  [
    'create.same-name-twice',
    'the status is 400',
    {},
    { store: (category, { state }) => (state.lastId > 0 ? undefined : category) },
  ],
  ['create.same-name-twice', 'the ids are the same', {}, storing(() => ({ id: 1 }))],
  ['create.only-these-members', 'a create answers with other members', {}, storing(() => ({ extra: 1 }))],
  [
    'create.only-these-members',
    'a category in the list has other members: {"id":"1","name":"N-1"}',
    storing(() => ({ description: null })),
    { listed: (all) => all.map((each) => ({ ...each, extra: 1 })) },
  ],
  [
    'create.location',
    'the Location is another',
    located((id) => `/v1/categories/${id}`),
    located((id) => `/categories/${id}`),
  ],
  [
    'create.location',
    'the Location is another',
    located((id, host) => `http://${host}/v1/categories/${id}`),
    located((id) => `http://other/v1/categories/${id}`),
  ],
  [
    'create.location',
    'the Location is another',
    located((id) => `/v1/categories/${id}`),
    located((id) => `/v1/categories/${Number(id) + 1}`),
  ],
  [
    'auth.scheme-any-case',
    'the status is 401',
    { knows: (sent) => sent === `bEARER   ${MAIN_KEY}` || undefined },
    { knows: (sent) => sent === `bEARER ${MAIN_KEY}` || undefined },
  ],
  ['auth.401-again', 'the status is 403, not 401', wearyAfter(20), wearyAfter(19)],
  ['auth.challenge', 'without a key: no plain challenge', challenging(PLAIN, NAMED), challenging(NAMED, NAMED)],
  ['auth.challenge', 'with an unknown key: no invalid_token', challenging(PLAIN, NAMED), challenging(PLAIN, PLAIN)],
  ['auth.challenge', 'without a key: no plain challenge', challenging(PLAIN, NAMED), challenging('Bearer', NAMED)],
  [
    'auth.challenge',
    'with an unknown key: no invalid_token',
    challenging(PLAIN, NAMED),
    challenging(PLAIN, `${NAMED}, scope="a"`),
  ],
  [
    'auth.401-alike',
    'the two differ',
    header([401], 'x-request-id', (_, { now }) => now),
    changing((made, { key }) => {
      if (made.status === 401) made.body = { ...(made.body as object), message: key === 'x' ? 'Bad' : 'No' };
    }),
  ],
  ['auth.bearer-only', 'the status is 200, not 401', {}, { knows: (sent) => sent?.endsWith(' x') || undefined }],
  ['errors.405', 'Allow names nothing', allowing(405, 'POST,GET, OPTIONS,  HEAD'), allowing(405)],
  [
    'errors.405',
    'Allow names GET,HEAD,OPTIONS,POST,PUT',
    allowing(405, 'GET, HEAD, OPTIONS, POST'),
    allowing(405, 'GET, HEAD, OPTIONS, POST, PUT'),
  ],
  [
    'errors.405',
    'the status is 501, not 405',
    allowing(405, 'GET, HEAD, OPTIONS, POST'),
    allowing(501, 'GET, HEAD, OPTIONS, POST'),
  ],
  [
    'errors.three-members',
    'there is also path,at',
    {},
    changing((made) => {
      if (made.status === 404) made.body = { ...(made.body as object), path: '/', at: 1 };
    }),
  ],
  ...Object.entries({
    400: 'bad_request',
    401: 'unauthorized',
    404: 'unknown',
    405: 'not_found',
    413: 'too_large',
    415: 'validation_failed',
  }).map(([status, code]): Bound => ['errors.codes', `the code is ${code}`, coding({}), coding({ [status]: code })]),
  ['errors.codes', 'the code is not_found', coding({ 400: 'invalid_json' }), coding({ 401: 'not_found' })],
  [
    'bodies.application-json',
    'Content-Type is application/json-seq',
    header([200], 'content-type', () => 'APPLICATION/JSON ; charset=utf-8'),
    header([200], 'content-type', () => 'application/json-seq'),
  ],
  [
    'http.request-id',
    'the id is xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    naming('x'.repeat(128)),
    naming('x'.repeat(129)),
  ],
  [
    'http.pages',
    'the pages end after 1 of 3',
    // A token needs no quotes (RFC 8288, section 3).
    paging((target) => `<${target}>; rel=next`),
    paging((target) => `<${target}>; rel=prev`),
  ],
  [
    'http.pages',
    'the next page is outside the base address',
    paging((target) => `<${target}>; rel="next"`),
    paging((target) => `<http://127.0.0.1:1${target}>; rel="next"`),
  ],
  ['http.request-id', 'the id is a b', naming('A.z_9-'), naming('a b')],
  ['deprecation.headers', 'Sunset is not after Deprecation', ending(1_752_000_001), ending(1_752_000_000)],
  [
    'http.cache-control',
    'nosniff is missing',
    cached('no-store'),
    changing((made, asked) => {
      cached('no-store').changes?.(made, asked);
      if (made.status === 201) made.headers['x-content-type-options'] = 'none';
    }),
  ],
  [
    'http.cache-control',
    'Cache-Control is not private, no-cache',
    cached('no-store'),
    changing((made, asked) => {
      cached('no-store').changes?.(made, asked);
      if (made.status === 201) made.headers.etag = '"1"';
    }),
  ],
];

test('a wrong key that is nearly the right one is another one, whatever letter is changed', async () => {
  for (const key of ['abcxdef', 'abcydef']) {
    const make = { knows: (authorization: string | undefined) => authorization === `Bearer ${key}` };
    const { report } = await judgeMake(make, { key, limitedKey: undefined, only: ['auth.401-invalid'] });
    assert.deepEqual([report.passed, report.failed], [1, 0], key);
  }
});

/** Rules that judge the answers to others, and such others. */
const LOOKS_BACK = /headers-on-every|reset-unix-time/;
const COMPANY = ['limits.headers-on-429', 'limits.headers-on-pets'];

describe('what is just beyond the bound of a rule is blamed, and the bound is not, by', () => {
  for (const [index, [rule, seen, kept, broken, isFull = false]] of BOUNDS.entries()) {
    test(`${rule} (${index + 1})`, async () => {
      const only = [rule, ...(LOOKS_BACK.test(rule) ? COMPANY : [])];
      const verdictOn = async (make: Make) => {
        const { report } = await judgeMake(make, { isFull, only });
        const rules = report.rules.filter(({ id }) => id === rule);
        return rules.map(({ verdict, seen, reason }) => [
          verdict,
          (seen ?? reason)?.replaceAll(/conformance-[0-9a-f]{8}/g, 'N'),
        ]);
      };
      assert.deepEqual(await verdictOn(kept), [['passed', undefined]]);
      assert.deepEqual(await verdictOn(broken), [['failed', seen]]);
    });
  }
});

test('each method that is not known is asked for, and each message that two servers read differently', async () => {
  const notFor = (method: string): Make =>
    changing((made, asked) => Object.assign(made, { status: asked.method === method ? 404 : 501 }));
  const twice: Make = {
    instead({ method, body }, response) {
      if (method === 'GET' && body !== '') response.socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      return false;
    },
  };
  for (const [rule, make, seen] of [
    ['errors.any-method', notFor('QUERY'), 'the status is 404, not 405 or 501'],
    ['errors.any-method', notFor('PROPFIND'), 'the status is 404, not 405 or 501'],
    ['errors.any-method', allowing(405), 'Allow is missing'],
    // Node.js refuses CONFORM itself.
    ['errors.any-method', allowing(405, 'GET'), 'the status is 400, not 405 or 501'],
    ['http.one-answer', {}, null],
    ['http.one-answer', twice, 'a GET whose body is another request: 3 answers, 200, 200, 200'],
  ] as const) {
    const { report } = await judgeMake(make, { only: [rule] });
    assert.deepEqual(
      report.rules.map(({ seen }) => seen),
      [seen],
    );
  }
});
