import assert from 'node:assert/strict';
import type { Storage } from '../../src/catalog/storage.ts';
import {
  mostOf,
  USAGE_PERIODS,
  type UsagePeriod,
  type UsagePoint,
  type UsageQuery,
  type UsageSort,
} from '../../src/catalog/usage.ts';
import { type Check, issue, issueMany, NOW } from '../kit/storage/bench.ts';
import { addUsage, LIST, usageAt } from '../kit/usage.ts';

/** Registers the checks of usage by key and by period. */
export function usageContract(check: Check): void {
  check('usage from several processes adds up, and is reported by key and by period', async ({ storage, another }) => {
    const counts = { served: 5, clientErrors: 1, refused: 2 };
    const one = { ...usageAt('key_1', NOW + 1, counts), last: NOW + 9 };
    const more = { ...one, first: NOW - 5, last: NOW + 3 };
    const quiet = usageAt('key_2', NOW);
    await using other = await another();
    const minute = NOW - (NOW % 60);
    await Promise.all([addUsage(storage, minute, [one, quiet]), addUsage(other, minute, [more])]);
    await addUsage(storage, minute - 60, [{ ...quiet, keyId: '*' }]);
    const twice = { served: 10, clientErrors: 2, refused: 4 };
    const sum = { ...usageAt('key_1', NOW - 5, twice), last: NOW + 9 };
    const named = ({ keyId: id, ...used }: typeof sum) => ({ id, name: null, owner: null, at: 0, ...used });
    for (const period of ['minute', 'hour', 'day'] as const) {
      const used = await storage.usage.sums({ period, since: NOW - 86_400, group: 'key' });
      assert.deepEqual(used, [named(sum), named(quiet)]);
    }
    const ofOne = await storage.usage.sums({ period: 'minute', since: NOW - 60, keyId: 'key_2', group: 'key' });
    assert.deepEqual(ofOne, [named(quiet)]);
    const points = await series(storage, { keyId: 'key_1', period: 'minute', since: NOW - 600 });
    assert.deepEqual(points, [{ at: minute, served: 10, clientErrors: 2, refused: 4, serverErrors: 0 }]);
    await storage.usage.purge(NOW + 3 * 86_400);
    assert.deepEqual(await series(storage, { keyId: 'key_1', period: 'minute', since: 0 }), []);
    assert.equal((await series(storage, { keyId: 'key_1', period: 'hour', since: 0 })).length, 1);
  });

  check('usage is read in steps of several periods, and a week begins on Monday', async ({ storage }) => {
    const counts = { served: 1, clientErrors: 2, refused: 3, serverErrors: 4 };
    // 2026-01-05 is a Monday.
    const monday = Date.UTC(2026, 0, 5) / 1_000;
    for (const at of [monday - 60, monday, monday + 240, monday + 300, monday + 7 * 86_400 - 60]) {
      await addUsage(storage, at, [usageAt('key_1', at, counts)]);
    }
    const read = async (period: 'minute' | 'day', step: number) => {
      const points = await series(storage, { keyId: 'key_1', period, step, since: monday - 86_400 });
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
  });

  check('usage is added up in each period by key and route, by time and id, from any place on', async ({ storage }) => {
    const used = (keyId: string, served: number, at: number) => usageAt(keyId, at, { served });
    const hour = NOW - (NOW % 3_600);
    await addUsage(storage, hour, [used('key_2', 1, hour), used('key_1', 2, hour)]);
    await addUsage(storage, hour + 60, [used('key_1', 4, hour + 60)]);
    await addUsage(storage, hour + 3_600, [used('key_1', 8, hour + 3_600)]);
    for (const [at, served] of [
      [hour, 7],
      [hour + 3_600, 8],
    ] as const)
      await addUsage(storage, at, [used('*', served, at)]);
    const query = { since: hour, group: 'key' } as const;
    const read = async (more: object = {}) =>
      (await storage.usage.sums({ ...query, period: 'minute', step: 60, ...more })).map(({ at, id, served }) => [
        at - hour,
        id,
        served,
      ]);
    const all = [
      [0, 'key_1', 2],
      [0, 'key_2', 1],
      [60, 'key_1', 4],
      [3_600, 'key_1', 8],
    ];
    assert.deepEqual(await read(), all);
    assert.deepEqual(await read({ limit: 2 }), all.slice(0, 2));
    assert.deepEqual(await read({ behind: 'key_1' }), all.slice(1));
    assert.deepEqual(await read({ behind: 'key_2', until: hour + 120 }), [all[2]]);
    assert.deepEqual(await read({ period: 'hour', step: 3_600, keyId: 'key_1' }), [
      [0, 'key_1', 6],
      [3_600, 'key_1', 8],
    ]);
    assert.deepEqual(await read({ period: 'hour', step: 3_600, group: 'route' }), [
      [0, LIST, 7],
      [3_600, LIST, 8],
    ]);
  });

  check('usage of however many keys is added up in parts, by key or owner', async ({ storage }) => {
    const used = (keyId: string, served: number, at: number) =>
      usageAt(keyId, at, { served, clientErrors: 1, refused: 2, serverErrors: 3 });
    const { key } = await issue(storage, { name: 'shop', owner: 'cus_1' });
    const many = Array.from({ length: 5_100 }, (_, index) => used(`key_${index}`, 1, NOW + 6 - (index % 7)));
    await addUsage(storage, NOW, [used('*', 9_999, NOW), ...many, used(key.id, 9, NOW)]);
    await addUsage(storage, NOW - 60, [{ ...used('key_7', 0, NOW - 60), refused: 30 }]);
    await addUsage(storage, NOW - 120, [{ ...used('key_9', 3, NOW - 120), clientErrors: 40 }]);
    await addUsage(storage, NOW - 86_400, [used('key_9', 500, NOW - 86_400)]);
    const most = async (period: 'minute' | 'hour', sort: UsageSort, group: 'key' | 'owner' = 'key') => {
      const found = mostOf(await storage.usage.sums({ period, since: NOW - 300, group }), sort).slice(0, 2);
      return found.map(({ id, name, owner, served, refused }) => [id, name, owner, served, refused]);
    };
    for (const period of ['minute', 'hour'] as const) {
      assert.deepEqual(await most(period, 'requests'), [
        ['key_9', null, null, 4, 4],
        ['key_7', null, null, 1, 32],
      ]);
      assert.deepEqual((await most(period, 'refused'))[0], ['key_7', null, null, 1, 32]);
      assert.deepEqual((await most(period, 'errors'))[0], ['key_9', null, null, 4, 4]);
      const owners = await most(period, 'requests', 'owner');
      assert.deepEqual(owners, [
        ['', null, null, 5_103, 10_232],
        ['cus_1', null, null, 9, 2],
      ]);
      const [unowned] = await storage.usage.sums({ period, since: NOW, group: 'owner' });
      assert.deepEqual([unowned?.first, unowned?.last], [NOW, NOW + 6]);
    }
  });

  check('usage is added up by key, owner or route, a page at a time', async ({ storage }) => {
    const keys = [];
    for (const owner of ['cus_1', 'cus_2', 'cus_1']) keys.push((await issue(storage, { name: owner, owner })).key);
    keys.sort((one, other) => (one.id < other.id ? -1 : 1));
    const hour = NOW - (NOW % 3_600);
    const used = (keyId: string, served: number, at: number) => {
      return { keyId, served, clientErrors: 1, refused: 2, serverErrors: 3, first: at + 5, last: at + 9 };
    };
    for (const [at, served, route] of [
      [hour - 3_600, 10, LIST],
      [hour, 1, LIST],
      [hour, 2, 'POST /v1/categories'],
      [hour - 5 * 3_600, 1_000, LIST],
    ] as const) {
      const ids = [...keys.map(({ id }) => id), 'zzz_gone', '*'];
      await addUsage(
        storage,
        at,
        ids.map((id, index) => used(id, served * (id === '*' ? 10 : index + 1), at)),
        route,
      );
    }
    const thrice = { at: 0, clientErrors: 3, refused: 6, serverErrors: 9, first: hour - 3_595, last: hour + 9 };
    const sums = keys.map(({ id, name, owner }, index) => ({ id, name, owner, served: 13 * (index + 1), ...thrice }));
    const [one, two, three] = sums;
    const gone = { id: 'zzz_gone', name: null, owner: null, served: 52, ...thrice };
    const page = (query: object = {}) =>
      storage.usage.sums({ period: 'hour', since: NOW - 3_600, group: 'key', limit: 9, ...query });
    assert.deepEqual(await page(), [...sums, gone]);
    assert.deepEqual(await page({ limit: 2 }), [one, two]);
    assert.deepEqual(await page({ behind: two?.id ?? '' }), [three, gone]);
    assert.deepEqual(await page({ keyId: two?.id }), [two]);
    for (const owner of ['cus_1', 'cus_2', 'none']) {
      const owned = sums.filter(({ name }) => name === owner);
      assert.deepEqual(await page({ owner }), owned);
      const ofOne = owned.filter((sum) => sum === one);
      assert.deepEqual(await page({ owner, keyId: one?.id }), ofOne);
    }
    assert.deepEqual(
      (await page({ until: hour })).map(({ served, last }) => [served, last]),
      [1, 2, 3, 4].map((times) => [10 * times, hour - 3_591]),
      'without the period that starts at the end',
    );
    const servedBy = async (query: object) => (await page(query)).map(({ id, served }) => [id, served]);
    const [both, other] = [
      sums.filter(({ owner }) => owner === 'cus_1').reduce((sum, { served }) => sum + served, 0),
      sums.find(({ owner }) => owner === 'cus_2')?.served,
    ];
    assert.deepEqual(await servedBy({ group: 'owner' }), [
      ['', 52],
      ['cus_1', both],
      ['cus_2', other],
    ]);
    assert.deepEqual(await servedBy({ group: 'owner', behind: '', limit: 1 }), [['cus_1', both]]);
    assert.deepEqual(await servedBy({ group: 'route' }), [
      [LIST, 110],
      ['POST /v1/categories', 20],
    ]);
    assert.deepEqual(await servedBy({ group: 'route', keyId: one?.id, behind: LIST }), [['POST /v1/categories', 2]]);
  });

  check('a key is read from its minutes while they are kept, as hours are written later', async ({ storage }) => {
    const day = NOW - (NOW % 86_400);
    for (const at of [NOW - 60, NOW - 3_600, day - 86_400, day - 3 * 86_400])
      await storage.usage.add(at - (at % 60), [usageAt('key_1', at)]);
    const hour = NOW - (NOW % 3_600);
    await storage.usage.addHours(hour, [{ ...usageAt('key_1', NOW, { served: 10 }), route: LIST }]);
    const read = async (since: number) => {
      const query = { keyId: 'key_1', period: 'hour', since } as const;
      const [sum] = await storage.usage.sums({ ...query, group: 'key' });
      const points = (await series(storage, query)).map(({ at, served }) => [at - hour, served]);
      return [sum?.served, points];
    };
    assert.deepEqual(await read(day - 86_400), [
      3,
      [[day - 86_400 - hour, 1], [-3_600, NOW - 60 < hour ? 2 : 1], ...(NOW - 60 < hour ? [] : [[0, 1]])],
    ]);
    assert.deepEqual(await read(day - 3 * 86_400), [10, [[0, 10]]]);
    const ofDays = { keyId: 'key_1', period: 'day', since: NOW - USAGE_PERIODS.minute.keptSeconds } as const;
    const [days] = await storage.usage.sums({ ...ofDays, group: 'key' });
    assert.equal(days?.served, 10, 'the first day is whole, and its first minutes are gone');
    const [route] = await storage.usage.sums({ keyId: 'key_1', period: 'hour', since: NOW, group: 'route' });
    assert.deepEqual([route?.id, route?.served], [LIST, 10]);
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
      await addUsage(storage, at, [usageAt(keyId, at + 1, { clientErrors: 1, last: at + 7 })]);
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

  check('minutes are deleted, and hours become days, once they are older than they are kept', async ({ storage }) => {
    const day = NOW - (NOW % 86_400);
    const counts = { served: 1, clientErrors: 2, refused: 3, serverErrors: 4 };
    for (const at of [day, day + 3_600]) {
      await addUsage(storage, at, [usageAt('key_1', at, { ...counts, last: at + 7 })]);
    }
    const many = Array.from({ length: 501 }, (_, index) => `more_${index}`);
    await addUsage(
      storage,
      day,
      many.map((keyId) => usageAt(keyId, day, counts)),
    );
    const left = async (period: UsagePeriod) => (await series(storage, { keyId: 'key_1', period, since: 0 })).length;
    for (const period of ['minute', 'hour', 'day'] as const) {
      const end = day + USAGE_PERIODS[period].keptSeconds;
      const each = period === 'day' ? 1 : 2;
      await storage.usage.purge(end);
      assert.equal(await left(period), each, period);
      await storage.usage.purge(end + 3_601);
      assert.equal(await left(period), 0, period);
      if (period !== 'hour') continue;
      const days = await storage.usage.sums({ period: 'day', since: 0, group: 'key' });
      assert.equal(days.length, 502);
      const twice = { served: 2, clientErrors: 4, refused: 6, serverErrors: 8, first: day, last: day + 3_607 };
      assert.deepEqual(
        days.find(({ id }) => id === 'key_1'),
        { id: 'key_1', name: null, owner: null, at: 0, ...twice },
      );
    }
  });
}

/** The usage of all selected keys together, by step. */
async function series(
  storage: Storage,
  { step, ...query }: UsageQuery & { readonly step?: number },
): Promise<UsagePoint[]> {
  const seconds = step ?? USAGE_PERIODS[query.period].seconds;
  const sums = await storage.usage.sums({ ...query, group: 'all', step: seconds });
  return sums.map(({ id: _, name: _name, owner: _owner, first: _first, last: _last, ...point }) => point);
}
