import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { insertScript, readRehearsal, saveProgress } from '../../src/rehearsal/verdict/stored-rehearsals.ts';
import { insertInto, one } from '../../src/storage/sql/statement.ts';
import type { Tables } from '../../src/storage/sql/tables.ts';
import { apiClient } from '../kit/operator.ts';
import { type Followed, type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';
import { json, testService } from '../kit/service.ts';

/** What a caller meets on the wire at each step of a script. */

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

const list = ({ secret }: Followed) => rehearsed.service.call(secret, '/categories');
const create = ({ secret }: Followed, name: string, headers: Record<string, string> = {}) =>
  rehearsed.service.call(secret, '/categories', {
    method: 'POST',
    body: JSON.stringify({ name }),
    headers: { 'content-type': 'application/json', ...headers },
  });
const names = async () => {
  const { secret } = await rehearsed.service.issue();
  const listed = await json<{ name: string }[]>(rehearsed.service.call(secret, '/categories'));
  return listed.map(({ name }) => name);
};

test('a script without an end to meet is answered as usual, during it and after it', async () => {
  const key = await rehearsed.follow('ok*2');
  for (let call = 0; call < 3; call += 1) assert.equal((await list(key)).status, 200);
  const { reached, steps, requests } = await key.report();
  assert.deepEqual([reached, steps], [2, 2]);
  assert.deepEqual(
    requests.map(({ number, step, status, isDone }) => [number, step, status, isDone]),
    [
      [1, 'ok', 200, true],
      [2, 'ok', 200, true],
      [3, null, 200, true],
    ],
  );
});

for (const [step, code, message, limit, window] of [
  [
    'limit:30',
    'rate_limit_exceeded',
    /^The limit of 60 requests per minute is reached; retry in 30 s, at /,
    60,
    'minute',
  ],
  [
    'quota:30',
    'daily_quota_exceeded',
    /^The quota of 1000 requests per day is reached; retry in 30 s, at /,
    1_000,
    'day',
  ],
  ['ban:30', 'key_banned', /^The key is banned because it was banned by its script; retry in 30 s/, 60, 'minute'],
] as const) {
  test(`${step} is a 429 with all its headers, which holds until its seconds are over and spends no more steps`, async () => {
    const { time, service } = rehearsed;
    const key = await rehearsed.follow(`${step},ok`);
    const first = await list(key);
    assert.equal(first.status, 429);
    const body = await json<{ code: string; message: string }>(first);
    assert.equal(body.code, code);
    assert.match(body.message, message);
    const told = (response: Response) =>
      ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => response.headers.get(name));
    assert.deepEqual(told(first), ['30', `${limit}`, '0']);
    const reset = Number(first.headers.get('x-ratelimit-reset'));
    assert.equal(reset, service.clock.now().unix + 30);
    assert.ok(first.headers.get('ratelimit')?.includes(`"${window}";r=0;t=30`));

    await time.run(time.clock.sleep(12_000, new AbortController().signal));
    assert.deepEqual(told(await create(key, 'early')), ['18', `${limit}`, '0']);
    const free = await json<{ minute: { remaining: number }; day: { remaining: number }; ban: unknown }>(
      service.call(key.secret, '/rate_limit'),
    );
    assert.equal(free.minute.remaining === 0, code !== 'daily_quota_exceeded');
    assert.equal(free.day.remaining === 0, code === 'daily_quota_exceeded');
    assert.equal(free.ban !== null, code === 'key_banned');

    await time.run(time.clock.sleep(18_000, new AbortController().signal));
    const after = await list(key);
    assert.deepEqual([after.status, after.headers.get('x-ratelimit-remaining')], [200, '59']);
    const { reached, requests } = await key.report();
    assert.equal(reached, 2);
    assert.deepEqual(
      requests.map((request) => [request.step, request.isEarly, request.status]),
      [
        [step, false, 429],
        [null, true, 429],
        [null, false, 200],
        ['ok', false, 200],
      ],
    );
    assert.deepEqual(await key.verdicts(), { waits: 'broken', 'gives-up': 'kept' });
  });
}

