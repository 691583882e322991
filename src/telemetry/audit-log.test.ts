import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock, untilTrue } from '../../test/kit/clock.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import { issueMany } from '../../test/kit/storage/bench.ts';
import { openStorage } from '../storage/open.ts';
import { followAudit } from './audit-log.ts';

test('each change by an operator from now on is told once, in order, within a second', async (t) => {
  using folder = temporaryFolder();
  const options = { time: manualClock(), categoriesMax: 10, categoriesBytesMax: 1_000 };
  await using storage = await openStorage({ engine: 'sqlite', file: join(folder.path, 'test.db') }, options);
  await issueMany(storage, 2);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const told: (string | null)[] = [];
  await using _following = await followAudit(storage.audit, ({ target }) => told.push(target));
  const keys = await issueMany(storage, 101);
  t.mock.timers.tick(999);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.deepEqual(told, []);
  t.mock.timers.tick(1);
  await untilTrue(() => told.length >= 101);
  t.mock.timers.tick(1_000);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.deepEqual(
    told,
    keys.map(({ key }) => key.id),
  );
});
