import assert from 'node:assert/strict';
import { test } from 'node:test';
import { includesRole, ROLES, roleNamed } from './access.ts';

test('each role may do what those before it may, and there is no other', () => {
  assert.deepEqual(
    ROLES.map((role) => ROLES.filter((needed) => includesRole(role, needed))),
    [['viewer'], ['viewer', 'keys'], ['viewer', 'keys', 'admin']],
  );
  assert.deepEqual(['viewer', 'keys', 'admin'].map(roleNamed), ROLES);
  const message = 'There is no role "root"; the roles are viewer, keys, admin';
  assert.throws(() => roleNamed('root'), { code: 'validation_failed', message });
});
