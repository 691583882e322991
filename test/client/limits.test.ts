import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, PetCatalog, type PetCatalogOptions } from '../../client/src/pet-catalog.ts';
import { openStorage } from '../../src/storage/open.ts';
import { type VirtualTime, virtualTime } from '../kit/client/virtual-time.ts';
import { untilTrue } from '../kit/clock.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type TestService, testService } from '../kit/service.ts';

/** Limits and bans of the real service, on a clock that advances when all clients wait. */

const MINUTE_MS = 60_000;
const CLIENTS = 10;
const CALLS = 150;
const PER_MINUTE = 60;
/** Fewer than a plan has, to send fewer. */
const FEW = 30;

interface Traffic {
  good: number;
  refused: number;
}

/** A client of the service, and what it was answered. */
function counting(service: TestService, time: VirtualTime, apiKey: string, options: Partial<PetCatalogOptions> = {}) {
  const traffic: Traffic = { good: 0, refused: 0 };
  const catalog = new PetCatalog({
    ...{ baseUrl: service.url, apiKey, timeoutMs: 10 * MINUTE_MS, fetch: time.fetch, clock: time.clock },
    onResponse: ({ status }) => {
      if (status === 429) traffic.refused += 1;
      else traffic.good += 1;
    },
    ...options,
  });
  return { catalog, traffic };
}

function repeat<Result>(times: number, work: () => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: times }, work));
}

const started: [string, number, number][] = [
  ['one call after the other', 1, 0],
  ['15 calls at once', 15, 0],
  ['15 calls at once, into a window that another has half used up', 15, 15],
];

for (const [how, concurrent, usedUp] of started) {
  test(`10 clients with one key make 150 calls in the least time, and no ban: ${how}`, async () => {
    await using service = await testService({ BAN_AFTER_REFUSALS: `${FEW}` });
    const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: FEW, day: 1_000 } });
    const time = virtualTime(service.clock);
    for (let call = 0; call < usedUp; call += 1) await service.call(secret, '/categories');
    if (usedUp > 0) service.clock.advance(20);
    const begun = service.clock.now().unix;
    const clients = Array.from({ length: CLIENTS }, () => counting(service, time, secret));
    const row = async (catalog: PetCatalog) => {
      for (let call = 0; call < CALLS / CLIENTS / concurrent; call += 1) await catalog.categories.list();
    };
    await time.run(Promise.all(clients.map(({ catalog }) => repeat(concurrent, () => row(catalog)))));

    assert.equal(sum(clients.map(({ traffic }) => traffic.good)), CALLS);
    assert.deepEqual(service.events.bans, []);
    // The windows open as early as can be: a minute after the last, the first of them 20 s ago where it was half used.
    const windows = Math.ceil((CALLS + usedUp) / FEW);
    const least = (windows - 1) * 60 - (usedUp > 0 ? 20 : 0);
    const took = service.clock.now().unix - begun;
    assert.ok(took >= least && took <= least + 1, `${took} s instead of ${least} s`);
  });
}

test('a 429 that cannot be waited for fails at once and says until when, and the calls after it are not sent', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const time = virtualTime(service.clock);
  const { catalog, traffic } = counting(service, time, secret, { timeoutMs: 30_000 });
  await time.run(repeat(PER_MINUTE, () => catalog.categories.list()));
  const first = await caught(time, catalog.categories.list());
  assert.deepEqual([first.code, first.status, first.retryAfter], ['rate_limit_exceeded', 429, 60]);
  assert.equal(first.retryAt?.getTime(), service.clock.now().unix * 1_000 + MINUTE_MS);

  await time.run(time.clock.sleep(9_500, new AbortController().signal));
  const failed = await time.run(repeat(100, () => caught(time, catalog.categories.create({ name: 'Dog' }))));
  for (const error of failed) {
    assert.deepEqual([error.code, error.operation, error.retryAfter], ['rate_limit_exceeded', 'createCategory', 51]);
    assert.match(error.message, /not sent/);
    assert.equal(error.requestId, first.requestId);
  }
  assert.equal(traffic.refused, 1);
  await time.run(time.clock.sleep(20_501, new AbortController().signal));
  await time.run(catalog.categories.list());
  assert.equal(time.elapsedMs(), MINUTE_MS);
  assert.equal(traffic.refused, 1);
});

test('a ban fails every call at once, is asked about once a minute, and is over when it is over', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const time = virtualTime(service.clock);
  const { catalog, traffic } = counting(service, time, secret);
  await provokeBan(service, secret, 2);
  const banned = await caught(time, catalog.categories.list());
  assert.deepEqual([banned.code, banned.status, banned.retryAfter], ['key_banned', 429, 300]);
  assert.match(banned.message, /^listCategories: The key is banned/, 'it was sent, and is not tried again');
  for (let second = 20; second < 300; second += 20) {
    await time.run(time.clock.sleep(20_000, new AbortController().signal));
    for (const error of await time.run(repeat(3, () => caught(time, catalog.categories.list()))))
      assert.deepEqual([error.code, error.retryAfter], ['key_banned', 300 - second]);
  }
  assert.equal(traffic.refused, 5);
  await time.run(time.clock.sleep(20_000, new AbortController().signal));
  assert.deepEqual([...(await time.run(catalog.categories.list()))], []);
});

test('a queued call fails on a ban instead of waiting through it', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const time = virtualTime(service.clock);
  const { catalog, traffic } = counting(service, time, secret);
  await provokeBan(service, secret, 1);
  const errors = await time.run(repeat(50, () => caught(time, catalog.categories.list())));
  assert.ok(errors.every(({ code }) => code === 'key_banned'));
  assert.ok(traffic.refused <= 6, `${traffic.refused} requests during the ban`);
  assert.equal(time.elapsedMs(), 0);
});

test('a lifted ban is noticed by asking for the limits, which is always sent', async () => {
  await using service = await testService();
  const { key, secret } = await service.issue();
  const time = virtualTime(service.clock);
  const { catalog } = counting(service, time, secret);
  await provokeBan(service, secret, 1);
  await caught(time, catalog.categories.list());
  assert.equal(typeof (await time.run(catalog.rateLimit())).ban?.until, 'number');
  assert.equal((await caught(time, catalog.categories.list())).code, 'key_banned');
  {
    // As `keys unban` does it, in a process of its own.
    const { clock, config } = service;
    await using storage = await openStorage(config.database, {
      time: clock,
      categoriesMax: config.categoriesMax,
      categoriesBytesMax: config.categoriesBytesMax,
    });
    await storage.keys.lift(key.id, clock.now().unix, OPERATOR);
  }
  service.clock.advance(58);
  await untilTrue(async () => (await time.run(catalog.rateLimit())).minute.remaining > 0);
  assert.deepEqual([...(await time.run(catalog.categories.list()))], []);
});

/** What a call fails with. */
async function caught(time: VirtualTime, call: Promise<unknown>): Promise<ApiError> {
  const error = await time.run(
    call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    ),
  );
  assert.ok(error instanceof ApiError, `${error}`);
  return error;
}

/** Goes on after a 429 until the key is banned, as often as that. */
async function provokeBan(service: TestService, secret: string, times: number): Promise<void> {
  for (let ban = 1; ban <= times; ban += 1) {
    const call = () => service.call(secret, '/categories');
    for (let request = 0; request <= PER_MINUTE; request += 1) await call();
    service.clock.advance(2);
    for (let request = 0; request <= PER_MINUTE; request += 1) await call();
    assert.equal(service.events.bans.length, ban);
    if (ban < times) service.clock.advance(61);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
