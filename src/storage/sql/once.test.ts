import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { manualClock } from '../../../test/kit/clock.ts';
import { IDEMPOTENCY_SECONDS } from '../../catalog/idempotency.ts';
import { openEngine } from '../open.ts';
import { SqlStorage } from './storage.ts';

test('expired outcomes are purged until none is left', async () => {
  const clock = manualClock();
  const engine = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await using storage = new SqlStorage(engine, { time: clock, categoriesMax: 1_000, categoriesBytesMax: 1_000_000 });
  const create = (key: string) =>
    storage.categories.insert({ name: 'Dog' }, { keyId: 'k', idempotency: { key, fingerprint: 'f' } });
  await Promise.all(Array.from({ length: 450 }, (_, index) => create(`${index}`)));
  clock.advance(IDEMPOTENCY_SECONDS - 1);
  await create('secret');
  clock.advance(1);
  await storage.purgeOutcomes();
  // Any other form of the digest would not find the outcomes that an earlier release stored.
  const kept = await engine.db.all<{ key: string }>(sql`select idempotency_key as key from outcomes`);
  assert.deepEqual(
    kept.map(({ key }) => key),
    ['K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols'],
  );
});
