import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { openLimiter } from '../../src/limits/open.ts';
import {
  isTaken,
  markRehearsed,
  type ShownTime,
  type Turn,
  takeTurn,
  timeJson,
  turnTime,
} from '../../src/rehearsal/clock-turns.ts';
import { openRehearsal } from '../../src/rehearsal/rehearsal.ts';
import { TurnedTime } from '../../src/rehearsal/turned-time.ts';
import { startService } from '../../src/service.ts';
import { openStorage } from '../../src/storage/open.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { manualClock } from '../kit/clock.ts';
import { RawConnection } from '../kit/edge/raw.ts';
import { type ApiClient, apiClient, OPERATOR } from '../kit/operator.ts';
import { json, recordedEvents, type TestService, temporaryFolder, testService } from '../kit/service.ts';

/** What follows the turned time. The machine's clock stands still here unless a test moves it. */

const HOUR = 3_600;
const DAY = 24 * HOUR;
const JSON_TYPE = { 'content-type': 'application/json' };

interface Time {
  readonly now: string;
  readonly turnedBy: number;
}

let service: TestService;
let admin: ApiClient;

before(async () => {
  service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', BAN_AFTER_REFUSALS: '1' });
  admin = await apiClient(service, 'admin');
});
after(() => service[Symbol.asyncDispose]());

async function turn(by: { advance: string } | { set: string }): Promise<Time> {
  const answer = await admin.send('POST', '/clock', by);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
}

/** The time of the service, in Unix seconds. */
async function now(): Promise<number> {
  return Date.parse((await json<Time>(admin.send('GET', '/clock'))).now) / 1_000;
}

async function codeOf(response: Promise<Response>): Promise<[number, string]> {
  const answer = await response;
  const body = answer.status === 204 ? {} : await json<{ code?: string }>(answer);
  return [answer.status, body.code ?? ''];
}

test('time goes on from where it was put, forward only, at its usual pace', async () => {
  const before = await json<Time>(admin.send('GET', '/clock'));
  const turned = await turn({ advance: '10m' });
  assert.deepEqual(turned, {
    now: new Date(Date.parse(before.now) + 600_000).toISOString().replace('.000', ''),
    turnedBy: before.turnedBy + 600,
  });
  service.clock.advance(5);
  assert.equal(await now(), Date.parse(turned.now) / 1_000 + 5);
  for (const [body, message] of [
    [{ set: before.now }, /it can be put forward only/],
    [{ set: '2031-02-30T00:00:00Z' }, /set is "2031-02-30T00:00:00Z"/],
    [{ set: '9000-01-01T00:00:00Z' }, /to the year 8999/],
    [{ advance: 'soon' }, /advance is "soon"; write a duration/],
    [{ advance: '1h', set: turned.now }, /send either/],
    [{}, /send either/],
  ] as const) {
    const refused = await admin.send('POST', '/clock', body);
    assert.equal(refused.status, 400);
    assert.match((await json<{ message: string }>(refused)).message, message);
  }
  assert.equal(await now(), Date.parse(turned.now) / 1_000 + 5);
});

test('a turn is made once for each idempotency key, by an admin', async () => {
  const send = (by = admin) => by.send('POST', '/clock', { advance: '25h' }, { 'idempotency-key': 'a day' });
  const made = await send();
  assert.equal(made.headers.get('idempotency-replayed'), null);
  const first = await json<Time>(made);
  const again = await send();
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(await json(again), first);
  assert.equal((await json<Time>(admin.send('GET', '/clock'))).turnedBy, first.turnedBy);
  const other = await json<Time>(send(await apiClient(service, 'admin', 'other')));
  assert.equal(other.turnedBy, first.turnedBy + 25 * HOUR);
  await turn({ advance: '24h' });
  assert.equal((await send()).headers.get('idempotency-replayed'), null, 'as every key it is free a day later');
  const viewer = await apiClient(service, 'keys');
  for (const method of ['GET', 'POST']) {
    assert.deepEqual(await codeOf(viewer.send(method, '/clock', method === 'POST' ? { advance: '1h' } : undefined)), [
      403,
      'insufficient_role',
    ]);
  }
});

test('the window of a minute ends with a turn, and its reset is told in turned time', async () => {
  const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 1_000 } });
  const first = await service.call(secret, '/pets');
  assert.equal(Number(first.headers.get('x-ratelimit-reset')), (await now()) + 60);
  assert.deepEqual(await codeOf(service.call(secret, '/pets')), [429, 'rate_limit_exceeded']);
  await turn({ advance: '59s' });
  const refused = await service.call(secret, '/pets');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
  await turn({ advance: '1s' });
  assert.equal((await service.call(secret, '/pets')).status, 200);
});

test('the daily quota ends with the UTC day of the turned time', async () => {
  const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 100, day: 1 } });
  assert.equal((await service.call(secret, '/pets')).status, 200);
  const refused = await service.call(secret, '/pets');
  const reset = Number(refused.headers.get('x-ratelimit-reset'));
  assert.deepEqual([refused.status, reset % DAY], [429, 0]);
  await turn({ set: new Date((reset - 1) * 1_000).toISOString() });
  assert.deepEqual(await codeOf(service.call(secret, '/pets')), [429, 'daily_quota_exceeded']);
  await turn({ advance: '1s' });
  assert.equal((await service.call(secret, '/pets')).status, 200);
});

