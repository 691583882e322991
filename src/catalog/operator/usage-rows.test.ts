import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageSteps } from './usage-rows.ts';

const day = (month: number, date: number) => Date.UTC(2026, month - 1, date) / 1_000;

test('a month is one of UTC, wherever the machine is', (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    process.env.TZ = zone;
    assert.deepEqual(
      usageSteps('month', { since: day(2, 1), until: day(3, 2), now: day(3, 2) }),
      [
        { period: 'day', since: day(2, 1), until: day(3, 1), at: day(2, 1) },
        { period: 'day', since: day(3, 1), until: day(3, 2), at: day(3, 1) },
      ],
      zone,
    );
  }
});
