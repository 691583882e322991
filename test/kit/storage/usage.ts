import assert from 'node:assert/strict';
import { DURATION_BOUNDS, stepStart, USAGE_PERIODS } from '../../../src/catalog/usage.ts';
import { type Check, NOW } from './bench.ts';

const DURATIONS = [...DURATION_BOUNDS, Number.POSITIVE_INFINITY];

/** Registers the checks of usage by key and by period. */
export function usageContract(check: Check): void {
  check('usage from several processes adds up, and is reported by key and by period', async ({ storage, another }) => {
    const one = {
      keyId: 'key_1',
      served: 5,
      clientErrors: 1,
      refused: 2,
      serverErrors: 0,
      first: NOW + 1,
      last: NOW + 9,
    };
    const more = { ...one, first: NOW - 5, last: NOW + 3 };
    const quiet = { keyId: 'key_2', served: 1, clientErrors: 0, refused: 0, serverErrors: 0, first: NOW, last: NOW };
    await using other = await another();
    const minute = NOW - (NOW % 60);
    await Promise.all([storage.usage.add(minute, [one, quiet]), other.usage.add(minute, [more])]);
    await storage.usage.add(minute - 60, [{ ...quiet, keyId: '*' }]);
    const sum = {
      keyId: 'key_1',
      served: 10,
      clientErrors: 2,
      refused: 4,
      serverErrors: 0,
      first: NOW - 5,
      last: NOW + 9,
    };
    for (const seconds of [3_600, 86_400, 30 * 86_400]) {
      const used = await storage.usage.byKey({ since: NOW - seconds, now: NOW });
      assert.deepEqual(used, [sum, quiet]);
    }
    assert.deepEqual(await storage.usage.byKey({ since: NOW - 60, now: NOW, keyId: 'key_2' }), [quiet]);
    const points = await storage.usage.series({ keyId: 'key_1', period: 'minute', since: NOW - 600 });
    assert.deepEqual(points, [{ at: minute, served: 10, clientErrors: 2, refused: 4, serverErrors: 0 }]);
    await storage.usage.purge(NOW + 3 * 86_400);
    assert.deepEqual(await storage.usage.series({ keyId: 'key_1', period: 'minute', since: 0 }), []);
    assert.equal((await storage.usage.series({ keyId: 'key_1', period: 'hour', since: 0 })).length, 1);
  });

  check('usage is read in steps of several periods, and a week begins on Monday', async ({ storage }) => {
    const counts = { served: 1, clientErrors: 2, refused: 3, serverErrors: 4 };
    // 2026-01-05 is a Monday.
    const monday = Date.UTC(2026, 0, 5) / 1_000;
    for (const at of [monday - 60, monday, monday + 240, monday + 300, monday + 7 * 86_400 - 60]) {
      await storage.usage.add(at, [{ keyId: 'key_1', first: at, last: at, ...counts }]);
    }
    const read = async (period: 'minute' | 'day', step: number) => {
      const points = await storage.usage.series({ keyId: 'key_1', period, step, since: monday - 86_400 });
      return points.map(({ at, served }) => [at - monday, served]);
    };
    assert.deepEqual(await read('minute', 300), [
      [-300, 1],
      [0, 2],
      [300, 1],
      [7 * 86_400 - 300, 1],
    ]);
    assert.deepEqual(await read('day', 7 * 86_400), [
      [-7 * 86_400, 1],
      [0, 4],
    ]);
    assert.deepEqual(
      [monday - 1, monday, monday + 301].map((at) => stepStart(at, 300) - monday),
      [-300, 0, 300],
    );
  });

  check(
    'usage by route adds up from several processes, once for each attempt, and ends',
    async ({ storage, another }) => {
      const durations = DURATIONS.map((_, index) => index);
      const list = { route: 'GET /v1/categories', served: 90, clientErrors: 0, refused: 1, serverErrors: 0, durations };
      const create = { ...list, route: 'POST /v1/pets', served: 5, clientErrors: 2, serverErrors: 3 };
      await using other = await another();
      const minute = NOW - (NOW % 60);
      await Promise.all([
        storage.usage.addRoutes(minute, [create, list], 'one'),
        other.usage.addRoutes(minute, [list], 'two'),
      ]);
      await storage.usage.addRoutes(minute, [list], 'two');
      const [twice, once] = [
        { ...list, served: 180, refused: 2, durations: durations.map((count) => 2 * count) },
        create,
      ];
      for (const period of ['minute', 'hour', 'day'] as const) {
        const at = NOW - (NOW % USAGE_PERIODS[period].seconds);
        const found = await storage.usage.routes({ period, since: NOW - 86_400 });
        assert.deepEqual(found, [
          { at, ...twice },
          { at, ...once },
        ]);
      }
      assert.equal(
        (await storage.usage.routes({ period: 'minute', step: 300, since: NOW }))[0]?.at,
        stepStart(NOW, 300),
      );
      await storage.usage.purge(NOW + 3 * 86_400);
      assert.deepEqual(await storage.usage.routes({ period: 'minute', since: 0 }), []);
      assert.equal((await storage.usage.routes({ period: 'hour', since: 0 })).length, 2);
    },
  );

  check('the busiest keys are those with the most served requests of a time, of however many', async ({ storage }) => {
    const used = (keyId: string, served: number, at: number) => {
      return { keyId, served, clientErrors: 1, refused: 0, serverErrors: 0, first: at, last: at };
    };
    const many = Array.from({ length: 2_100 }, (_, index) => used(`key_${index}`, 1, NOW));
    const minute = NOW - (NOW % 60);
    await storage.usage.add(minute, [used('*', 9_999, NOW), ...many]);
    await storage.usage.add(minute - 60, [used('key_7', 3, NOW - 60), used('key_9', 2, NOW - 60)]);
    await storage.usage.add(minute - 600, [used('key_9', 500, NOW - 600)]);
    const found = await storage.usage.busiest({ period: 'minute', since: NOW - 300, limit: 3 });
    assert.deepEqual(found, [
      { ...used('key_7', 4, NOW), clientErrors: 2, first: NOW - 60 },
      { ...used('key_9', 3, NOW), clientErrors: 2, first: NOW - 60 },
      used('key_0', 1, NOW),
    ]);
  });
}
