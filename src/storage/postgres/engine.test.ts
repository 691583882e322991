import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { manualClock, untilTrue } from '../../../test/kit/clock.ts';
import { noPostgres, reusedDatabase, temporaryDatabase } from '../../../test/kit/postgres.ts';
import { insert } from '../../../test/kit/storage/bench.ts';
import { storageContract } from '../../../test/kit/storage-contract.ts';
import { openStorage } from '../open.ts';

const OPTIONS = { clock: manualClock().now, categoriesMax: 10, categoriesBytesMax: 10_000 };

const opened = noPostgres ? undefined : await reusedDatabase(migrate);
after(() => opened?.[Symbol.asyncDispose]());

storageContract(
  'SqlStorage on PostgreSQL',
  async () => {
    if (!opened) throw new Error('there is no PostgreSQL');
    const { url, [Symbol.asyncDispose]: release } = opened.use();
    return { database: { engine: 'postgres', url }, [Symbol.asyncDispose]: release };
  },
  { skip: noPostgres },
);

test('a write that finds the writers’ lock held is refused as `unavailable`, and goes on once it is free', {
  skip: noPostgres,
}, async () => {
  await using database = await temporaryDatabase();
  await using storage = await openStorage({ engine: 'postgres', url: database.url }, OPTIONS);
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

async function migrate(url: string): Promise<void> {
  await using _ = await openStorage({ engine: 'postgres', url }, OPTIONS);
}
