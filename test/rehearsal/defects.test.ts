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
