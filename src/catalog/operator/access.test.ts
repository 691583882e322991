import assert from 'node:assert/strict';
import { test } from 'node:test';
import { includesRole, issueToken, ROLES, revokeToken, roleNamed } from './access.ts';

test('each role may do what those before it may, and there is no other', () => {
  assert.deepEqual(
    ROLES.map((role) => ROLES.filter((needed) => includesRole(role, needed))),
    [['viewer'], ['viewer', 'keys'], ['viewer', 'keys', 'admin']],
  );
  assert.deepEqual(['viewer', 'keys', 'admin'].map(roleNamed), ROLES);
  const message = 'There is no role "root"; the roles are viewer, keys, admin';
  assert.throws(() => roleNamed('root'), { code: 'validation_failed', message });
});

test('what a token cannot have is refused in words', async () => {
  const tokens = { insert: async () => {}, revoke: async () => undefined };
  const context = { storage: { tokens }, now: 100, by: { actor: 'a', via: 'cli' } } as const;
  const century = 100 * 366 * 86_400;
  const expiry = 'The expiry of a token must be in the future and within 100 years';
  await issueToken(context as never, { name: 'x', role: 'viewer', expiresAt: 100 + century });
  for (const [wanted, message] of [
    [{ name: ' ' }, 'The name of a token is 1 to 100 visible characters'],
    [{ name: 'x', expiresAt: 100 }, expiry],
    [{ name: 'x', expiresAt: 100 + century + 1 }, expiry],
  ] as const)
    await assert.rejects(issueToken(context as never, { role: 'viewer', ...wanted }), {
      code: 'validation_failed',
      message,
    });
  await assert.rejects(revokeToken(context as never, 'op_1'), {
    code: 'not_found',
    message: 'There is no token op_1; the list of tokens shows them all',
  });
});
