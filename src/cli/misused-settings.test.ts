import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertNoneBesideEphemeral, findIneffective } from './misused-settings.ts';

test('a former setting is told once, and a name in `.env` that is two letters off, but not three', () => {
  const file = { THREADS: '4', THREADS_FILE: 'x', REDIS_URL_FILE: 'x', LOG_LEVAL: 'x', LOG_LEVASX: 'x', HOSTS: 'x' };
  assert.deepEqual(findIneffective({ flags: {}, env: { LOG_LEVAL: 'x' }, file }), [
    { finding: 'THREADS has no effect since 0.2.0; start more instances (from .env)', advice: 'remove it' },
    {
      finding: 'LOG_LEVAL is no setting; is LOG_LEVEL meant? (from .env)',
      advice: 'rename it to LOG_LEVEL, or remove it',
    },
    { finding: 'HOSTS is no setting; is HOST meant? (from .env)', advice: 'rename it to HOST, or remove it' },
  ]);
});

test('an empty address beside --ephemeral names no database', () => {
  assertNoneBesideEphemeral([
    { name: 'REDIS_URL', value: '', from: 'the file x' },
    { name: 'DATABASE_URL', value: 'sqlite:x.db', from: 'default' },
    { name: 'PORT', value: '1', from: '--port' },
  ]);
});
