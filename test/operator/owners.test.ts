import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilEqual } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient } from '../kit/operator.ts';
import { commandsOn } from '../kit/process.ts';
import { json, testService } from '../kit/service.ts';

/** What operators do to the keys of a customer. */

const PLAN = { plan: 'enterprise', limits: { minute: 3, day: 5 } } as const;

test('all keys of an owner are paused, resumed and reset, at every door, and no other', async () => {
  await using service = await testService();
  const [first, second, other] = [
    await service.issue({ ...PLAN, owner: 'cus_1' }),
    await service.issue({ ...PLAN, owner: 'cus_1' }),
    await service.issue({ ...PLAN, owner: 'cus_2' }),
  ];
  const gone = await service.issue({ ...PLAN, owner: 'cus_1' });
  await service.issue({ ...PLAN, owner: 'cus_2', expiresAt: service.clock.now().unix + 1 });
  service.clock.advance(1);
  const [client, operator, run] = [
    await apiClient(service, 'keys'),
    await signIn(service, 'keys'),
    commandsOn(service),
  ];
  await client.send('POST', `/keys/${gone.key.id}/revoke`);
  const statuses = () =>
    Promise.all([first, second, other].map(async ({ secret }) => (await service.call(secret, '/rate_limit')).status));
  const doors = {
    api: async (verb: string) => (await client.send('POST', `/keys/${verb}?owner=cus_1`)).ok,
    console: async (verb: string) => (await operator.post(`/owner/${verb}?owner=cus_1`)).status === 303,
    command: async (verb: string) => (await run(`keys ${verb} --owner cus_1`)).code === 0,
  };
  for (const [door, act] of Object.entries(doors)) {
    assert.ok(await act('pause'), door);
    await untilEqual(statuses, [401, 401, 200]);
    assert.ok(await act('resume'), door);
    await untilEqual(statuses, [200, 200, 200]);
  }
  const page = await operator.page('/owner?owner=cus_1');
  assert.match(page, /3 keys of this owner<\/a>, which may make 6 requests a minute and 10 a day together/);
  const usable = /2 keys of this owner<\/a>, which may make 3 requests a minute and 5 a day together/;
  assert.match(await operator.page('/owner?owner=cus_2'), usable, 'one has expired');

  const left = ({ secret }: typeof first) =>
    json<Record<'minute' | 'day', { remaining: number }>>(service.call(secret, '/rate_limit')).then(
      ({ minute, day }) => [minute.remaining, day.remaining],
    );
  for (const { secret } of [first, second, other])
    for (let request = 0; request < 3; request += 1) assert.equal((await service.call(secret, '/pets')).status, 200);
  assert.deepEqual(await left(second), [0, 2]);
  assert.equal((await client.send('POST', `/keys/${first.key.id}/reset`, { window: 'minute' })).status, 200);
  await untilEqual(() => left(first), [3, 2]);
  const reset = await json<string[]>(client.send('POST', '/keys/reset?owner=cus_1'));
  assert.deepEqual(reset.sort(), [first.key.id, second.key.id].sort());
  await untilEqual(() => left(first), [3, 5]);
  await untilEqual(() => left(second), [3, 5]);
  assert.deepEqual(await left(other), [0, 2]);
  for (const [query, status] of [
    ['?owner=cus_3', 404],
    ['?owner=', 404],
    ['', 400],
  ] as const)
    assert.equal((await client.send('POST', `/keys/pause${query}`)).status, status, query);
  assert.deepEqual([(await run('keys pause')).code, await statuses()], [2, [200, 200, 200]]);
});