test('a request has the turned time of its arrival, and limit-date a date by the turned time', async () => {
  await using own = await rehearsedService();
  const { service, time } = own;
  const key = await own.follow('ok,limit-date:30,ok');
  const headers = { authorization: `Bearer ${key.secret}`, expect: '100-continue', 'content-type': 'application/json' };
  const sent = request(`${service.url}/categories`, { method: 'POST', headers, agent: false });
  sent.flushHeaders();
  await once(sent, 'continue');
  assert.equal((await (await apiClient(service, 'admin')).send('POST', '/clock', { advance: '5s' })).status, 200);
  sent.end('{"name":"late"}');
  const [created] = (await once(sent, 'response')) as [IncomingMessage];
  created.resume();
  assert.equal(created.statusCode, 201);

  const until = new Date((service.clock.now().unix + 35) * 1_000).toUTCString();
  for (const seconds of [30, 18]) {
    const answer = await service.call(key.secret, '/categories');
    const { code, message } = await json<{ code: string; message: string }>(answer);
    assert.deepEqual([code, answer.headers.get('retry-after')], ['rate_limit_exceeded', until]);
    assert.match(message, new RegExp(`^The limit of 60 requests per minute is reached; retry in ${seconds} s, at `));
    await time.run(time.clock.sleep(12_000, new AbortController().signal));
  }
  const { requests } = await key.report();
  assert.deepEqual(
    requests.map(({ turnedBy, retryAfter }) => [turnedBy, retryAfter]),
    [
      [0, null],
      [5, 30],
      [5, 18],
    ],
  );
});

test('at unavailable and error nothing is done, and at unknown it is', async () => {
  const key = await rehearsed.follow('unavailable:7,error,unknown,ok');
  const answers = [await create(key, 'busy'), await create(key, 'failed'), await create(key, 'unsure')];
  const bodies = await Promise.all(
    answers.map((answer) => json<{ code: string; message: string; status: number }>(answer)),
  );
  assert.deepEqual(
    bodies.map(({ code, status, message }) => [status, code, message]),
    [
      [503, 'unavailable', 'The service cannot do this now; retry in 7 s'],
      [500, 'internal_error', 'The service failed; quote the X-Request-Id when you report it'],
      [
        503,
        'outcome_unknown',
        'It is not known whether this was stored; retry with the same Idempotency-Key, or look first',
      ],
    ],
  );
  assert.deepEqual(
    answers.map(({ headers }) => headers.get('retry-after')),
    ['7', null, '1'],
  );
  assert.equal(answers[0]?.headers.get('x-ratelimit-remaining'), '59');
  const all = await names();
  assert.ok(all.includes('unsure') && !all.includes('busy') && !all.includes('failed'));
  const { requests } = await key.report();
  assert.deepEqual(
    requests.map(({ isDone, hasCreated }) => [isDone, hasCreated]),
    [
      [false, false],
      [false, false],
      [true, true],
    ],
  );
});

test('lost and cut carry the request out, reset does not, and no client reads an answer', async () => {
  const key = await rehearsed.follow('lost,reset,cut,lost');
  await assert.rejects(create(key, 'lost'));
  await assert.rejects(create(key, 'reset'), ({ cause }) => cause.code === 'ECONNRESET');
  const cut = await create(key, 'cut', { connection: 'keep-alive' });
  assert.equal(cut.status, 201);
  assert.equal(cut.headers.get('content-length'), `${JSON.stringify({ id: 99, name: 'cut' }).length - 1}`);
  await assert.rejects(cut.text());
  await assert.rejects(list(key));
  const all = await names();
  assert.ok(all.includes('lost') && all.includes('cut') && !all.includes('reset'));
  const { requests } = await key.report();
  assert.deepEqual(
    requests.map(({ status, isDelivered, isDone }) => [status, isDelivered, isDone]),
    [
      [null, false, true],
      [null, false, false],
      [201, false, true],
      [null, false, true],
    ],
  );
  assert.equal((await rehearsed.service.call(key.secret, '/rate_limit')).status, 200);
});

test('what was reset was not counted against the limits', async () => {
  const key = await rehearsed.follow('reset,ok');
  await assert.rejects(list(key));
  assert.equal((await list(key)).headers.get('x-ratelimit-remaining'), '59');
});

