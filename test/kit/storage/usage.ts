import assert from 'node:assert/strict';
import { type Check, NOW } from './bench.ts';

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
}
