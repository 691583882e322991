import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import type { WindowCounts } from '../../catalog/window-counts.ts';
import { systemTime, type Time } from '../../stdx/time.ts';
import { StoredCounts } from './outage.ts';

/** Storage whose reads end when the test says so. */
function controlled(time: Time = systemTime()) {
  const reads: PromiseWithResolvers<WindowCounts | undefined>[] = [];
  const reader = new StoredCounts(
    {
      counts() {
        const read = Promise.withResolvers<WindowCounts | undefined>();
        reads.push(read);
        return read.promise;
      },
    },
    time,
  );
  const begun = async (count: number) => {
    while (reads.length < count) await new Promise(setImmediate);
    return reads[count - 1] ?? assert.fail();
  };
  return { reader, begun };
}

const countsOf = (keyId: string): WindowCounts => ({ keyId, minuteEnds: 0, minuteUsed: 0, day: 0, dayUsed: 0 });

test('when a read fails, its waiters fail too, and the next read is tried', async () => {
  const { reader, begun } = controlled();
  const failed = [reader.read('key_1'), reader.read('key_1')];
  for (const count of [1, 2]) (await begun(count)).reject(new Error('down'));
  for (const { status } of await Promise.allSettled(failed)) assert.equal(status, 'rejected');
  assert.equal(reader.isFailing, true);
  const asked = reader.read('key_2');
  (await begun(3)).resolve(countsOf('key_2'));
  assert.deepEqual(await asked, countsOf('key_2'));
  assert.equal(reader.isFailing, false);
});

test('a read that takes two seconds has failed', async () => {
  const time = new VirtualTime(0);
  const { reader } = controlled(time.process());
  const read = reader.read('key_1').catch(({ code, message }) => [code, message]);
  await time.pass(1_999);
  assert.equal(reader.isFailing, false);
  await time.pass(1);
  assert.equal(reader.isFailing, true);
  assert.deepEqual(await read, ['unavailable', 'The storage does not answer in time; retry after a second']);
});

test('a failure of long ago says nothing of storage as it is', async () => {
  let nowMs = 0;
  const { reader, begun } = controlled({ ...systemTime(), steadyMs: () => nowMs });
  const failed = reader.read('key_1');
  (await begun(1)).reject(new Error('down'));
  await assert.rejects(failed);
  nowMs = 2_999;
  assert.equal(reader.isFailing, true, 'while the next read may be under way');
  nowMs = 3_000;
  assert.equal(reader.isFailing, false);
});
