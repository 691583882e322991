import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fillWithDemo } from '../src/cli/demo.ts';
import { openStorage } from '../src/storage/open.ts';
import { manualClock } from './kit/clock.ts';
import { temporaryFolder } from './kit/service.ts';

const ALL = { after: 0, limit: 100 };

test('an empty catalog is filled with the sample, and one that is not empty is left as it is', async () => {
  using folder = temporaryFolder();
  const database = { engine: 'sqlite', file: join(folder.path, 'pets.db') } as const;
  const time = manualClock();
  await using storage = await openStorage(database, { time, categoriesMax: 100, categoriesBytesMax: 100_000 });
  const filled = async () => {
    await fillWithDemo(storage, time.now().unix);
    return [await storage.categories.list(), await storage.pets.list(ALL), await storage.orders.list(ALL)];
  };
  const sample = await filled();
  for (const resources of sample) assert.ok(resources.length >= 3, JSON.stringify(resources));
  const [categories, , orders] = sample as [{ name: string }[], unknown, { complete: boolean; shipDate?: string }[]];
  assert.ok(categories.some(({ name }) => name === 'Dog'));
  assert.deepEqual(
    orders.map(({ complete, shipDate }) => (complete ? 'complete' : shipDate ? 'to ship' : 'open')),
    ['complete', 'to ship', 'to ship', 'to ship', 'open'],
  );
  assert.deepEqual(await filled(), sample);
});
