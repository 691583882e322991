import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock, untilEqual } from '../../test/kit/clock.ts';
import { measureCapacity } from './capacity.ts';

test('how full the catalog is is measured at the start and every ten seconds, also after a failure', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const part = {
    listBytes: 2,
    databaseBytes: 3,
    logBytes: 4,
    diskFreeBytes: 5,
    keysNearDayLimit: [{ keyId: 'key_1', use: 'reached' }],
  } as const;
  let asked = 0;
  const [told, news] = [[] as object[], [] as object[]];
  using _measuring = await measureCapacity({
    storage: {
      capacity: async () => {
        asked += 1;
        if (asked === 2) throw new Error('away');
        return { categories: asked, ...part };
      },
      limits: { news: async (found) => (asked === 1 ? [...found] : Promise.reject(new Error('full'))) },
    },
    time: manualClock(),
    events: { capacityMeasured: (measured) => told.push(measured), keyNearLimit: (each) => news.push(each) },
    bounds: { categoriesMax: 10, categoriesBytesMax: 1_000 },
  });
  const bounds = { categoriesMax: 10, categoriesBytesMax: 1_000 };
  assert.deepEqual(told, [{ categories: 1, ...part, ...bounds }]);
  t.mock.timers.tick(9_999);
  await nextTurn();
  assert.equal(asked, 1);
  t.mock.timers.tick(1);
  await untilEqual(() => asked, 2);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  t.mock.timers.tick(10_000);
  await untilEqual(() => told.length, 2);
  assert.deepEqual(news, part.keysNearDayLimit);
  assert.deepEqual(told[1], { categories: 3, ...part, ...bounds });
});
