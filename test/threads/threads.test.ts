import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Category } from '../../src/catalog/category.ts';
import { PLANS } from '../../src/catalog/plan.ts';
import { untilTrue } from '../kit/clock.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';
import { connectToEach } from '../kit/threads/connections.ts';

/** What the threads of one process promise together, by a clock that the test turns. */

const THREADS = 4;
const settings = { THREADS: `${THREADS}` };
const UNLIMITED = { plan: 'enterprise', limits: { minute: 1_000_000, day: 1_000_000 } } as const;

test('a create that one thread answered is in every list that any thread sends afterwards', async () => {
  await using service = await testService(settings);
  const { secret } = await service.issue(UNLIMITED);
  await using connections = await connectToEach(service.url, secret, THREADS);
  for (let round = 0; round < 40; round += 1) {
    const creator = connections.all[round % THREADS];
    const created = await creator?.ask('POST', '/categories', { name: `round ${round}` });
    assert.equal(created?.status, 201);
    const lists = await Promise.all(connections.all.map(({ ask }) => ask('GET', '/categories')));
    for (const { body } of lists) {
      const { id } = JSON.parse(created.body) as Category;
      assert.equal((JSON.parse(body) as Category[]).at(-1)?.id, id);
    }
    assert.equal(new Set(lists.map(({ headers }) => headers.get('etag'))).size, 1);
  }
});

test('creates of all threads at once are in every list, each once and by id', async () => {
  await using service = await testService(settings);
  const { secret } = await service.issue(UNLIMITED);
  await using connections = await connectToEach(service.url, secret, THREADS);
  const create = async ({ ask }: (typeof connections.all)[number]) => {
    for (let count = 0; count < 50; count += 1) {
      const created = await ask('POST', '/categories', { name: `${count}` });
      const { id } = JSON.parse(created.body) as Category;
      const list = JSON.parse((await ask('GET', '/categories')).body) as Category[];
      assert.ok(list.some((category) => category.id === id));
    }
  };
  await Promise.all(connections.all.map(create));
  for (const { ask } of connections.all) {
    const ids = (JSON.parse((await ask('GET', '/categories')).body) as Category[]).map(({ id }) => id);
    assert.deepEqual(
      ids,
      Array.from({ length: 50 * THREADS }, (_, index) => index + 1),
    );
  }
});

test('a retry in another thread gets the outcome of the first try', async () => {
  await using service = await testService(settings);
  const { secret } = await service.issue(UNLIMITED);
  const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: '{"name":"Dog"}' };
  const ids = await Promise.all(
    Array.from(
      { length: 20 },
      async () => ((await (await service.call(secret, '/categories', init)).json()) as Category).id,
    ),
  );
  assert.deepEqual(new Set(ids), new Set([1]));
});

test('renames, deletions and imports are in the lists of all threads when they are done', async () => {
  await using service = await testService(settings);
  const { secret } = await service.issue(UNLIMITED);
  await using connections = await connectToEach(service.url, secret, THREADS);
  const { categories } = service.storage;
  const lists = async () => {
    const answers = await Promise.all(connections.all.map(({ ask }) => ask('GET', '/categories')));
    return answers.map(({ body }) => (JSON.parse(body) as Category[]).map(({ name }) => name).join());
  };
  await categories.import([{ name: 'a' }, { name: 'b' }, { name: 'c' }], OPERATOR);
  assert.deepEqual(new Set(await lists()), new Set(['a,b,c']));
  await categories.rename(2, 'd', OPERATOR);
  assert.deepEqual(new Set(await lists()), new Set(['a,d,c']));
  await categories.delete(1, OPERATOR);
  assert.deepEqual(new Set(await lists()), new Set(['d,c']));
});

test('a revoked key is refused, and a changed plan holds, in every thread', async () => {
  await using service = await testService(settings);
  const { key, secret } = await service.issue(UNLIMITED);
  await using connections = await connectToEach(service.url, secret, THREADS);
  const answers = () => Promise.all(connections.all.map(({ ask }) => ask('GET', '/categories')));
  const pro = { plan: 'pro', limits: PLANS.pro } as const;
  await service.storage.keys.update(key.id, pro, OPERATOR);
  for (const { headers } of await answers()) assert.equal(headers.get('x-ratelimit-limit'), '300');
  await service.storage.keys.revoke(key.id, service.clock.now().unix, OPERATOR);
  for (const { status } of await answers()) assert.equal(status, 401);
});

