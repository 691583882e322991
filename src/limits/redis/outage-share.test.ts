import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiKey, newApiKey } from '../../catalog/api-key.ts';
import type { Limits } from '../../catalog/plan.ts';
import { LocalShare } from './outage.ts';

const NOON = Date.UTC(2026, 0, 1, 12) / 1000;
const NOW = { unix: NOON, steady: NOON };

test('refusals of a share do not count', () => {
  const share = new LocalShare(1);
  const key = keyOf({ minute: 1, day: 100 });
  share.charge(key, NOW);
  for (let i = 0; i < 1_000; i += 1) {
    const now = { unix: NOON + Math.floor(i / 20), steady: NOON + Math.floor(i / 20) };
    const { refusal, refusals } = share.charge(key, now);
    assert.deepEqual([refusal, refusals], ['rate_limit_exceeded', undefined]);
  }
});

function keyOf(limits: Limits): ApiKey {
  return newApiKey({ name: 'test', environment: 'production', plan: 'enterprise', limits }, 0).key;
}
