import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { readRehearsal, saveProgress } from '../../src/rehearsal/verdict/notes.ts';
import { insertInto, one } from '../../src/storage/sql/statement.ts';
import type { Tables } from '../../src/storage/sql/tables.ts';
import { type Followed, type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';
import { json } from '../kit/service.ts';

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

test('at unavailable and error nothing is done, and at unknown it is', async () => {
  const key = await rehearsed.follow('unavailable:7,error,unknown,ok');
  const answers = [await create(key, 'busy'), await create(key, 'failed'), await create(key, 'unsure')];
  const bodies = await Promise.all(answers.map((answer) => json<{ code: string; status: number }>(answer)));
  assert.deepEqual(
    bodies.map(({ code, status }) => [status, code]),
    [
      [503, 'unavailable'],
      [500, 'internal_error'],
      [503, 'outcome_unknown'],
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
  await assert.rejects(create(key, 'reset'));
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

test('revoked is the 401 of any unknown key, for good, and getRateLimit is refused from then on', async () => {
  const { service } = rehearsed;
  const key = await rehearsed.follow('ok,revoked');
  assert.equal((await list(key)).status, 200);
  assert.equal((await service.call(key.secret, '/rate_limit')).status, 200);
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
  const key = await rehearsed.follow('ok,grease*3');
  const created = await create(key, 'greased');
  assert.equal(created.status, 201);
  const listed = await list(key);
  assert.equal(listed.headers.get('etag'), null);
  assert.ok([...listed.headers.keys()].some((name) => name.startsWith('grease-')));
  for (const category of await json<Record<string, unknown>[]>(listed)) {
    assert.equal(Object.keys(category).filter((name) => name.startsWith('grease_')).length, 1);
  }
  const missing = await rehearsed.service.call(key.secret, '/nowhere');
  assert.deepEqual(Object.keys(await json<object>(missing)).sort(), ['code', 'message', 'status']);
  assert.deepEqual([missing.status, (await key.report()).reached], [404, 3]);
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
  const key = await rehearsed.follow('lost,ok,cut');
  const same = { 'idempotency-key': 'k' };
  await assert.rejects(create(key, 'same', same));
  assert.equal((await create(key, 'same', same)).headers.get('idempotency-replayed'), 'true');
  await assert.rejects(rehearsed.service.call(key.secret, '/categories', { method: 'HEAD' }));
  const { requests } = await key.report();
  assert.deepEqual(
    requests.map(({ status, hasCreated, isDelivered }) => [status, hasCreated, isDelivered]),
    [
      [null, true, false],
      [201, false, true],
      [null, false, false],
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
  await saveProgress(transactions, id, { reached: 1, holdsUntilMs: 7, number: 0, note });
  assert.deepEqual((await readRehearsal(transactions, id))?.notes, [note]);
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

test('with a seed every answer under /v1 is greased, the same for the same seed', async () => {
  const greased = async (greaseSeed: string) => {
    await using own = await rehearsedService({ greaseSeed });
    const { secret } = await own.service.issue();
    const body = JSON.stringify({ name: 'Dog' });
    const headers = { 'content-type': 'application/json' };
    const created = await own.service.call(secret, '/categories', { method: 'POST', body, headers });
    const listed = await own.service.call(secret, '/categories');
    assert.equal(listed.headers.get('etag'), null);
    return [await created.text(), await listed.text()];
  };
  const [created = '', listed = ''] = await greased('one');
  assert.match(created, /"grease_/);
  assert.match(listed, /"grease_/);
  assert.deepEqual(await greased('one'), [created, listed]);
  assert.notDeepEqual(await greased('two'), [created, listed]);
});
