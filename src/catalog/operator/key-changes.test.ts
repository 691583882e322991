import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApiKey } from '../api-key.ts';
import { keyJson } from './json.ts';
import { rotateKey } from './key-changes.ts';

const { key } = newApiKey({ name: 'x', environment: 'staging', plan: 'free' }, 0);

test('a key is rotated where it belongs only, whatever its grace', async () => {
  const storage = { keys: { find: async () => key } } as never;
  const context = { storage, environment: 'production', now: 1, by: { actor: 'a', via: 'cli' } } as const;
  for (const grace of [0, 1, 30 * 86_400]) {
    const message = `The key ${key.id} belongs to staging; rotate it where ENVIRONMENT is staging`;
    await assert.rejects(rotateKey(context, key.id, grace), { code: 'validation_failed', message });
  }
});

test('of the bans of a key one that runs is shown, and none that is over', () => {
  const banned = { ...key, ban: { startedAt: 0, endsAt: 60, level: 1, reason: 'r', ends: 60 } };
  assert.deepEqual(keyJson(banned, { now: 59 }).ban, { until: '1970-01-01T00:01:00Z', reason: 'r' });
  assert.equal(keyJson(banned, { now: 60 }).ban, null);
});