test('bans end with a turn, and the next is longer until a day has passed', async () => {
  const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 1_000_000 } });
  /** Calls until the key is banned, and tells for how long. */
  const ban = async () => {
    for (let tries = 0; tries < 20; tries += 1) {
      const answer = await service.call(secret, '/pets');
      if ((await codeOf(Promise.resolve(answer)))[1] === 'key_banned') return Number(answer.headers.get('retry-after'));
      if (tries === 2) await turn({ advance: '10s' });
    }
    return 0;
  };
  assert.equal(await ban(), 60);
  await turn({ advance: '60s' });
  assert.equal((await service.call(secret, '/pets')).status, 200);
  assert.equal(await ban(), 300);
  await turn({ advance: '300s' });
  assert.equal(await ban(), 900);
  await turn({ advance: '2d' });
  assert.equal(await ban(), 60);
});

test('keys expire, and the grace of a rotation ends, with a turn', async () => {
  const expiresAt = (await now()) + HOUR;
  const { secret } = await service.issue({ expiresAt });
  const made = await json<{ id: string; key: string }>(admin.send('POST', '/keys', { name: 'rotated', plan: 'free' }));
  const rotated = await json<{ key: string }>(admin.send('POST', `/keys/${made.id}/rotate`, { grace: '1h' }));
  const statuses = () =>
    Promise.all([secret, made.key, rotated.key].map(async (key) => (await service.call(key, '/rate_limit')).status));
  assert.deepEqual(await statuses(), [200, 200, 200]);
  await turn({ advance: '1h' });
  assert.deepEqual(await statuses(), [401, 401, 200]);
});

test('an idempotency key is free again 24 hours later', async () => {
  const { secret } = await service.issue({ plan: 'business' });
  const create = async () => {
    const headers = { ...JSON_TYPE, 'idempotency-key': 'once' };
    const answer = await service.call(secret, '/categories', { method: 'POST', headers, body: '{"name":"Dog"}' });
    return [(await json<{ id: number }>(answer)).id, answer.headers.get('idempotency-replayed')] as const;
  };
  const [id] = await create();
  await turn({ advance: '86399s' });
  assert.deepEqual(await create(), [id, 'true']);
  await turn({ advance: '1s' });
  const [other, replayed] = await create();
  assert.deepEqual([other > id, replayed], [true, null]);
});

test('an order ships, and the audit is written, in turned time', async () => {
  const { secret } = await service.issue({ plan: 'business' });
  const post = async (path: string, body: unknown) => {
    const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) };
    const created = await service.call(secret, path, init);
    assert.equal(created.status, 201);
    return json<{ id: number; complete?: boolean }>(created);
  };
  const { id: categoryId } = await post('/categories', { name: 'Cat' });
  const { id: petId } = await post('/pets', { name: 'Tom', categoryId });
  const shipDate = new Date(((await now()) + 2 * DAY) * 1_000).toISOString();
  const { id } = await post('/store/orders', { petId, quantity: 1, shipDate });
  const isComplete = async () =>
    (await json<{ complete: boolean }>(service.call(secret, `/store/orders/${id}`))).complete;
  assert.equal(await isComplete(), false);
  const { now: turned, turnedBy } = await turn({ advance: '3d' });
  assert.equal(await isComplete(), true);
  type Entry = Record<'at' | 'action' | 'actor' | 'target', string> & Record<'before' | 'after', unknown>;
  const [entry] = await json<Entry[]>(admin.send('GET', '/audit?limit=1'));
  assert.deepEqual(
    [entry?.at, entry?.action, entry?.actor, entry?.target, entry?.before, entry?.after],
    [turned, 'clock.turn', 'admin', 'clock', { turnedBy: turnedBy - 3 * DAY }, { turnedBy }],
  );
});

test('every answer has a Date by the turned time, also one to a request that cannot be read', async () => {
  const date = new Date((await now()) * 1_000).toUTCString();
  assert.notEqual(date, new Date(service.clock.now().unix * 1_000).toUTCString());
  const { secret } = await service.issue();
  for (const answer of [
    await service.call(secret, '/pets'),
    await service.call('wrong', '/pets'),
    await fetch(`${service.operatorUrl}/livez`),
    await fetch(`${service.operatorUrl}/console/login`),
  ]) {
    assert.equal(answer.headers.get('date'), date, answer.url);
  }
  await using raw = new RawConnection(connect(Number(new URL(service.url).port), '127.0.0.1'));
  await raw.send('GET / HTTP/1.1\r\nno header\r\n\r\n');
  const { status, headers } = await raw.answer();
  assert.deepEqual([status, headers.get('date')], [400, date]);
});

