import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WindowCounts } from '../../catalog/limit.ts';
import { systemTime, type Time } from '../../stdx/time.ts';
import { StoredCounts } from './stored-counts.ts';

/** Storage whose reads end when the test says so. */
function controlled(time: Time = systemTime()) {
  const reads: { keyIds: readonly string[]; end: PromiseWithResolvers<(WindowCounts | undefined)[]> }[] = [];
  const reader = new StoredCounts(
    {
      counts(keyIds) {
        const end = Promise.withResolvers<(WindowCounts | undefined)[]>();
        reads.push({ keyIds, end });
        return end.promise;
      },
    },
    time,
  );
  const begun = async (count: number) => {
    while (reads.length < count) await new Promise(setImmediate);
    return reads[count - 1] ?? assert.fail();
  };
  return { reader, reads, begun };
}

const countsOf = (keyId: string): WindowCounts => ({ keyId, minuteEnds: 0, minuteUsed: 0, day: 0, dayUsed: 0 });

test('keys asked for together are read together, 500 at a time, each once', async () => {
  const { reader, reads, begun } = controlled();
  const keyIds = Array.from({ length: 1_200 }, (_, index) => `key_${index}`);
  const asked = [...keyIds, ...keyIds].map((keyId) => reader.read(keyId));
  for (const count of [1, 2, 3]) {
    const read = await begun(count);
    read.end.resolve(read.keyIds.map(countsOf));
  }
  const counts = await Promise.all(asked);
  assert.deepEqual(
    reads.map((read) => read.keyIds.length),
    [500, 500, 200],
  );
  assert.deepEqual(
    counts.map((each) => each?.keyId),
    [...keyIds, ...keyIds],
  );
});

test('a key requested during a read of it is read again, to see what was saved since', async () => {
  const { reader, begun } = controlled();
  const first = reader.read('key_1');
  const before = await begun(1);
  const second = reader.read('key_1');
  before.end.resolve([undefined]);
  (await begun(2)).end.resolve([countsOf('key_1')]);
  assert.deepEqual([await first, (await second)?.keyId], [undefined, 'key_1']);
});

test('when a read fails, its waiters fail too, and the next read is tried', async () => {
  const { reader, begun } = controlled();
  const failed = [reader.read('key_1')];
  const read = await begun(1);
  failed.push(reader.read('key_2'));
  read.end.reject(new Error('down'));
  for (const { status } of await Promise.allSettled(failed)) assert.equal(status, 'rejected');
  assert.equal(reader.isFailing, true);
  const asked = reader.read('key_2');
  (await begun(2)).end.resolve([countsOf('key_2')]);
  assert.deepEqual(await asked, countsOf('key_2'));
  assert.equal(reader.isFailing, false);
});

test('a failure of long ago says nothing of storage as it is', async () => {
  let nowMs = 0;
  const { reader, begun } = controlled({ ...systemTime(), steadyMs: () => nowMs });
  const failed = reader.read('key_1');
  (await begun(1)).end.reject(new Error('down'));
  await assert.rejects(failed);
  nowMs = 2_500;
  assert.equal(reader.isFailing, true, 'while the next read may be under way');
  nowMs = 3_500;
  assert.equal(reader.isFailing, false);
});
