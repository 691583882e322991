import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkedChanges,
  couldBeSecret,
  isUsable,
  KEY_PATTERN,
  mintSecret,
  type NewApiKey,
  newApiKey,
  newId,
  SCOPES,
} from './api-key.ts';
import { PLANS } from './plan.ts';
import { NEVER_RESET } from './window-counts.ts';

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
  assert.ok(!isUsable({ key, endsAt: 150 }, 'production', at(100)), 'a grace does not outlast the key');
  assert.ok(!isUsable({ key, endsAt: null }, 'staging', at(1)));
  assert.ok(!isUsable({ key: { ...key, revokedAt: 2 }, endsAt: null }, 'production', at(1)));
});

test('a key is made as it is wanted, up to each bound, and refused in words beyond', () => {
  const now = 1_000;
  const century = 100 * 366 * 86_400;
  const make = (wanted: Partial<NewApiKey>) =>
    newApiKey({ name: 'x', environment: 'staging', plan: 'free', ...wanted }, now);
  const { key, secret } = make({});
  assert.match(key.id, /^key_[0-9a-z]{10}[0-9A-Za-z]{6}$/);
  assert.deepEqual(key, {
    id: key.id,
    name: 'x',
    prefix: secret.slice(0, 16),
    environment: 'staging',
    plan: 'free',
    limits: PLANS.free,
    scopes: SCOPES,
    createdAt: now,
    expiresAt: null,
    revokedAt: null,
    pausedAt: null,
    owner: null,
    ban: null,
    banGeneration: 0,
    resets: NEVER_RESET,
  });
  const limits = (minute: number, day: number) => ({ plan: 'enterprise', limits: { minute, day } }) as const;
  for (const wanted of [
    { name: '🐕'.repeat(100) },
    { owner: '🐕'.repeat(255) },
    { expiresAt: now + 1 },
    { expiresAt: now + century },
    limits(1, 1_000_000_000),
    limits(1_000_000_000, 1),
  ] as const) {
    const found = make(wanted).key;
    for (const [name, value] of Object.entries(wanted)) assert.deepEqual(found[name as keyof typeof found], value);
  }
  const wrong = (length: number) => ['', ' ', 'a\u0007', 'a\uD83D', '🐕'.repeat(length)];
  const name = 'The name of a key is 1 to 100 visible characters';
  const owner = 'The owner of a key is 1 to 255 visible characters, or none';
  const expiry = 'The expiry of a key must be in the future and within 100 years';
  for (const [wanted, message] of [
    ...wrong(101).map((text) => [{ name: text }, name] as const),
    ...wrong(256).map((text) => [{ owner: text }, owner] as const),
    [{ expiresAt: now }, expiry],
    [{ expiresAt: now + century + 1 }, expiry],
    [{ plan: 'enterprise' }, 'The enterprise plan needs limits per minute and per day'],
    [{ ...limits(1, 1), plan: 'pro' }, 'The pro plan has fixed limits; only enterprise takes its own'],
  ] as const)
    assert.throws(() => make(wanted), { code: 'validation_failed', message });
});

test('ids ascend with time', () => {
  const beginnings = Array.from({ length: 1_000 }, () => newId('x_').slice(0, 12));
  assert.deepEqual(beginnings, beginnings.toSorted());
  const ms = Number.parseInt(beginnings[0]?.slice(2) ?? '', 36) / 1_000;
  assert.ok(Math.abs(ms - Date.now()) < 3_600_000, `${ms}`);
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
  const wrong = [{ name: ' ' }, { expiresAt: 2 }, { plan: 'free', limits: own }] as const;
  for (const changes of wrong) assert.throws(() => checkedChanges(key, changes, 2), { code: 'validation_failed' });
  assert.deepEqual(checkedChanges({ ...key, expiresAt: 2 }, { expiresAt: 2 }, 3), { expiresAt: 2 }, 'it stays');
});