test('slow answers after its seconds', async () => {
  const { time } = rehearsed;
  const key = await rehearsed.follow('slow:20');
  const startedMs = time.clock.now();
  const headers = { authorization: `Bearer ${key.secret}` };
  const answer = await time.run(time.fetch(`${rehearsed.service.url}/categories`, { headers }));
  assert.equal(answer.status, 200);
  assert.equal(time.clock.now() - startedMs, 20_000);
  const [request] = (await key.report()).requests;
  assert.equal((request?.answeredAt ?? 0) - (request?.at ?? 0), 20_000);
});

test('a slow create is carried out, and one whose client leaves has no answer', async () => {
  const { service, time } = rehearsed;
  const key = await rehearsed.follow('slow:20*2');
  const init = { method: 'POST', body: '{"name":"slow"}', headers: { 'content-type': 'application/json' } };
  const headers = { ...init.headers, authorization: `Bearer ${key.secret}` };
  const created = await time.run(time.fetch(`${service.url}/categories`, { ...init, headers }));
  assert.equal(created.status, 201);
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.end(`GET /v1/categories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`);
  await socket.resume().toArray();
  const { requests } = await key.report();
  assert.deepEqual(
    requests.map(({ hasCreated, isDelivered }) => [hasCreated, isDelivered]),
    [
      [true, true],
      [false, false],
    ],
  );
});

test('revoked is the 401 of any unknown key, for good, and getRateLimit is refused from then on', async () => {
  const { service } = rehearsed;
  const key = await rehearsed.follow('ok,revoked');
  assert.equal((await list(key)).status, 200);
  assert.equal((await service.call(key.secret, '/rate_limit')).status, 200);
  assert.equal((await service.call(key.secret, '/rate_limit', { method: 'HEAD' })).status, 200);
  assert.equal((await key.report()).reached, 1);
  const refused = await list(key);
  const unknown = await service.call('petcat_test_0', '/categories');
  const told = async (response: Response) => {
    const changing = new Set(['x-request-id', 'date']);
    return [response.status, [...response.headers].filter(([name]) => !changing.has(name)), await response.text()];
  };
  assert.deepEqual(await told(refused), await told(unknown));
  assert.equal((await service.call(key.secret, '/rate_limit')).status, 401);
  assert.equal((await list(key)).status, 401);
  assert.deepEqual(await key.verdicts(), { stops: 'broken' });
});

test('a greased answer has unknown members and headers and no ETag; an error keeps its three members', async () => {
  const key = await rehearsed.follow('ok,grease*4');
  const created = await create(key, 'greased');
  assert.equal(created.status, 201);
  const listed = await list(key);
  assert.equal(listed.headers.get('etag'), null);
  assert.ok([...listed.headers.keys()].some((name) => name.startsWith('grease-')));
  const listedText = listed.text();
  for (const category of JSON.parse(await listedText) as Record<string, unknown>[]) {
    assert.equal(Object.keys(category).filter((name) => name.startsWith('grease_')).length, 1);
  }
  assert.notEqual(await (await list(key)).text(), await listedText, 'each step has its own');
  const missing = await rehearsed.service.call(key.secret, '/nowhere');
  assert.deepEqual(Object.keys(await json<object>(missing)).sort(), ['code', 'message', 'status']);
  assert.deepEqual([missing.status, (await key.report()).reached], [404, 4]);
});

test('a step meets what has no route, too, and preflights and getRateLimit spend none', async () => {
  const { service } = rehearsed;
  const key = await rehearsed.follow('error,unknown');
  const asked = { origin: 'https://shop.example', 'access-control-request-method': 'GET' };
  const preflight = await service.call(key.secret, '/categories', { method: 'OPTIONS', headers: asked });
  assert.deepEqual([preflight.status, preflight.headers.get('allow')], [204, null]);
  assert.equal((await service.call(key.secret, '/rate_limit')).status, 200);
  assert.equal((await service.call(key.secret, '/nowhere')).status, 500);
  assert.equal((await service.call(key.secret, '/rate_limit', { method: 'HEAD' })).status, 200);
  assert.equal((await service.call(key.secret, '/categories', { method: 'PUT' })).status, 503);
  assert.equal((await key.report()).reached, 2);
});

