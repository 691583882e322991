import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApiKey } from '../api-key.ts';
import { changeKey, deleteCategory, endGraces, liftBan, renameCategory, revokeKey, rotateKey } from './changes.ts';

const { key } = newApiKey({ name: 'x', environment: 'staging', plan: 'free' }, 0);

test('a key is rotated where it belongs only, whatever its grace', async () => {
  const storage = { keys: { find: async () => key } } as never;
  const context = { storage, environment: 'production', now: 1, by: { actor: 'a', via: 'cli' } } as const;
  for (const grace of [0, 1, 30 * 86_400]) {
    const message = `The key ${key.id} belongs to staging; rotate it where ENVIRONMENT is staging`;
    await assert.rejects(rotateKey(context, key.id, grace), { code: 'validation_failed', message });
  }
});

test('a grace is 30 days at most, and a change names what is not there', async () => {
  const storage = {
    keys: { find: async () => undefined, revoke: async () => undefined, endGraces: async () => key },
    categories: { rename: async () => undefined, delete: async (id: number) => (id === 1 ? 'in use' : 'not found') },
  } as never;
  const context = { storage, environment: 'staging', now: 1, by: { actor: 'a', via: 'cli' } } as const;
  await endGraces(context, key.id);
  const noKey = 'There is no key key_x; the list of keys shows them all';
  const noCategory = 'There is no category 2; the list of categories shows them all';
  for (const [changed, code, message] of [
    [rotateKey(context, 'key_x', 30 * 86_400), 'not_found', noKey],
    [
      rotateKey(context, 'key_x', 30 * 86_400 + 1),
      'validation_failed',
      'The grace is 2592001 s; at most 30d are possible',
    ],
    [changeKey(context, 'key_x', {}), 'not_found', noKey],
    [revokeKey(context, 'key_x'), 'not_found', noKey],
    [liftBan(context, 'key_x'), 'not_found', noKey],
    [renameCategory(context, 2, 'Dog'), 'not_found', noCategory],
    [deleteCategory(context, 2), 'not_found', noCategory],
    [deleteCategory(context, 1), 'category_in_use', 'The category 1 has pets, so it was not deleted'],
  ] as const)
    await assert.rejects(changed, { code, message });
});