test('all threads admit exactly the limit together, ban together and are free together', async () => {
  await using service = await testService(settings);
  const { key, secret } = await service.issue();
  await using connections = await connectToEach(service.url, secret, THREADS);
  const each = () => Promise.all(connections.all.map(({ ask }) => ask('GET', '/categories')));
  const hammer = async (rounds: number) => {
    const rush = Array.from({ length: rounds }, () => each());
    return (await Promise.all(rush)).flat().map(({ status }) => status);
  };
  assert.equal((await hammer(25)).filter((status) => status === 200).length, 60);
  service.clock.advance(2);
  await hammer(16);
  for (const { status, body } of await each()) {
    assert.deepEqual([status, JSON.parse(body).code], [429, 'key_banned']);
  }
  const told = await Promise.all(connections.all.map(({ ask }) => ask('GET', '/rate_limit')));
  for (const { body } of told) assert.match(JSON.parse(body).ban.reason, /^refused 61 more times/);
  assert.equal(service.events.bans.length, 1);
  assert.ok(await service.storage.limits.liftBan(key.id, service.clock.now().unix, OPERATOR));
  for (const { body } of await each()) assert.equal(JSON.parse(body).code, 'rate_limit_exceeded');
  service.clock.advance(60);
  assert.equal((await hammer(25)).filter((status) => status === 200).length, 60);
});

test('a restart keeps what all threads counted', async () => {
  await using service = await testService(settings);
  const { key, secret } = await service.issue({ plan: 'pro' });
  {
    await using connections = await connectToEach(service.url, secret, THREADS);
    for (const { ask } of connections.all) for (let i = 0; i < 25; i += 1) await ask('GET', '/categories');
  }
  await service.restart();
  const limit = (await (await service.call(secret, '/rate_limit')).json()) as { day: { remaining: number } };
  assert.equal(limit.day.remaining, 10_000 - 25 * THREADS);
  const now = service.clock.now().unix;
  const routes = await service.storage.usage.routes({ since: now - 3_600, period: 'minute' });
  const listed = routes.filter(({ route }) => route === 'GET /v1/categories');
  assert.equal(
    listed.reduce((sum, { served }) => sum + served, 0),
    25 * THREADS,
  );
  const [usage] = await service.storage.usage.byKey({ since: now - 3_600, now, keyId: key.id });
  // Those by which the connections were found are free, but used.
  assert.ok((usage?.served ?? 0) >= 25 * THREADS);
});

test('metrics and recent requests are of all threads', async () => {
  await using service = await testService(settings);
  const { key, secret } = await service.issue(UNLIMITED);
  await using connections = await connectToEach(service.url, secret, THREADS);
  const ids: string[] = [];
  for (let i = 0; i < 10; i += 1) {
    for (const { ask } of connections.all) {
      const { status, headers } = await ask('GET', '/categories');
      assert.equal(status, 200);
      ids.unshift(headers.get('x-request-id') ?? '');
    }
  }
  const counted = () =>
    [...service.metrics.requests.series()]
      .filter(({ labels }) => labels.route === '/v1/categories' && labels.status === 200)
      .flatMap(({ counts }) => counts)
      .reduce((sum, count) => sum + count, 0);
  await untilTrue(() => counted() === 10 * THREADS, 'the count of all requests');
  const viewer = await apiClient(service, 'viewer');
  const recent = await json<{ requestId: string }[]>(viewer.send('GET', `/keys/${key.id}/requests?status=200`));
  const listed = recent.map(({ requestId }) => requestId).filter((id) => ids.includes(id));
  assert.deepEqual(listed.toSorted(), ids.toSorted());
  for (const id of ids) assert.equal((await viewer.send('GET', `/requests/${id}`)).status, 200);
});
