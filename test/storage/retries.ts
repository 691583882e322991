import assert from 'node:assert/strict';
import type { Storage } from '../../src/catalog/storage.ts';
import { type Check, issue, NOW } from '../kit/storage/bench.ts';
import { usageAt } from '../kit/usage.ts';

/** Registers the checks of retries: an insert with an idempotency key, and an attempt that is repeated. */
export function retriesContract(check: Check): void {
  check('an insert with an idempotency key happens once, however often it is retried', async (bench) => {
    const origin = (fingerprint: string) => ({ keyId: 'key_1', idempotency: { key: 'mine', fingerprint } });
    const tries = await Promise.all(
      Array.from({ length: 10 }, () => bench.storage.categories.insert({ name: 'Dog' }, origin('a'))),
    );
    assert.equal(tries.filter(({ isReplay }) => !isReplay).length, 1);
    assert.equal(new Set(tries.map(({ resource }) => resource.id)).size, 1);
    await bench.reopen();
    const { storage } = bench;
    assert.equal((await storage.categories.insert({ name: 'Dog' }, origin('a'))).isReplay, true);
    await assert.rejects(storage.categories.insert({ name: 'Cat' }, origin('b')), { code: 'idempotency_key_reused' });
    const other = { keyId: 'key_2', idempotency: { key: 'mine', fingerprint: 'b' } };
    assert.equal((await storage.categories.insert({ name: 'Cat' }, other)).isReplay, false);
    assert.equal((await storage.categories.list()).length, 2);
  });

  check('a failed insert stores no outcome and does not fail others in its batch', async ({ storage }) => {
    const origin = { keyId: 'key_1', idempotency: { key: 'pet', fingerprint: 'a' } };
    const pet = { name: 'Rex', categoryId: 1, status: 'available' as const };
    const [failed, made] = await Promise.allSettled([
      storage.pets.insert(pet, origin),
      storage.categories.insert({ name: 'Dog' }, { ...origin, idempotency: { key: 'dog', fingerprint: 'a' } }),
    ]);
    assert.equal(failed.status === 'rejected' && failed.reason.code, 'validation_failed');
    assert.equal(made.status, 'fulfilled');
    assert.equal((await storage.pets.insert(pet, origin)).isReplay, false);
  });

  check('a write retried with the same attempt id happens once, from any process', async ({ storage, another }) => {
    const { key } = await issue(storage);
    const usage = usageAt(key.id, NOW, { served: 5 });
    await using other = await another();
    for (const attempt of ['first', 'second']) {
      const retry = (each: Storage) => each.usage.add(NOW - (NOW % 60), [usage], `usage ${attempt}`);
      await Promise.all([storage, other, storage].map(retry));
    }
    const [used] = await storage.usage.sums({ period: 'minute', since: NOW - 60, group: 'key' });
    assert.equal(used?.served, 10);
  });
}
