import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiKey, newApiKey } from '../catalog/api-key.ts';
import type { Limits } from '../catalog/plan.ts';
import { LocalShare } from './local-share.ts';

const NOON = Date.UTC(2026, 0, 1, 12) / 1000;
const NOW = { unix: NOON, steady: NOON };

test('a share is each limit divided by the instances, rounded up', () => {
  for (const [limits, admitted, refusal] of [
    [{ minute: 7, day: 1_000 }, 3, 'rate_limit_exceeded'],
    [{ minute: 1_000, day: 7 }, 3, 'daily_quota_exceeded'],
    [{ minute: 6, day: 1_000 }, 2, 'rate_limit_exceeded'],
    [{ minute: 1, day: 1 }, 1, 'daily_quota_exceeded'],
  ] as const) {
    const share = new LocalShare(3, () => NOW);
    const key = keyOf(limits);
    for (let left = admitted - 1; left >= 0; left -= 1) assert.equal(share.charge(key, NOW).remaining, left);
    assert.equal(share.charge(key, NOW).refusal, refusal);
    assert.equal(share.peek(key, NOW).refusal, refusal);
  }
});

test('a ban ends at its moment by the clock that it is dated by, whatever the machine shows', () => {
  const key = keyOf({ minute: 10, day: 100 });
  for (const stepped of [0, 5_000, -5_000]) {
    for (const apart of [0, 3_000, -3_000]) {
      let second = 0;
      const now = () => ({ unix: NOON + second + apart + stepped, steady: NOON + second + apart });
      const share = new LocalShare(1, () => ({ unix: NOON + second, steady: NOON + second }));
      share.setBans([{ keyId: key.id, startedAt: NOON, endsAt: NOON + 60, level: 1, reason: 'r' }], now());
      second = 59;
      const refused = share.charge(key, now());
      assert.deepEqual([refused.refusal, refused.ban?.until], ['key_banned', now().unix + 1]);
      second = 60;
      assert.equal(share.charge(key, now()).refusal, undefined);
    }
  }
});

test('a machine whose clock is behind, and that knows no other, bans for no longer than a ban lasts', () => {
  const key = keyOf({ minute: 10, day: 100 });
  const share = new LocalShare(1, () => ({ unix: NOON, steady: NOON }));
  share.setBans([{ keyId: key.id, startedAt: NOON + 3_600, endsAt: NOON + 3_660, level: 1, reason: 'r' }], NOW);
  assert.equal(share.charge(key, NOW).ban?.until, NOON + 60);
});

test('a ban that is no longer listed is not enforced, and refusals of a share lead to none', () => {
  const share = new LocalShare(1, () => NOW);
  const key = keyOf({ minute: 1, day: 100 });
  share.setBans([{ keyId: key.id, startedAt: NOON, endsAt: NOON + 60, level: 1, reason: 'r' }], NOW);
  assert.equal(share.charge(key, NOW).refusal, 'key_banned');
  share.setBans([], NOW);
  assert.equal(share.charge(key, NOW).refusal, undefined);
  for (let i = 0; i < 1_000; i += 1) {
    const now = { unix: NOON + Math.floor(i / 20), steady: NOON + Math.floor(i / 20) };
    assert.equal(share.charge(key, now).refusal, 'rate_limit_exceeded');
  }
});

function keyOf(limits: Limits): ApiKey {
  return newApiKey({ name: 'test', environment: 'production', plan: 'enterprise', limits }, 0).key;
}
