import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, type TestService, testService } from '../kit/service.ts';

/** Defects by the numbers that they tell, which the referee need not know. */

type Call = (path: string, init?: RequestInit) => Promise<Response>;

const create = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const headerOf = async (call: Call, name: string, path = '/categories', init: RequestInit = {}) =>
  (await call(path, init)).headers.get(name);

const statusOf = async (call: Call, body: unknown) => (await call('/categories', create(body))).status;
/** What a create answers with. */
const created = (call: Call, body: unknown) => json<Record<string, unknown>>(call('/categories', create(body)));
const listed = (call: Call) => json<Record<string, unknown>[]>(call('/categories'));

async function each<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<U[]> {
  const done: U[] = [];
  for (const item of items) done.push(await work(item));
  return done;
}

/** A header of each of some refusals. */
async function refused(call: Call, name: string, times = 1): Promise<(string | null)[]> {
  await limitOf(call);
  const told: (string | null)[] = [];
  while (told.length < times) told.push(await headerOf(call, name));
  return told;
}

/** What the first requests of two windows tell. */
const secondWindow = async (call: Call, { clock }: TestService): Promise<unknown> => {
  const first = await headerOf(call, 'x-ratelimit-remaining');
  clock.advance(60);
  const { headers } = await call('/pets');
  return [first, headers.get('x-ratelimit-remaining'), Number(headers.get('x-ratelimit-reset')) - clock.now().unix];
};

/** The limit that is told, and how many requests are admitted. */
async function limitOf(call: Call): Promise<[string | null, number]> {
  let admitted = 0;
  const told = await headerOf(call, 'x-ratelimit-limit', '/pets');
  while ((await call('/pets')).status === 200) admitted += 1;
  return [told, admitted + 1];
}

