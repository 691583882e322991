import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type SmallClient, smallClient } from '../kit/rehearsal/clients.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';

/** Small clients that each break one rule on purpose: each is caught by its rule, and by no rule that it keeps. */

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

async function verdicts(
  script: string,
  broken: Parameters<typeof smallClient>[1],
  work: (client: SmallClient) => Promise<unknown>,
): Promise<Record<string, string>> {
  const { service, time } = rehearsed;
  const { secret, verdicts: judged } = await rehearsed.follow(script);
  await time.run(work(smallClient({ url: service.url, secret, time }, broken)).catch(() => {}));
  return judged();
}

async function createAndGoOn(client: SmallClient): Promise<void> {
  await client.create('Dog');
  await client.list(10);
}

const SCRIPT = 'limit:2,lost,error*2,unknown,grease,ok';
const ALL_KEPT = {
  waits: 'kept',
  'backs-off': 'kept',
  'retries-safely': 'kept',
  once: 'kept',
  tolerates: 'kept',
};

test('a careful client keeps every rule that it meets', async () => {
  assert.deepEqual(await verdicts(SCRIPT, { triesMax: 9 }, createAndGoOn), ALL_KEPT);
});

test('a client that goes by its own backoff instead of Retry-After breaks `waits`', async () => {
  const met = await verdicts(SCRIPT, { triesMax: 9, waitsForRetryAfter: false }, createAndGoOn);
  assert.deepEqual(met, { ...ALL_KEPT, waits: 'broken' });
});

test('a client that retries at once breaks `backs-off`', async () => {
  const met = await verdicts(SCRIPT, { triesMax: 9, backsOff: false }, createAndGoOn);
  assert.deepEqual(met, { ...ALL_KEPT, 'backs-off': 'broken' });
});

test('a client that forgets the Idempotency-Key breaks `retries-safely`, and `once` where it created twice', async () => {
  const forgets = { keepsIdempotencyKey: false };
  const failed = await verdicts('error,reset,ok', forgets, createAndGoOn);
  assert.deepEqual(failed, { 'backs-off': 'kept', 'retries-safely': 'broken' });
  for (const step of ['lost', 'cut', 'unknown']) {
    const { 'retries-safely': safely, once, ...others } = await verdicts(`${step},ok`, forgets, createAndGoOn);
    assert.deepEqual([safely, once], ['broken', 'broken'], step);
    assert.ok(!Object.values(others).includes('broken'), step);
  }
});

test('a client that repeats a 400 breaks `stops`', async () => {
  const met = await verdicts('ok', { stopsAtRefusals: false, triesMax: 3 }, (client) => client.create(''));
  assert.deepEqual(met, { stops: 'broken' });
  assert.deepEqual(await verdicts('ok', {}, (client) => client.create('')), { stops: 'kept' });
});

test('a client that never gives up breaks `gives-up`', async () => {
  const tireless = await verdicts('lost*11,ok', { triesMax: 99 }, (client) => client.list(10));
  assert.deepEqual(tireless, { 'backs-off': 'kept', 'gives-up': 'broken' });
  const sensible = await verdicts('lost*11,ok', { triesMax: 10 }, (client) => client.list(10));
  assert.deepEqual(sensible, { 'backs-off': 'kept', 'gives-up': 'kept' });
});

test('a client that decodes strictly breaks `tolerates`', async () => {
  assert.deepEqual(await verdicts('grease,ok', { ignoresUnknownMembers: false }, createAndGoOn), {
    tolerates: 'broken',
  });
  assert.deepEqual(await verdicts('grease,ok', {}, createAndGoOn), { tolerates: 'kept' });
});
