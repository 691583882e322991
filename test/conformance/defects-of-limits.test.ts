import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catchDefects } from '../kit/conformance/caught.ts';
import { refereed } from '../kit/conformance/referee.ts';
import { testService } from '../kit/service.ts';

catchDefects(['limit-headers.ts', 'limits.ts'], (rule) => /^(limits|bans)\./.test(rule));

test('a rule of a spent window is judged before any other rule waits for the next one', async () => {
  await using service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', DEFECT: 'limits-shared' });
  const { rules } = await refereed(service, { isFull: true });
  assert.deepEqual(
    rules.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id),
    ['limits.per-key'],
  );
});
