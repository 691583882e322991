import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  couldBeToken,
  includesRole,
  issueToken,
  isTokenUsable,
  type OperatorToken,
  ROLES,
  revokeToken,
  roleNamed,
} from './access.ts';

const by = { actor: 'a', via: 'cli' } as const;

/** A storage that keeps one token. */
function bench() {
  const kept: unknown[] = [];
  const tokens = {
    insert: async (...all: unknown[]) => void kept.push(...all),
    revoke: async () => undefined,
  };
  return { context: { storage: { tokens }, now: 100, by } as never, kept };
}

test('each role may do what those before it may, and there is no other', () => {
  assert.deepEqual(
    ROLES.map((role) => ROLES.filter((needed) => includesRole(role, needed))),
    [['viewer'], ['viewer', 'keys'], ['viewer', 'keys', 'admin']],
  );
  assert.deepEqual(['viewer', 'keys', 'admin'].map(roleNamed), ROLES);
  const message = 'There is no role "root"; the roles are viewer, keys, admin';
  assert.throws(() => roleNamed('root'), { code: 'validation_failed', message });
});

test('a token is stored by its hash, and ends at its second', async () => {
  const { context, kept } = bench();
  const { token, secret } = await issueToken(context, { name: 'billing', role: 'keys', expiresAt: 101 });
  assert.ok(couldBeToken(secret) && secret.startsWith('petcat_op_'));
  assert.match(token.id, /^op_[0-9a-z]{10}[0-9A-Za-z]{6}$/);
  const { id, prefix, ...rest } = token;
  assert.equal(prefix, secret.slice(0, 16));
  assert.deepEqual(rest, { name: 'billing', role: 'keys', createdAt: 100, expiresAt: 101, revokedAt: null });
  assert.deepEqual(kept.slice(0, 1), [token]);
  assert.deepEqual(
    [100, 101].map((now) => isTokenUsable(token, now)),
    [true, false],
  );
  const forever: OperatorToken = { ...token, expiresAt: null };
  assert.deepEqual(
    [forever, { ...forever, revokedAt: 100 }].map((each) => isTokenUsable(each, 999)),
    [true, false],
  );
});

test('what a token cannot have is refused in words', async () => {
  const { context } = bench();
  const century = 100 * 366 * 86_400;
  const expiry = 'The expiry of a token must be in the future and within 100 years';
  await issueToken(context, { name: 'x', role: 'viewer', expiresAt: 100 + century });
  for (const [wanted, message] of [
    [{ name: ' ' }, 'The name of a token is 1 to 100 visible characters'],
    [{ name: 'x', expiresAt: 100 }, expiry],
    [{ name: 'x', expiresAt: 100 + century + 1 }, expiry],
  ] as const)
    await assert.rejects(issueToken(context, { role: 'viewer', ...wanted }), { code: 'validation_failed', message });
  await assert.rejects(revokeToken(context, 'op_1'), {
    code: 'not_found',
    message: 'There is no token op_1; the list of tokens shows them all',
  });
});
