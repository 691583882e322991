import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPERATOR } from '../../test/kit/operator.ts';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import { newApiKey, secretRecord } from '../catalog/api-key.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { systemTime } from '../stdx/time.ts';
import { openStorage } from '../storage/open.ts';

test('usage of up to two days is that of minutes, which are complete after a kill; that of more is of whole hours', async () => {
  using folder = temporaryFolder();
  const time = systemTime();
  const now = time.now().unix;
  const at = now - 3_600;
  const day = now - (now % DAY_SECONDS) - 3 * DAY_SECONDS;
  {
    const options = { time, categoriesMax: 10, categoriesBytesMax: 10_000 };
    const file = join(folder.path, 'data/pet-catalog.db');
    await using storage = await openStorage({ engine: 'sqlite', file }, options);
    const { key, secret } = newApiKey({ name: 'shop', environment: 'production', plan: 'free' }, at);
    await storage.keys.insert(key, secretRecord(secret), OPERATOR);
    const counts = { served: 2, clientErrors: 0, refused: 0, serverErrors: 0, first: at, last: at };
    // Its hour was not written.
    await storage.usage.add(at - (at % 60), [{ keyId: key.id, ...counts }]);
    const ofHour = { ...counts, keyId: key.id, route: 'GET /v1/pets', served: 5, first: day, last: day };
    await storage.usage.addHours(day, [ofHour]);
  }
  const served = async (since: string) => {
    const { stdout } = await run(['usage', '--json', '--since', since], { cwd: folder.path });
    return (JSON.parse(stdout) as { served: number }[]).map((each) => each.served);
  };
  assert.deepEqual([await served('48h'), await served('2d'), await served('49h')], [[2], [2], []]);
  const ago = now - day;
  assert.deepEqual([await served(`${ago + 60}s`), await served(`${ago - 7_200}s`)], [[5], []]);
});
