import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fillWithDemo } from '../src/cli/demo.ts';
import { openStorage } from '../src/storage/open.ts';
import { manualClock } from './kit/clock.ts';
import { temporaryFolder } from './kit/service.ts';

/**
 * The sample of `serve --demo`, as demo.json. After a change that is meant:
 * `npx node --test --test-update-snapshots test/demo.test.ts`, and read the difference.
 */

const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
const ALL = { after: 0, limit: 100 };

test('the sample is as it was, and a catalog that is not empty is left as it is', async (t) => {
  using folder = temporaryFolder();
  const database = { engine: 'sqlite', file: join(folder.path, 'pets.db') } as const;
  const options = { time: manualClock(NOON), categoriesMax: 100, categoriesBytesMax: 100_000 };
  await using storage = await openStorage(database, options);
  const filled = async () => {
    await fillWithDemo(storage, NOON);
    return [await storage.categories.list(), await storage.pets.list(ALL), await storage.orders.list(ALL)];
  };
  const sample = await filled();
  const text = `${JSON.stringify(sample, null, 2)}\n`;
  t.assert.fileSnapshot(text, join(import.meta.dirname, 'demo.json'), { serializers: [String] });
  assert.deepEqual(await filled(), sample);
});