const EFFECTS: readonly (readonly [
  defect: string,
  effect: (call: Call, service: TestService) => Promise<unknown>,
  seen: unknown,
])[] = [
  [
    'list-capped-at-20',
    async (call) => {
      for (let name = 1; name <= 21; name += 1) await call('/categories', create({ name: `${name}` }));
      return (await json<unknown[]>(call('/categories'))).length;
    },
    20,
  ],
  ['create-without-id', (call) => created(call, { name: 'Dog', description: 'd' }), { name: 'Dog', description: 'd' }],
  [
    'name-cut',
    async (call) => (await json<{ name: string }>(call('/categories', create({ name: 'x'.repeat(255) })))).name.length,
    200,
  ],
  [
    'description-cut',
    async (call) => {
      const sent = create({ name: 'Dog', description: 'x'.repeat(1_500) });
      return (await json<{ description: string }>(call('/categories', sent))).description.length;
    },
    1_000,
  ],
  [
    'wrong-keys-are-429',
    async (_, service) => {
      const statuses: number[] = [];
      for (let wrong = 0; wrong < 13; wrong += 1) statuses.push((await service.call('wrong', '/pets')).status);
      return statuses;
    },
    [...Array(12).fill(401), 429],
  ],
  ['allow-without-post', (call) => headerOf(call, 'allow', '/categories', { method: 'DELETE' }), 'GET, HEAD, OPTIONS'],
  ['list-may-be-shared', (call) => headerOf(call, 'cache-control'), 'public, max-age=60'],
  ['limit-of-no-plan', limitOf, ['50', 50]],
  ['free-plan-of-50', limitOf, ['50', 50]],
  ['limit-understated', limitOf, ['60', 90]],
  ['limit-overstated', limitOf, ['60', 50]],
  [
    'window-of-90s',
    async (call, { clock }) => Number(await headerOf(call, 'x-ratelimit-reset')) - clock.now().unix,
    90,
  ],
  ['remaining-off-by-one', (call) => headerOf(call, 'x-ratelimit-remaining'), '60'],
  ['remaining-one-too-few', (call) => headerOf(call, 'x-ratelimit-remaining'), '58'],
  [
    'short-description-refused',
    (call) =>
      each(['', 'x', 'x'.repeat(9), 'x'.repeat(10)], (description) => statusOf(call, { name: 'Dog', description })),
    [201, 400, 400, 201],
  ],
  [
    'described-in-capitals',
    (call) =>
      each(
        ['', 'x', 'x'.repeat(20), 'x'.repeat(21)],
        async (description) => (await created(call, { name: 'Dog', description })).name,
      ),
    ['Dog', 'DOG', 'DOG', 'Dog'],
  ],
  [
    'han-letters-lost,description-escaped,listed-twice',
    async (call) => [await created(call, { name: '犬 Dog', description: '<b>犬</b>' }), (await listed(call)).length],
    [{ id: 1, name: '? Dog', description: '&lt;b>犬&lt;/b>' }, 2],
  ],
  [
    'id-of-the-client,listed-with-a-link,listed-description-is-null',
    async (call) => [
      await created(call, { name: 'Dog', id: 7 }),
      (await created(call, { name: 'Cat' })).id,
      (await listed(call))[1],
    ],
    [{ id: 7, name: 'Dog' }, 2, { id: 2, name: 'Cat', description: null, href: '/v1/categories/2' }],
  ],
  [
    'refused-create-is-kept,list-newest-first',
    async (call) => [
      await statusOf(call, { name: 'Dog', description: 1 }),
      await statusOf(call, { name: 'Cat' }),
      (await listed(call)).map(({ name }) => name),
    ],
    [400, 201, ['Cat', 'Dog']],
  ],
  [
    'list-late',
    async (call, { clock }) => {
      await created(call, { name: 'Dog' });
      clock.advance(1);
      await created(call, { name: 'Cat' });
      const before = await listed(call);
      clock.advance(1);
      return [before.length, (await listed(call)).length];
    },
    [1, 2],
  ],
  [
    'unknown-members-refused,created-with-a-date,name-trimmed',
    async (call) => [await statusOf(call, { name: 'Dog', extra: 1 }), await created(call, { name: ' Dog ', other: 1 })],
    [400, { id: 1, name: 'Dog', createdAt: '2026-01-01T00:00:00Z' }],
  ],
  [
    'description-dropped',
    (call) => each(['', 'x'], async (description) => (await created(call, { name: 'Dog', description })).description),
    ['', undefined],
  ],
  [
    'empty-description-dropped',
    (call) => each(['', 'x'], async (description) => (await created(call, { name: 'Dog', description })).description),
    [undefined, 'x'],
  ],
  [
    'lengths-in-utf-16',
    (call) => each(['x'.repeat(255), '🐕'.repeat(127), '🐕'.repeat(128)], (name) => statusOf(call, { name })),
    [201, 201, 400],
  ],
  [
    'name-taken',
    async (call) => {
      const again = { headers: { 'content-type': 'application/json', 'idempotency-key': 'k' } };
      const { status } = await call('/categories', { ...create({ name: 'Dog' }), ...again });
      return [status, ...(await each(['Dog', 'Dog', 'Cat'], (name) => statusOf(call, { name })))];
    },
    [201, 409, 409, 201],
  ],
  [
    'same-name-same-id',
    (call) => each(['Dog', 'Cat', 'Dog'], async (name) => (await created(call, { name })).id),
    [1, 2, 1],
  ],
  [
    'id-given-twice',
    async (call) =>
      (
        await each(
          Array.from({ length: 11 }, (_, index) => `${index}`),
          async (name) => (await created(call, { name })).id,
        )
      ).slice(-3),
    [9, 9, 11],
  ],
  [
    'description-refused-by-a-word',
    (call) => each(['The dog', 'Then', 'A dog'], (description) => statusOf(call, { name: 'Dog', description })),
    [400, 201, 201],
  ],
  [
    'number-is-a-name,null-is-a-name,empty-name,long-name-taken,control-characters-dropped',
    (call) => each([5, null, '', 'x'.repeat(256), 'a\u0007b\n'], async (name) => (await created(call, { name })).name),
    ['5', 'conformance-null', 'Unnamed', 'x'.repeat(255), 'ab'],
  ],
  [
    'null-description-taken,location-without-v1,category-read-differs',
    async (call) => {
      const answer = await call('/categories', create({ name: 'Cat', description: null }));
      return [
        answer.headers.get('location'),
        await answer.json(),
        (await json<{ name: string }>(call('/categories/1'))).name,
      ];
    },
    ['/categories/1', { id: 1, name: 'Cat' }, 'Dog'],
  ],
  [
    'bad-json-is-500,trailing-comma-taken',
    (call) =>
      each(['{', '{"name":"Dog",}'], async (body) => {
        const answer = await call('/categories', { ...create(''), body });
        return [answer.status, await answer.json()];
      }),
    [
      [500, { code: 'internal_error', message: 'Something went wrong; try again later', status: 500 }],
      [201, { id: 9_007_199_254_740_000, name: 'Dog' }],
    ],
  ],
  ['reset-in-seconds-from-now', (call) => headerOf(call, 'x-ratelimit-reset'), '60'],
  [
    'reset-in-milliseconds',
    async (call, { clock }) => Number(await headerOf(call, 'x-ratelimit-reset')) / (clock.now().unix + 60),
    1_000,
  ],
  [
    'reset-over-on-400',
    async (call, { clock }) =>
      Number(await headerOf(call, 'x-ratelimit-reset', '/categories', create({}))) - clock.now().unix,
    -540,
  ],
  [
    'reset-in-years',
    async (call, { clock }) =>
      Number(await headerOf(call, 'x-ratelimit-reset', '/categories', create({}))) - clock.now().unix,
    315_360_060,
  ],
  [
    'reset-over-on-429',
    async (call, { clock }) => Number((await refused(call, 'x-ratelimit-reset'))[0]) - clock.now().unix,
    0,
  ],
  [
    'limit-changes,reset-drifts',
    async (call, { clock }) => {
      const told = await each(Array(31).fill('/pets'), async (path) => {
        const { headers } = await call(path);
        return ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)));
      });
      return told.slice(-3).map(([limit, remaining, reset = 0]) => [limit, remaining, reset - clock.now().unix]);
    },
    [
      [60, 31, 60],
      [61, 30, 61],
      [60, 29, 60],
    ],
  ],
  ['retry-after-with-a-fraction', (call) => refused(call, 'retry-after'), ['60.5']],
  ['retry-after-short', (call) => refused(call, 'retry-after'), ['59']],
  [
    'retry-after-unix-time',
    async (call, { clock }) => Number((await refused(call, 'retry-after'))[0]) / (clock.now().unix + 60),
    1_000,
  ],
  ['no-limit-when-refused', (call) => refused(call, 'x-ratelimit-limit'), ['0']],
  ['limit-of-the-day-when-refused', (call) => refused(call, 'x-ratelimit-limit'), ['1000']],
  [
    'refusal-extends-window',
    async (call, { clock }) => {
      await refused(call, 'retry-after');
      clock.advance(10);
      return headerOf(call, 'retry-after');
    },
    '60',
  ],
  [
    'window-outlasts-retry-after',
    async (call, { clock }) => {
      await limitOf(call);
      clock.advance(60);
      return each(Array(3).fill('/pets'), async (path) => {
        const { status } = await call(path);
        clock.advance(1);
        return status;
      });
    },
    [429, 429, 200],
  ],
  ['window-opens-in-part', secondWindow, ['59', '49', 60]],
  ['window-opens-for-less', secondWindow, ['59', '59', 30]],
  [
    'state-of-another-minute,refusals-count-in-the-day,state-with-a-ban',
    async (call) => {
      const { minute, day, ban } = await json<Record<string, Record<string, unknown>>>(call('/rate_limit'));
      return [minute?.remaining, day?.remaining, ban];
    },
    [1, 900, { until: 0, reason: '' }],
  ],
  [
    'ban-outlasts-retry-after,ban-without-reason',
    async (call, { clock }) => {
      await limitOf(call);
      clock.advance(2);
      while ((await json<{ code: string }>(call('/pets'))).code !== 'key_banned');
      const { ban } = await json<{ ban: unknown }>(call('/rate_limit'));
      const left = await each([59, 1, 59, 1], async (seconds) => {
        clock.advance(seconds);
        return (await call('/pets')).status;
      });
      return [(ban as { reason: unknown }).reason, ...left];
    },
    [null, 429, 429, 429, 200],
  ],
  [
    'ban-at-once',
    async (call) => {
      await limitOf(call);
      let refusals = 1;
      while ((await json<{ code: string }>(call('/pets'))).code !== 'key_banned') refusals += 1;
      return refusals;
    },
    40,
  ],
];

for (const [defect, effect, seen] of EFFECTS) {
  test(`${defect} does what it says`, async () => {
    await using service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', DEFECT: defect });
    const { secret } = await service.issue();
    assert.deepEqual(await effect((path, init) => service.call(secret, path, init), service), seen);
  });
}
