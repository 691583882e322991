import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { readConfig } from '../../config.ts';
import { claimForService, openStorage } from '../../storage/open.ts';
import { UsageError } from '../invocation.ts';
import { markForRehearsal, turn } from './clock.ts';

test('a turn waits ten seconds for the service that runs, and not at all for none', async () => {
  using folder = temporaryFolder();
  const flags = { DATABASE_URL: `sqlite:${join(folder.path, 'x.db')}`, ENVIRONMENT: 'staging', REHEARSAL: 'on' };
  const config = readConfig({ flags, env: {}, file: {} });
  const clock = manualClock(1_000);
  await using storage = await openStorage(config.database, { ...config, time: clock });
  const passingMs = [0, 9_999, 10_000, 10_001];
  const machine = { ...clock, steadyMs: () => passingMs.shift() ?? 0 };
  const time = { ...clock, machine };
  await markForRehearsal(storage, config);
  const context = { storage, time, config, environment: config.environment, now: 1_000, by: OPERATOR };
  {
    await using _service = await claimForService(config.database, { together: false });
    const late = new UsageError('The time is turned, but the running service has not taken it; see its log', 1);
    await assert.rejects(turn({ advance: '1h' }, context), late);
    assert.deepEqual(passingMs, []);
  }
  assert.deepEqual(await turn({ advance: '1h' }, context), { now: 8_200, turnedBy: 7_200 });
});