test('a limit is over 100 ms before its seconds are', async () => {
  const { time } = rehearsed;
  const key = await rehearsed.follow('limit:2,ok');
  await list(key);
  await time.run(time.clock.sleep(1_899, new AbortController().signal));
  assert.equal((await list(key)).status, 429);
  await time.run(time.clock.sleep(1, new AbortController().signal));
  assert.equal((await list(key)).status, 200);
});

test('a 429 says the same in body and headers, also when it goes out in a later second', async (t) => {
  const { service } = rehearsed;
  const { transactions } = service.storage;
  const key = await rehearsed.follow('limit:30');
  const batch = transactions.batch.bind(transactions);
  t.mock.method(transactions, 'batch', (work: Parameters<typeof batch>[0]) => {
    service.clock.advance(1);
    return batch(work);
  });
  const { headers } = await list(key);
  const told = ['retry-after', 'x-ratelimit-remaining', 'ratelimit'].map((name) => headers.get(name));
  assert.deepEqual(told.slice(0, 2), ['30', '0']);
  assert.match(told[2] ?? '', /"minute";r=0;t=30/);
});

test('ten thousand requests of a key are noted, and the script goes on', async () => {
  const { transactions } = rehearsed.service.storage;
  const key = await rehearsed.follow('error*3');
  const note = { ...(await noteOf(await rehearsed.follow('ok'))), key_id: key.id, number: 9_998 };
  await transactions.transact((trx) => trx.run(insertInto('rehearsal_notes', [note])));
  for (let call = 0; call < 3; call += 1) assert.equal((await list(key)).status, 500);
  const { reached, requests } = await key.report();
  assert.deepEqual([reached, requests.length], [3, 2]);
});

/** The row of a key's one request. */
async function noteOf(key: Followed) {
  await list(key);
  return rehearsed.service.storage.transactions.read((db) =>
    one<Tables['rehearsal_notes']>(db, sql`select * from rehearsal_notes where key_id = ${key.id}`),
  );
}

test('neither keys nor bodies are noted', async () => {
  const { storage } = rehearsed.service;
  const key = await rehearsed.follow('ok');
  await create(key, 'a secret pet', { 'idempotency-key': 'a secret key' });
  const rows = await storage.transactions.read((db) =>
    db.all(sql`select * from rehearsal_notes where key_id = ${key.id}`),
  );
  assert.equal(rows.length, 1);
  assert.doesNotMatch(JSON.stringify(rows), /secret/);
});

test('a replay creates nothing, and an answer without a body is lost rather than cut', async () => {
  const key = await rehearsed.follow('lost,ok,cut*2');
  const same = { 'idempotency-key': 'k' };
  await assert.rejects(create(key, 'same', same));
  assert.equal((await create(key, 'same', same)).headers.get('idempotency-replayed'), 'true');
  await assert.rejects(rehearsed.service.call(key.secret, '/categories', { method: 'HEAD' }));
  const cut = await rehearsed.service.call(key.secret, '/pets?categoryId=999', { headers: { connection: 'close' } });
  assert.deepEqual([cut.status, cut.headers.get('content-length')], [200, '2']);
  await assert.rejects(cut.text());
  const { requests } = await key.report();
  assert.deepEqual(
    requests.map(({ method, status, hasCreated, isDelivered }) => [method, status, hasCreated, isDelivered]),
    [
      ['POST', null, true, false],
      ['POST', 201, false, true],
      ['HEAD', null, false, false],
      ['GET', 200, false, false],
    ],
  );
});

