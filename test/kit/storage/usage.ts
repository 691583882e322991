import assert from 'node:assert/strict';
import { DURATION_BOUNDS, stepStart, USAGE_PERIODS } from '../../../src/catalog/usage.ts';
import { type Check, issue, issueMany, NOW } from './bench.ts';

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
      return { keyId, served, clientErrors: 1, refused: 2, serverErrors: 3, first: at, last: at };
    };
    const many = Array.from({ length: 2_100 }, (_, index) => used(`key_${index}`, 1, NOW));
    const minute = NOW - (NOW % 60);
    await storage.usage.add(minute, [used('*', 9_999, NOW), ...many, used('key_last', 9, NOW)]);
    await storage.usage.add(minute - 60, [used('key_7', 3, NOW - 60)]);
    await storage.usage.add(minute - 120, [used('key_9', 3, NOW - 120)]);
    await storage.usage.add(minute - 600, [used('key_9', 500, NOW - 600)]);
    const found = await storage.usage.busiest({ period: 'minute', since: NOW - 300, limit: 4 });
    const twice = { clientErrors: 2, refused: 4, serverErrors: 6 };
    assert.deepEqual(found, [
      used('key_last', 9, NOW),
      { ...used('key_7', 4, NOW), ...twice, first: NOW - 60 },
      { ...used('key_9', 4, NOW), ...twice, first: NOW - 120 },
      used('key_0', 1, NOW),
    ]);
  });

  check('usage of several periods is summed by key, a page at a time, by time, key and owner', async ({ storage }) => {
    const keys = [];
    for (const owner of ['cus_1', 'cus_2', 'cus_1']) keys.push((await issue(storage, { name: owner, owner })).key);
    keys.sort((one, other) => (one.id < other.id ? -1 : 1));
    const minute = NOW - (NOW % 60);
    const used = (keyId: string, served: number, { from, to }: { from: number; to: number }) => {
      return { keyId, served, clientErrors: 1, refused: 2, serverErrors: 3, first: from, last: to };
    };
    for (const [ago, served] of [
      [60, 10],
      [0, 1],
      [5 * 3_600, 1_000],
    ] as const) {
      const times = { from: minute - ago + 5, to: minute - ago + 9 };
      const ids = [...keys.map(({ id }) => id), 'key_gone', '*'];
      await storage.usage.add(
        minute - ago,
        ids.map((id, index) => used(id, served * (index + 1), times)),
      );
    }
    const sums = keys.map(({ id, name, owner }, index) => ({
      ...used(id, 11 * (index + 1), { from: minute - 55, to: minute + 9 }),
      ...{ clientErrors: 2, refused: 4, serverErrors: 6, name, owner },
    }));
    const [one, two, three] = sums;
    const page = (query: object) => storage.usage.page({ since: NOW - 300, now: NOW, behind: '', limit: 9, ...query });
    assert.deepEqual(await page({}), sums);
    assert.deepEqual(await page({ limit: 2 }), [one, two]);
    assert.deepEqual(await page({ behind: two?.keyId ?? '' }), [three]);
    assert.deepEqual(await page({ keyId: two?.keyId }), [two]);
    for (const owner of ['cus_1', 'cus_2', 'none'])
      assert.deepEqual(
        await page({ owner }),
        sums.filter(({ name }) => name === owner),
      );
    assert.deepEqual(
      (await page({ until: minute })).map(({ served, last }) => [served, last]),
      sums.map((_, index) => [10 * (index + 1), minute - 51]),
      'without the period that starts at the end',
    );
    const byKey = await storage.usage.byKey({ since: NOW - 300, now: NOW });
    assert.deepEqual(
      byKey.map(({ keyId, served, first, last }) => [keyId, served, first, last]),
      [{ keyId: 'key_gone', served: 44 }, ...sums.toReversed()].map(({ keyId, served }) => {
        return [keyId, served, minute - 55, minute + 9];
      }),
    );
    assert.deepEqual(await storage.usage.byKey({ since: NOW - 300, now: NOW, limit: 2 }), byKey.slice(0, 2));
  });

  check('the usage by period is that of a key, of an owner’s keys or of all, until an end', async ({ storage }) => {
    const ids: string[] = [];
    for (const owner of ['cus_1', 'cus_2', 'cus_1']) ids.push((await issue(storage, { owner })).key.id);
    const [one = '', two = '', three = ''] = ids;
    const minute = NOW - (NOW % 60);
    for (const at of [minute - 120, minute - 60, minute]) {
      for (const [keyId, served] of [
        [one, 1],
        [two, 10],
        [three, 100],
        ['*', 111],
      ] as const) {
        await storage.usage.add(at, [
          { keyId, served, clientErrors: 0, refused: 0, serverErrors: 0, first: at, last: at },
        ]);
      }
    }
    for (const [keyId, owner, served] of [
      ['*', undefined, 111],
      [two, undefined, 10],
      ['*', 'cus_1', 101],
      ['*', 'cus_2', 10],
      ['*', 'none', undefined],
      [three, 'cus_1', 100],
      [three, 'cus_2', undefined],
    ] as const) {
      const points = await storage.usage.series({ keyId, owner, period: 'minute', since: minute - 60, until: minute });
      const found = points.map((point) => [point.at, point.served]);
      assert.deepEqual(found, served === undefined ? [] : [[minute - 60, served]], `${keyId} of ${owner}`);
    }
  });

  check('the trends of some keys are their usage in steps, from the step on that holds the moment', async (bench) => {
    const { usage } = bench.storage;
    const start = NOW - (NOW % 300);
    const counts = { served: 1, clientErrors: 2, refused: 3, serverErrors: 4 };
    for (const at of [start - 60, start, start + 240, start + 300, start + 900]) {
      const records = ['key_1', 'key_2', 'key_3'].map((keyId) => ({ keyId, first: at, last: at, ...counts }));
      await usage.add(at, at === start ? records : records.slice(0, 2));
    }
    const trends = await usage.trends({ keyIds: ['key_3', 'key_1', 'unused'], since: start + 299, stepSeconds: 300 });
    const twice = { served: 2, clientErrors: 4, refused: 6, serverErrors: 8 };
    assert.deepEqual(
      trends,
      new Map([
        [
          'key_1',
          [
            { at: start, ...twice },
            { at: start + 300, ...counts },
            { at: start + 900, ...counts },
          ],
        ],
        ['key_3', [{ at: start, ...counts }]],
      ]),
    );
    assert.deepEqual(await usage.trends({ keyIds: [], since: start, stepSeconds: 300 }), new Map());
  });

  check('the last use of a key is that of its last day, of however many keys', async ({ storage }) => {
    const ids = (await issueMany(storage, 101)).map(({ key }) => key.id);
    const [first = '', last = ''] = [ids.at(0), ids.at(-1)];
    const minute = NOW - (NOW % 60);
    for (const [keyId, at] of [
      [first, minute],
      [first, minute - 86_400],
      [last, minute - 86_400],
      ['key_other', minute],
    ] as const) {
      const counts = { served: 0, clientErrors: 1, refused: 0, serverErrors: 0 };
      await storage.usage.add(at, [{ keyId, first: at + 1, last: at + 7, ...counts }]);
    }
    assert.deepEqual(
      await storage.usage.lastUses(ids),
      new Map([
        [first, minute + 7],
        [last, minute - 86_400 + 7],
      ]),
    );
    assert.deepEqual(await storage.usage.lastUses([]), new Map());
  });

  check('usage is deleted once it is older than it is kept, and not before', async ({ storage }) => {
    const day = NOW - (NOW % 86_400);
    const counts = { served: 1, clientErrors: 0, refused: 0, serverErrors: 0 };
    await storage.usage.add(day, [{ keyId: 'key_1', first: day, last: day, ...counts }]);
    await storage.usage.addRoutes(day, [{ route: 'GET /', durations: DURATIONS.map(() => 0), ...counts }]);
    for (const period of ['minute', 'hour', 'day'] as const) {
      const end = day + USAGE_PERIODS[period].keptSeconds;
      for (const [now, left] of [
        [end, 1],
        [end + 1, 0],
      ] as const) {
        await storage.usage.purge(now);
        assert.equal((await storage.usage.series({ keyId: 'key_1', period, since: 0 })).length, left, period);
        assert.equal((await storage.usage.routes({ period, since: 0 })).length, left, period);
      }
    }
  });
}
