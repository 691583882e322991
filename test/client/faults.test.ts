import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PetCatalog, type PetCatalogOptions } from '../../client/src/pet-catalog.ts';
import { virtualTime } from '../kit/client/virtual-time.ts';
import { manualClock } from '../kit/clock.ts';
import { type TestService, testService } from '../kit/service.ts';

/** Answers that are withheld from the client; time passes when it waits. */

/** What a request meets: its answer; none, done or not; none until the client leaves. */
type Step = 'ok' | 'lost' | 'reset' | 'stall';

const clock = manualClock();
const time = virtualTime(clock);
let service: TestService;
before(async () => {
  service = await testService({}, clock);
});
after(() => service[Symbol.asyncDispose]());

/** A client whose requests meet these steps and then `ok`, and the steps that they have met. */
async function follow(steps: readonly Step[], options: Partial<PetCatalogOptions> = {}) {
  const { secret } = await service.issue();
  const met: Step[] = [];
  const withheld: typeof fetch = async (input, init) => {
    const step = steps[met.length] ?? 'ok';
    met.push(step);
    if (step === 'reset') throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } });
    const answer = await time.fetch(input, init);
    if (step === 'lost') throw new TypeError('fetch failed', { cause: { code: 'UND_ERR_SOCKET' } });
    const signal = init?.signal;
    if (step === 'stall' && signal) {
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    return answer;
  };
  const baseUrl = service.url;
  return {
    catalog: new PetCatalog({ baseUrl, apiKey: secret, fetch: withheld, clock: time.clock, ...options }),
    met,
  };
}

test('a create whose answer is lost is created once', async () => {
  const { catalog, met } = await follow(['lost', 'lost']);
  const made = await time.run(catalog.categories.create({ name: 'Dog' }));
  assert.deepEqual(met, ['lost', 'lost', 'ok']);
  const all = await time.run(catalog.categories.list());
  assert.deepEqual(
    all.filter(({ name }) => name === 'Dog'),
    [made],
  );
});

test('an order whose cancellation answer is lost is cancelled; an unknown one is not found', async () => {
  const { catalog, met } = await follow(['ok', 'ok', 'ok', 'lost']);
  const order = await time.run(
    (async () => {
      const { id: categoryId } = await catalog.categories.create({ name: 'Cat' });
      const { id: petId } = await catalog.pets.create({ name: 'Tom', categoryId });
      const placed = await catalog.orders.place({ petId, quantity: 1 });
      await catalog.orders.cancel(placed.id);
      return placed;
    })(),
  );
  assert.deepEqual(met.slice(3), ['lost', 'ok']);
  assert.deepEqual([...(await time.run(catalog.orders.list({ petId: order.petId })))], []);
  await time.run(assert.rejects(catalog.orders.cancel(order.id), { code: 'not_found', operation: 'cancelOrder' }));
});

test('a stock update over a connection that drops is repeated only with If-Match', async () => {
  const { catalog, met } = await follow(['ok', 'ok', 'ok', 'reset', 'ok', 'lost']);
  await time.run(
    (async () => {
      const { id: categoryId } = await catalog.categories.create({ name: 'Fish' });
      const { id } = await catalog.pets.create({ name: 'Wanda', categoryId });
      const { headers } = await catalog.inventory.get(id).withResponse();
      const ifMatch = headers.get('ETag') ?? undefined;
      assert.equal((await catalog.inventory.update(id, { quantity: 9 }, { ifMatch })).quantity, 9);
      assert.deepEqual(met.slice(3), ['reset', 'ok']);
      // An order may come between, which the same quantity again would forget.
      await assert.rejects(catalog.inventory.update(id, { quantity: 8 }), { name: 'ConnectionError' });
      assert.equal((await catalog.inventory.get(id)).quantity, 8);
    })(),
  );
  assert.deepEqual(met.slice(5), ['lost', 'ok']);
});

test('a missing answer ends the attempt at its timeout, and the call at its deadline', async () => {
  const { catalog, met } = await follow(['stall'], { attemptTimeoutMs: 2_000 });
  const made = await time.run(catalog.categories.create({ name: 'Bird' }));
  const all = await time.run(catalog.categories.list());
  assert.deepEqual(
    all.filter(({ name }) => name === 'Bird'),
    [made],
  );
  assert.deepEqual(met, ['stall', 'ok', 'ok']);

  const silent: Step[] = ['stall', 'stall', 'stall'];
  const hasty = (await follow(silent, { timeoutMs: 300 })).catalog;
  await time.run(assert.rejects(hasty.categories.list(), { name: 'TimeoutError', operation: 'listCategories' }));
  const once = (await follow(silent, { attemptTimeoutMs: 300, maxRetries: 0 })).catalog;
  await time.run(assert.rejects(once.categories.list(), { name: 'TimeoutError', message: /no answer within 300 ms/ }));
});
