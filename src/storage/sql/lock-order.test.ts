import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { NOW, openSome } from '../../../test/kit/storage/bench.ts';
import { LIST, usageAt } from '../../../test/kit/usage.ts';

/** Two instances that lock the same rows in opposite orders deadlock: every row is written in the order of its key. */

test('usage is added in the order of its keys', async (t) => {
  await using storage = await openSome();
  const [ordered, unordered] = [
    ['a', 'b', 'c', 'd'],
    ['b', 'd', 'a', 'c'],
  ];
  /** The keys in the order in which they are written, by statement. */
  const written: string[][] = [];
  const { run } = StatementSync.prototype;
  t.mock.method(StatementSync.prototype, 'run', function (this: StatementSync, ...values: Parameters<typeof run>) {
    const keys = values.filter((value): value is never => ordered.some((key) => key === value));
    if (keys.length > 0) written.push(keys);
    return run.apply(this, values);
  });
  const used = unordered.map((keyId) => usageAt(keyId, NOW));
  await storage.usage.add(NOW - (NOW % 60), used);
  assert.deepEqual(written.splice(0), [ordered], 'for a minute');
  await storage.usage.addHours(
    NOW - (NOW % 3_600),
    used.map((each) => ({ ...each, route: LIST })),
  );
  assert.deepEqual(written, [ordered], 'for an hour');
});
