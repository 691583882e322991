import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Counts, capped, merged, NO_COUNTS } from '../../src/catalog/window-counts.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, issue, issueMany, NOW } from '../kit/storage/bench.ts';

const TODAY = Math.floor(NOW / 86_400);

/** Windows that begin, go on, end, and lie too far ahead, with few counts, so that they often meet. */
const anyCounts: fc.Arbitrary<Counts> = fc.record(
  {
    minuteEnds: fc.constantFrom(0, NOW - 1, NOW, NOW + 59, NOW + 60, NOW + 61, NOW + 7_200),
    minuteUsed: fc.integer({ min: 0, max: 3 }),
    day: fc.constantFrom(0, TODAY - 1, TODAY, TODAY + 1, TODAY + 2),
    dayUsed: fc.integer({ min: 0, max: 3 }),
    minuteReset: fc.constantFrom(0, 1),
    dayReset: fc.constantFrom(0, 1),
  },
  { noNullPrototype: true },
);

function countsOf(keyId: string, used: number) {
  return { ...NO_COUNTS, keyId, minuteEnds: NOW, minuteUsed: used, day: 3, dayUsed: used };
}

/** Registers the checks of counts. */
export function limitsContract(check: Check): void {
  check('counts are replaced, for many keys at once', async ({ storage }) => {
    const keys = await issueMany(storage, 250);
    const ids = keys.map(({ key }) => key.id);
    for (const used of [1, 2]) {
      await storage.limits.saveCounts(ids.map((keyId) => countsOf(keyId, used)));
    }
    assert.deepEqual(await Promise.all(['unknown', ...ids].map(storage.limits.counts)), [
      undefined,
      ...ids.map((keyId) => countsOf(keyId, 2)),
    ]);
  });

  check('the keys near the limit of the day are found, and are news once on it', async (bench) => {
    const { storage } = bench;
    const ids: string[] = [];
    for (const [limit, dayUsed, day] of [
      [10, 7, TODAY],
      [10, 8, TODAY],
      [1_000, 1_001, TODAY],
      [10, 9, TODAY - 1],
    ] as const) {
      const { key } = await issue(storage, { plan: 'enterprise', limits: { minute: 1, day: limit } });
      ids.push(key.id);
      await storage.limits.saveCounts([{ ...NO_COUNTS, keyId: key.id, day, dayUsed }]);
    }
    const [, near = '', reached = ''] = ids;
    const found = [
      { keyId: near, use: 'near' },
      { keyId: reached, use: 'reached' },
    ] as const;
    const byId = (each: readonly { keyId: string }[]) => each.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
    assert.deepEqual(byId((await storage.capacity()).keysNearDayLimit), byId(found));
    await using other = await bench.another();
    const told = await Promise.all([storage, other].map(({ limits }) => limits.news(found)));
    assert.deepEqual(byId(told.flat()), byId(found), 'to one of two processes');
    await bench.reopen();
    const later = [...found, { keyId: near, use: 'reached' } as const];
    assert.deepEqual(await bench.storage.limits.news(later), later.slice(2), 'not again after a restart');
  });

  check('the counts of a key that the database has lost keep no others from being saved', async ({ storage }) => {
    const { key } = await issue(storage);
    for (const [used, save] of [
      [1, storage.limits.saveCounts],
      [2, storage.limits.raiseCounts],
    ] as const) {
      await save.call(storage.limits, [countsOf('lost', used), countsOf(key.id, used)], () => NOW);
      assert.deepEqual(await storage.limits.counts(key.id), countsOf(key.id, used));
    }
    assert.equal(await storage.limits.counts('lost'), undefined);
  });

  check(
    'counts are raised by the rule of `merged`, capped first, in whatever order they arrive',
    async ({ storage }) => {
      const keys = await issueMany(storage, 60);
      const ids = keys.map(({ key }) => key.id);
      const anyRound = fc.array(anyCounts, { minLength: ids.length, maxLength: ids.length });
      // A clock that was ahead stores windows that end too late.
      const [first = [], ...rounds] = fc.sample(anyRound, { numRuns: 20, seed: 1 });
      await storage.limits.saveCounts(ids.map((keyId, index) => ({ keyId, ...(first[index] as Counts) })));
      const kept = new Map(ids.map((keyId, index) => [keyId, first[index] as Counts]));
      for (const round of rounds) {
        const counts = ids.map((keyId, index) => ({ keyId, ...capped(round[index] as Counts, NOW) }));
        // Two at once, as two instances do it.
        await Promise.all([
          storage.limits.raiseCounts(counts, () => NOW),
          storage.limits.raiseCounts(counts.toReversed(), () => NOW),
        ]);
        for (const { keyId, ...each } of counts) {
          kept.set(keyId, merged(capped(kept.get(keyId) ?? NO_COUNTS, NOW), each));
        }
        assert.deepEqual(
          await Promise.all(ids.map(storage.limits.counts)),
          ids.map((keyId) => ({ keyId, ...kept.get(keyId) })),
        );
      }
    },
  );

  check('a reset empties the windows that it names, and counts of before never come back', async ({ storage }) => {
    const [one, other] = await issueMany(storage, 2);
    const [{ id } = assert.fail(), { id: otherId } = assert.fail()] = [one?.key, other?.key];
    const before = { ...NO_COUNTS, minuteEnds: NOW + 30, minuteUsed: 4, day: TODAY, dayUsed: 7 };
    await storage.limits.saveCounts([id, otherId].map((keyId) => ({ ...before, keyId })));
    const minute = (await storage.keys.reset(id, 'minute', OPERATOR)) ?? assert.fail();
    assert.deepEqual([minute.resets.day, minute.banGeneration], [0, 1]);
    const afterMinute = { ...before, keyId: id, minuteUsed: 0, minuteReset: minute.resets.minute };
    assert.deepEqual(await storage.limits.counts(id), afterMinute);
    const day = (await storage.keys.reset(id, 'day', OPERATOR)) ?? assert.fail();
    assert.equal(day.banGeneration, 1, 'refusals are of the minute');
    const again = (await storage.keys.reset(id, 'both', OPERATOR)) ?? assert.fail();
    assert.ok(again.resets.minute > minute.resets.minute && again.resets.day > day.resets.day, 'in one second');
    const after = { ...afterMinute, dayUsed: 0, minuteReset: again.resets.minute, dayReset: again.resets.day };
    // A process that does not follow the change yet has counted on meanwhile.
    const late = { ...before, keyId: id, minuteUsed: 5, dayUsed: 8 };
    await storage.limits.saveCounts([late]);
    await storage.limits.raiseCounts([late], () => NOW);
    assert.deepEqual(await storage.limits.counts(id), after);
    const counted = { ...after, minuteUsed: 1, dayUsed: 1 };
    await storage.limits.saveCounts([counted]);
    assert.deepEqual(await storage.limits.counts(id), counted);
    assert.deepEqual(await storage.limits.counts(otherId), { ...before, keyId: otherId });
    const entries = await storage.audit.list({ since: 0, limit: 9, action: 'key.reset' });
    assert.deepEqual(
      entries.map(({ target, before: used, after: left }) => [target, used, left]),
      [
        [id, { minuteUsed: 0, dayUsed: 0 }, { minuteUsed: 0, dayUsed: 0 }],
        [id, { dayUsed: 7 }, { dayUsed: 0 }],
        [id, { minuteUsed: 4 }, { minuteUsed: 0 }],
      ],
    );
  });

  check('a reset of windows that are over, of a key without counts, or of one that is gone', async ({ storage }) => {
    const { key } = await issue(storage);
    await storage.limits.saveCounts([
      { ...NO_COUNTS, keyId: key.id, minuteEnds: NOW, minuteUsed: 4, day: TODAY - 1, dayUsed: 7 },
    ]);
    const { key: unused } = await issue(storage);
    for (const { id } of [key, unused]) {
      await storage.keys.reset(id, 'both', OPERATOR);
      const [entry] = await storage.audit.list({ since: 0, limit: 1, target: id });
      assert.deepEqual(entry?.before, { minuteUsed: 0, dayUsed: 0 });
    }
    assert.equal(await storage.keys.reset('key_none', 'both', OPERATOR), undefined);
    await storage.keys.revoke(unused.id, NOW, OPERATOR);
    const revoked = await storage.keys.find(unused.id);
    assert.deepEqual(await storage.keys.reset(unused.id, 'both', OPERATOR), revoked);
  });
}