test('the wait for a date is noted to the millisecond', async () => {
  const { id } = await rehearsed.follow('limit-date:2');
  const { transactions } = rehearsed.service.storage;
  const note = {
    ...{ at: 1, answeredAt: 2, turnedBy: 0, method: 'GET', route: '/v1/pets', target: 't', body: null, status: 429 },
    ...{ idempotencyKey: null, credentials: null, step: 'limit-date:2', isEarly: false, isDelivered: true },
    ...{ isDone: false, hasCreated: false, retryAfter: 2.345 },
  };
  await saveProgress(transactions, id, { position: { reached: 1, holdsUntilMs: 7 }, number: 0, note });
  assert.deepEqual((await readRehearsal(transactions, id))?.requests, [note]);
  await transactions.transact((trx) => trx.run(sql`update rehearsal_notes set retry_after_ms = null`));
  const [old] = (await readRehearsal(transactions, id))?.requests ?? [];
  assert.equal(old?.retryAfter, 3, 'notes of a service before that have whole seconds');
});

test('the same body and Idempotency-Key are known again, whatever else was answered', async () => {
  const key = await rehearsed.follow('limit:1,ok');
  const { time } = rehearsed;
  await create(key, 'same', { 'idempotency-key': 'k' });
  await time.run(time.clock.sleep(1_000, new AbortController().signal));
  await create(key, 'same', { 'idempotency-key': '"k"' });
  const [first, second] = (await key.report()).requests;
  assert.ok(first?.body && first.idempotencyKey);
  assert.deepEqual([first.body, first.idempotencyKey], [second?.body, second?.idempotencyKey]);
  const long = 'x'.repeat(100_000);
  for (const [path, end] of ['ay', 'az', 'ay', 'by'])
    await rehearsed.service.call(key.secret, `/nowhere?${path}`, { method: 'POST', body: long + end });
  const [y, z, again, elsewhere] = (await key.report()).requests.slice(2);
  assert.deepEqual(
    [y?.body === again?.body, y?.body === z?.body, y?.target === elsewhere?.target],
    [true, false, false],
  );
});

test('a restart goes on where the script was, also while a limit holds', async () => {
  await using own = await rehearsedService();
  const { service, time } = own;
  const key = await own.follow('ok,limit:30,error,ok');
  assert.equal((await service.call(key.secret, '/categories')).status, 200);
  assert.equal((await service.call(key.secret, '/categories')).status, 429);
  await service.restart();
  await time.run(time.clock.sleep(10_000, new AbortController().signal));
  const held = await service.call(key.secret, '/categories');
  assert.deepEqual([held.status, held.headers.get('retry-after')], [429, '20']);
  await time.run(time.clock.sleep(20_000, new AbortController().signal));
  assert.equal((await service.call(key.secret, '/categories')).status, 500);
  await service.restart();
  assert.equal((await service.call(key.secret, '/categories')).status, 200);
  const { reached, requests } = await key.report();
  assert.deepEqual([reached, requests.length], [4, 5]);
});

test('an answer that a defect made no JSON spends no grease', async () => {
  await using own = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', DEFECT: 'html-404' });
  const { key, secret } = await own.issue();
  await insertScript(own.storage.transactions, { keyId: key.id, script: 'grease' });
  assert.match(await (await own.call(secret, '/nothing')).text(), /^<!doctype html>/);
  const rehearsal = await readRehearsal(own.storage.transactions, key.id);
  assert.deepEqual(
    [rehearsal?.reached, rehearsal?.requests.map(({ status, step }) => [status, step])],
    [0, [[404, null]]],
  );
});

test('with a seed every answer under /v1 is greased, the same for the same seed', async () => {
  const greased = async (greaseSeed: string) => {
    await using own = await rehearsedService({ greaseSeed });
    const { secret } = await own.service.issue();
    const body = JSON.stringify({ name: 'Dog' });
    const headers = { 'content-type': 'application/json' };
    const created = await own.service.call(secret, '/categories', { method: 'POST', body, headers });
    const listed = await own.service.call(secret, '/categories');
    assert.equal(listed.headers.get('etag'), null);
    const contract = await fetch(new URL('/openapi.json', own.service.url));
    assert.ok(contract.headers.get('etag'), 'outside /v1 nothing is');
    return [await created.text(), await listed.text()];
  };
  const [created = '', listed = ''] = await greased('one');
  assert.match(created, /"grease_/);
  assert.match(listed, /"grease_/);
  assert.deepEqual(await greased('one'), [created, listed]);
  assert.notDeepEqual(await greased('two'), [created, listed]);
});
