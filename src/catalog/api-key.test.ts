import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkedChanges,
  couldBeSecret,
  isUsable,
  KEY_PATTERN,
  mintSecret,
  newApiKey,
  secretRecord,
} from './api-key.ts';
import type { Limits, PlanName } from './plan.ts';

test('a minted secret has the published form and the checksum of everything before it', () => {
  const seen = new Set<string>();
  for (let i = 0; i < 500; i += 1) {
    for (const environment of ['production', 'staging'] as const) {
      const secret = mintSecret(environment);
      assert.match(secret, KEY_PATTERN);
      assert.ok(couldBeSecret(secret, environment));
      seen.add(secret);
    }
  }
  assert.equal(seen.size, 1_000);
});

test('the checksum is CRC-32 in base62, left-padded with 0', () => {
  const body = 'petcat_live_000000000000000000000000000000';
  const valid = Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
  let rest = crc32Bitwise(body);
  let digits = '';
  for (let i = 0; i < 6; i += 1) {
    digits = valid[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  assert.ok(couldBeSecret(body + digits, 'production'));
});

test('a wrong character, environment or length is rejected without a look-up', () => {
  const secret = mintSecret('production');
  assert.ok(!couldBeSecret(secret, 'staging'));
  for (let at = 12; at < secret.length; at += 1) {
    const other = secret[at] === 'a' ? 'b' : 'a';
    assert.ok(!couldBeSecret(secret.slice(0, at) + other + secret.slice(at + 1), 'production'), `at ${at}`);
  }
  for (const wrong of ['', secret.slice(0, -1), `${secret}0`, secret.toUpperCase(), secret.replace('live', 'test')]) {
    assert.ok(!couldBeSecret(wrong, 'production'));
  }
});

const at = (seconds: number) => ({ now: () => ({ unix: seconds, steady: seconds }) });

test('a key is valid until it expires, is revoked, or the grace of its old secret ends', () => {
  const { key } = newApiKey({ name: 'x', environment: 'production', plan: 'free', expiresAt: 100 }, 1);
  assert.ok(isUsable({ key, endsAt: null }, 'production', at(99)));
  assert.ok(!isUsable({ key, endsAt: null }, 'production', at(100)));
  assert.ok(isUsable({ key, endsAt: 50 }, 'production', at(49)));
  assert.ok(!isUsable({ key, endsAt: 50 }, 'production', at(50)));
  assert.ok(!isUsable({ key, endsAt: null }, 'staging', at(1)));
  assert.ok(!isUsable({ key: { ...key, revokedAt: 2 }, endsAt: null }, 'production', at(1)));
});

test('only a hash and the first sixteen characters of a secret are kept', () => {
  const secret = mintSecret('production');
  const record = secretRecord(secret);
  assert.equal(record.prefix, secret.slice(0, 16));
  assert.match(record.hash, /^[\w-]{43}$/);
  assert.ok(!JSON.stringify(newApiKey({ name: 'x', environment: 'production', plan: 'free' }, 1).key).includes(secret));
});

test('enterprise needs limits of its own, and no other plan takes any', () => {
  const planLimits = (plan: PlanName, limits?: Limits) =>
    newApiKey({ name: 'x', environment: 'production', plan, ...(limits && { limits }) }, 1).key.limits;
  assert.deepEqual(planLimits('enterprise', { minute: 1, day: 2 }), { minute: 1, day: 2 });
  assert.deepEqual(planLimits('free'), { minute: 60, day: 1_000 });
  assert.throws(() => planLimits('enterprise'), { code: 'validation_failed' });
  assert.throws(() => planLimits('pro', { minute: 1, day: 2 }), { code: 'validation_failed' });
  for (const bad of [0, -1, 1.5, Number.NaN, 1e12]) {
    assert.throws(() => planLimits('enterprise', { minute: bad, day: 2 }), { code: 'validation_failed' });
  }
});

test('a change keeps the limits that its plan goes with, and passes the rules for a new key', () => {
  const limits = { minute: 7, day: 9 };
  const { key } = newApiKey({ name: 'x', environment: 'production', plan: 'enterprise', limits }, 1);
  assert.deepEqual(checkedChanges(key, { plan: 'pro' }, 2), { plan: 'pro', limits: { minute: 300, day: 10_000 } });
  assert.deepEqual(checkedChanges(key, { plan: 'enterprise' }, 2), { plan: 'enterprise', limits });
  const own = { minute: 1, day: 2 };
  assert.deepEqual(checkedChanges(key, { limits: own }, 2), { plan: 'enterprise', limits: own });
  assert.deepEqual(checkedChanges(key, { scopes: ['pets:read', 'categories:read'] }, 2).scopes, [
    'categories:read',
    'pets:read',
  ]);
  const { key: free } = newApiKey({ name: 'x', environment: 'production', plan: 'free' }, 1);
  assert.throws(() => checkedChanges(free, { plan: 'enterprise' }, 2), {
    message: /^The enterprise plan needs limits/,
  });
  const wrong = [{ name: ' ' }, { expiresAt: 2 }, { scopes: [] }, { plan: 'free', limits: own }] as const;
  for (const changes of wrong) assert.throws(() => checkedChanges(key, changes, 2), { code: 'validation_failed' });
  assert.deepEqual(checkedChanges({ ...key, expiresAt: 2 }, { expiresAt: 2 }, 3), { expiresAt: 2 }, 'it stays');
  assert.throws(() => checkedChanges({ ...key, revokedAt: 2 }, { name: 'y' }, 3), { code: 'key_revoked' });
});

/** CRC-32 (ISO-HDLC) bit by bit, as a reference for the library's. */
function crc32Bitwise(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
