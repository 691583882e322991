import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { manualClock, untilTrue } from '../../../test/kit/clock.ts';
import { noPostgres, temporaryDatabase } from '../../../test/kit/postgres.ts';
import { insert } from '../../../test/kit/storage/bench.ts';
import { storageContract } from '../../../test/kit/storage-contract.ts';
import { openStorage } from '../open.ts';

storageContract(
  'SqlStorage on PostgreSQL',
  async () => {
    const { url, [Symbol.asyncDispose]: remove } = await temporaryDatabase();
    return { database: { engine: 'postgres', url }, [Symbol.asyncDispose]: remove };
  },
  { skip: noPostgres },
);

test('a write that finds the writers’ lock held is refused as `unavailable`, and goes on once it is free', {
  skip: noPostgres,
}, async () => {
  await using database = await temporaryDatabase();
  const options = { clock: manualClock().now, categoriesMax: 10, categoriesBytesMax: 10_000 };
  await using storage = await openStorage({ engine: 'postgres', url: database.url }, options);
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  try {
    await holder.query('select pg_advisory_lock(7251002)');
    await assert.rejects(insert(storage, { name: 'Dog' }), { code: 'unavailable' });
  } finally {
    await holder.end();
  }
  await untilTrue(() =>
    insert(storage, { name: 'Cat' }).then(
      () => true,
      () => false,
    ),
  );
  assert.deepEqual(await storage.categories.list(), [{ id: 1, name: 'Cat' }]);
});
