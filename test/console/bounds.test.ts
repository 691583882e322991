import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptResult } from '../../src/operator/frame/kept.ts';
import { signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';

/** How much the pages of the console show and take, and what they say beyond that. */

async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index += 1) await work(index);
}

test('an overview without requests says what to do, and one with some how many there are in a second', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const busiest = async (query: string) =>
    /id="busiest-heading">.*<\/nav>\n(.*?)<\/section>/s
      .exec(await operator.page(query))?.[1]
      ?.replaceAll(/<[^>]*>/g, '')
      .trim();
  const none = 'There is no key yet.Every request to the API needs one. Create the first key';
  assert.equal(await busiest(''), none);
  const { secret } = await service.issue();
  assert.equal(
    await busiest(''),
    `No requests with a key in the last hour.A first request appears here within seconds: curl -H 'Authorization: Bearer YOUR_KEY' ${service.url}/categories`,
  );
  assert.equal(await busiest('?sort=refused'), 'None in the last hour.');
  await times(3, () => service.call(secret, '/categories'));
  const [, rate] = /<dt>Served \/s<\/dt><dd><a[^>]*>([^<]*)</.exec(await operator.page('')) ?? [];
  assert.match(rate ?? '', /^\d\.\d$/, 'below ten with a digit after the point');
});

test('a page waits half a second for slow work, and has its failure', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const work = Promise.withResolvers<string>();
  const result = keptResult(() => work.promise, { keptMs: 1_000, time: { steadyMs: () => 0 } });
  let given = 'nothing';
  const late = result().then((found) => {
    given = `${found}`;
  });
  t.mock.timers.tick(499);
  await new Promise(setImmediate);
  assert.equal(given, 'nothing');
  t.mock.timers.tick(1);
  await late;
  assert.equal(given, 'undefined');
  const failing = result();
  work.reject(new Error('no disk'));
  await assert.rejects(failing, /no disk/);
});

test('slow work is repeated so rarely that it takes a fiftieth of the time', async () => {
  let [nowMs, tookMs, runs] = [0, 10, 0];
  const result = keptResult(
    async () => {
      nowMs += tookMs;
      runs += 1;
      return runs;
    },
    { keptMs: 1_000, time: { steadyMs: () => nowMs } },
  );
  const after = async (ms: number) => {
    nowMs += ms;
    await result();
    return result();
  };
  assert.deepEqual([await after(0), await after(999), await after(1)], [1, 1, 2]);
  tookMs = 100;
  assert.deepEqual([await after(1_000), await after(4_999), await after(1)], [3, 3, 4]);
});
