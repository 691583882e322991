import assert from 'node:assert/strict';
import { StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { NOW, openSome } from '../../../test/kit/storage/bench.ts';

/** Two instances that lock the same rows in opposite orders deadlock: every row is written in the order of its key. */

const ORDER = [1, 3, 0, 2];

/** The keys in the order in which they are written, by statement. */
function keysWritten(t: TestContext, ordered: readonly string[]): string[][] {
  const written: string[][] = [];
  const { run } = StatementSync.prototype;
  t.mock.method(StatementSync.prototype, 'run', function (this: StatementSync, ...values: Parameters<typeof run>) {
    const keys = values.filter((value): value is never => ordered.some((key) => key === value));
    if (keys.length > 0) written.push(keys);
    return run.apply(this, values);
  });
  return written;
}

/** Names in their order, and the same ones out of it. */
function shuffled(names: readonly string[]): { ordered: string[]; unordered: string[] } {
  const ordered = names.toSorted();
  return { ordered, unordered: ORDER.map((place) => ordered[place] ?? assert.fail()) };
}

test('usage is added in the order of its keys', async (t) => {
  await using storage = await openSome();
  const { ordered, unordered } = shuffled(['a', 'b', 'c', 'd']);
  const written = keysWritten(t, ordered);
  const counts = { served: 1, clientErrors: 0, refused: 0, serverErrors: 0 };
  const minute = NOW - (NOW % 60);
  const used = { first: NOW, last: NOW, ...counts };
  await storage.usage.add(
    minute,
    unordered.map((keyId) => ({ keyId, ...used })),
  );
  assert.deepEqual(written.splice(0), [ordered], 'for a minute');
  await storage.usage.addHours(
    NOW - (NOW % 3_600),
    unordered.map((keyId) => ({ keyId, route: 'GET /categories', ...used })),
  );
  assert.deepEqual(written, [ordered], 'for an hour');
});
