import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Counts, capped, merged } from '../../src/catalog/window-counts.ts';
import { type Check, issue, issueMany, NOW } from '../kit/storage/bench.ts';

const TODAY = Math.floor(NOW / 86_400);

/** Windows that begin, go on, end, and lie too far ahead, with few counts, so that they often meet. */
const anyCounts: fc.Arbitrary<Counts> = fc.record(
  {
    minuteEnds: fc.constantFrom(0, NOW - 1, NOW, NOW + 59, NOW + 60, NOW + 61, NOW + 7_200),
    minuteUsed: fc.integer({ min: 0, max: 3 }),
    day: fc.constantFrom(0, TODAY - 1, TODAY, TODAY + 1, TODAY + 2),
    dayUsed: fc.integer({ min: 0, max: 3 }),
  },
  { noNullPrototype: true },
);

/** Registers the checks of counts. */
export function limitsContract(check: Check): void {
  check('counts are replaced, for many keys at once', async ({ storage }) => {
    const keys = await issueMany(storage, 250);
    const ids = keys.map(({ key }) => key.id);
    for (const used of [1, 2]) {
      await storage.limits.saveCounts(
        ids.map((keyId) => ({ keyId, minuteEnds: NOW, minuteUsed: used, day: 3, dayUsed: used })),
      );
    }
    assert.deepEqual(await Promise.all(['unknown', ...ids].map(storage.limits.counts)), [
      undefined,
      ...ids.map((keyId) => ({ keyId, minuteEnds: NOW, minuteUsed: 2, day: 3, dayUsed: 2 })),
    ]);
  });

  check('the keys near the limit of the day are counted', async ({ storage }) => {
    for (const [limit, dayUsed, day] of [
      [10, 7, TODAY],
      [10, 8, TODAY],
      [1_000, 1_001, TODAY],
      [10, 9, TODAY - 1],
    ] as const) {
      const { key } = await issue(storage, { plan: 'enterprise', limits: { minute: 1, day: limit } });
      await storage.limits.saveCounts([{ keyId: key.id, minuteEnds: 0, minuteUsed: 0, day, dayUsed }]);
    }
    assert.equal((await storage.capacity()).keysNearDayLimit, 2);
  });

  check('the counts of a key that the database has lost keep no others from being saved', async ({ storage }) => {
    const { key } = await issue(storage);
    const counts = (keyId: string, used: number) => ({
      keyId,
      minuteEnds: NOW,
      minuteUsed: used,
      day: 3,
      dayUsed: used,
    });
    for (const [used, save] of [
      [1, storage.limits.saveCounts],
      [2, storage.limits.raiseCounts],
    ] as const) {
      await save.call(storage.limits, [counts('lost', used), counts(key.id, used)], () => NOW);
      assert.deepEqual(await storage.limits.counts(key.id), counts(key.id, used));
    }
    assert.equal(await storage.limits.counts('lost'), undefined);
  });

  check('counts are raised by the rule of `merged`, in whatever order they arrive', async ({ storage }) => {
    const keys = await issueMany(storage, 60);
    const ids = keys.map(({ key }) => key.id);
    const kept = new Map<string, Counts>();
    const rounds = fc.sample(fc.array(anyCounts, { minLength: ids.length, maxLength: ids.length }), {
      numRuns: 20,
      seed: 1,
    });
    for (const round of rounds) {
      const counts = ids.map((keyId, index) => ({ keyId, ...capped(round[index] as Counts, NOW) }));
      // Two at once, as two instances do it.
      await Promise.all([
        storage.limits.raiseCounts(counts, () => NOW),
        storage.limits.raiseCounts(counts.toReversed(), () => NOW),
      ]);
      for (const { keyId, ...each } of counts) {
        const before = kept.get(keyId);
        kept.set(keyId, before ? merged(before, each) : each);
      }
      assert.deepEqual(
        await Promise.all(ids.map(storage.limits.counts)),
        ids.map((keyId) => ({ keyId, ...kept.get(keyId) })),
      );
    }
  });

  check('what is stored too far ahead is capped before counts are merged into it', async ({ storage }) => {
    const keys = await issueMany(storage, 100);
    const samples = fc.sample(fc.tuple(anyCounts, anyCounts), { numRuns: keys.length, seed: 2 });
    const pairs = samples.map(([stored, added], index) => {
      return { keyId: keys[index]?.key.id ?? '', stored, added: capped(added, NOW) };
    });
    await storage.limits.saveCounts(pairs.map(({ keyId, stored }) => ({ keyId, ...stored })));
    await storage.limits.raiseCounts(
      pairs.map(({ keyId, added }) => ({ keyId, ...added })),
      () => NOW,
    );
    assert.deepEqual(
      await Promise.all(pairs.map(({ keyId }) => storage.limits.counts(keyId))),
      pairs.map(({ keyId, stored, added }) => ({ keyId, ...merged(capped(stored, NOW), added) })),
    );
  });
}