test('sessions, login links and tokens keep the time of the machine, and the turned time outlives a restart', async () => {
  const { signIn, loginLink, send } = await import('../kit/console/visitor.ts');
  const operator = await signIn(service);
  const { token } = await loginLink(service);
  const turned = await turn({ advance: '300d' });
  const page = await operator.page('/clock');
  assert.ok(page.includes(turned.now), page);
  const opened = await send(service, '/login', { body: new URLSearchParams({ token }) });
  assert.equal(opened.status, 303);
  // Made in the console to last 30 days, it is still good although 300 have passed.
  const made = await operator.post('/tokens', { name: 'short', role: 'viewer', life: '30' });
  const secret = /petcat_op_\w{36}/.exec(await made.text())?.[0] ?? '';
  await turn({ advance: '300d' });
  const get = () => fetch(`${service.operatorUrl}/api/v1/keys`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal((await get()).status, 200);
  const before = await now();
  await service.restart();
  assert.equal(await now(), before);
  await operator.page('/clock');
  service.clock.advance(31 * DAY);
  assert.equal((await get()).status, 401);
  assert.equal((await operator.get('/clock')).headers.get('location'), '/console/login');
  // The token of this suite never ends.
  assert.equal(await now(), before + 31 * DAY);
});

test('a turn that comes while the service starts is taken', async () => {
  using folder = temporaryFolder();
  const flags = { PORT: '0', DATABASE_URL: `sqlite:${folder.path}/x.db`, ENVIRONMENT: 'staging', REHEARSAL: 'on' };
  const config = readConfig({ flags, env: {}, file: {} });
  const machine = manualClock();
  const turned = new TurnedTime(machine);
  const events = recordedEvents();
  await using storage = await openStorage(config.database, { ...config, time: turned });
  const rehearsal = await openRehearsal(storage, turned);
  await turnTime(storage.transactions, { advance: '1h' }, { machine, by: OPERATOR });
  await using limiter = await openLimiter(config, { storage, time: turned, events });
  const parts = { storage, limiter, rehearsal, time: turned, events };
  await using _service = await startService(config, { ...parts, metrics: createMetrics() });
  assert.equal(turned.shown.turnedBy, HOUR);
  turned.turn(HOUR - 1);
  assert.equal(turned.shown.turnedBy, HOUR, 'time never goes back');
  const { unixMs, steadyMs } = { ...machine, unixMs: () => 1_500, steadyMs: () => 2_500 };
  const still = new TurnedTime({ ...machine, unixMs, steadyMs }, 7);
  assert.deepEqual([still.unixMs(), still.steadyMs(), still.now().unix - machine.now().unix], [8_500, 9_500, 7]);
  const taken = await Promise.all([HOUR - 1, HOUR, HOUR + 1].map((by) => isTaken(storage.transactions, by)));
  assert.deepEqual(taken, [true, true, false], 'the service may have gone further');
});

test('a turn may go nowhere, and to the last second of 8999; a command whose clock is ahead is believed', async () => {
  using folder = temporaryFolder();
  const machine = manualClock();
  const time = new TurnedTime(machine);
  const flags = { DATABASE_URL: `sqlite:${folder.path}/x.db` };
  const config = readConfig({ flags, env: {}, file: {} });
  await using storage = await openStorage(config.database, { ...config, time });
  const { transactions } = storage;
  await markRehearsed(transactions);
  const turned = async (by: Turn, ahead = 0) => {
    const own = manualClock(machine.now().unix + ahead);
    return timeJson((await turnTime(transactions, by, { machine: own, by: OPERATOR })).resource as ShownTime);
  };
  const start = '2026-01-01T12:00:00Z';
  assert.deepEqual(await turned({ set: start }), { now: start, turnedBy: 0 });
  assert.deepEqual(await turned({ advance: '10s' }, 1), { now: '2026-01-01T12:00:11Z', turnedBy: 10 });
  assert.equal(await takeTurn(transactions, machine), 11);
  assert.equal((await turned({ set: '8999-12-31T23:59:59Z' })).now, '8999-12-31T23:59:59Z');
  await assert.rejects(turned({ advance: '1s' }), { message: 'The time can be put forward to the year 8999' });
});

test('the contract of the operator API has the clock in rehearsal, and the committed one does not', async () => {
  const contract = await json<{ paths: Record<string, object> }>(fetch(`${service.operatorUrl}/openapi.json`));
  assert.deepEqual(Object.keys(contract.paths['/clock'] ?? {}), ['get', 'post']);
  const page = await (await fetch(`${service.operatorUrl}/docs`)).text();
  for (const operation of ['getClock', 'turnClock']) assert.match(page, new RegExp(`\\b${operation}\\b`));
  const committed = JSON.parse(readFileSync(new URL('../../operator-openapi.json', import.meta.url), 'utf8'));
  const { '/clock': _, ...usual } = contract.paths;
  assert.deepEqual(committed.paths, usual);
});

test('the sunset turns getPet into 410', async () => {
  const { secret } = await service.issue({ plan: 'business' });
  await turn({ set: '2030-12-04T23:59:59Z' });
  assert.notEqual((await service.call(secret, '/pets/1')).status, 410);
  await turn({ set: '2030-12-05T00:00:00Z' });
  assert.deepEqual(await codeOf(service.call(secret, '/pets/1')), [410, 'gone']);
});
