import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { manualClock } from '../../../test/kit/clock.ts';
import { CatalogError } from '../../catalog/error.ts';
import { IDEMPOTENCY_SECONDS } from '../../catalog/idempotency.ts';
import type { Transaction } from '../engine.ts';
import { openEngine } from '../open.ts';
import { attemptOf, deleteOldOutcomes, hasOldOutcomes, once } from './once.ts';
import { SqlStorage } from './storage.ts';
import type { Tables } from './tables.ts';

const NOW = 1_800_000_000;

/** A migrated database. `create` makes a number, one higher each time, with the Idempotency-Key. */
async function openBench() {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  let made = 0;
  const transact = <T>(work: (trx: Transaction) => Promise<T>) => db.transaction(work);
  const create = async (key: string | undefined, { keyId = 'key_1', fingerprint = 'f', now = NOW } = {}) => {
    const id = key === undefined ? { keyId } : { keyId, idempotency: { key, fingerprint } };
    const { resource, isReplay } = await transact((trx) => once(trx, { ...id, now }, async () => ({ made: ++made })));
    return [resource.made, isReplay];
  };
  return { db, transact, create, [Symbol.asyncDispose]: () => db.close() };
}

test('a key for a different request is refused while its outcome is kept, and its text is not stored', async () => {
  await using bench = await openBench();
  const { db, create } = bench;
  await create('secret');
  await assert.rejects(create('secret', { fingerprint: 'g' }), {
    code: 'idempotency_key_reused',
    message: /"?secret"? was used for a different request/,
  });
  const expired = NOW + IDEMPOTENCY_SECONDS;
  assert.deepEqual(await create('secret', { fingerprint: 'g', now: expired }), [2, false]);
  assert.deepEqual(await create('secret', { fingerprint: 'g', now: expired }), [2, true]);
  const rows = await db.all<Tables['outcomes']>(sql`select * from outcomes`);
  // Any other form of the digest would not find the outcomes that an earlier release stored.
  assert.deepEqual(
    rows.map(({ idempotency_key, created_at }) => [idempotency_key, created_at]),
    [['K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols', expired]],
  );
});

test('an attempt does its work once, until it is purged', async () => {
  await using bench = await openBench();
  const { db, transact } = bench;
  const done: string[] = [];
  const attemptAt = (attempt: string, now: number) =>
    transact((trx) => once(trx, { ...attemptOf(attempt), now }, async () => void done.push(attempt)));
  assert.deepEqual(await attemptAt('a', NOW), { resource: undefined, isReplay: false });
  assert.deepEqual(await attemptAt('a', NOW + 1), { resource: undefined, isReplay: true });
  await attemptAt('b', NOW + 1);
  assert.deepEqual(done, ['a', 'b']);
  assert.deepEqual([await hasOldOutcomes(db, NOW - 1), await hasOldOutcomes(db, NOW)], [false, true]);
  await transact((trx) => deleteOldOutcomes(trx, NOW - 1));
  await attemptAt('a', NOW);
  assert.deepEqual(done, ['a', 'b']);
  await transact((trx) => deleteOldOutcomes(trx, NOW));
  await attemptAt('a', NOW);
  await attemptAt('b', NOW);
  assert.deepEqual(done, ['a', 'b', 'a']);
  const id = { ...attemptOf('c'), now: NOW };
  await transact((trx) => once(trx, id, async () => 1));
  const later = { ...id, now: NOW + IDEMPOTENCY_SECONDS };
  for (const isReplay of [false, true])
    assert.deepEqual(await transact((trx) => once(trx, later, async () => undefined)), {
      resource: undefined,
      isReplay,
    });
});

test('expired outcomes are purged until none is left', async () => {
  const clock = manualClock();
  const engine = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await using storage = new SqlStorage(engine, { time: clock, categoriesMax: 1_000, categoriesBytesMax: 1_000_000 });
  const create = (index: number) =>
    storage.categories.insert({ name: `${index}` }, { keyId: 'k', idempotency: { key: `${index}`, fingerprint: 'f' } });
  await Promise.all(Array.from({ length: 450 }, (_, index) => create(index)));
  clock.advance(IDEMPOTENCY_SECONDS - 1);
  await create(450);
  clock.advance(1);
  await storage.purgeOutcomes();
  assert.equal((await engine.db.all(sql`select key_id from outcomes`)).length, 1);
});

test('work that is refused keeps no outcome, in a transaction that goes on', async () => {
  await using bench = await openBench();
  const { db, transact } = bench;
  const id = { keyId: 'key_1', idempotency: { key: 'a', fingerprint: 'f' }, now: NOW };
  const refusal = new CatalogError('catalog_full', 'full');
  await transact(async (trx) => {
    await assert.rejects(
      once(trx, id, () => Promise.reject(refusal)),
      refusal,
    );
    assert.deepEqual(await once(trx, { ...id, keyId: 'key_2' }, async () => 2), { resource: 2, isReplay: false });
  });
  assert.deepEqual(
    (await db.all<Tables['outcomes']>(sql`select * from outcomes`)).map(({ key_id, resource }) => [key_id, resource]),
    [['key_2', '2']],
  );
});
