import assert from 'node:assert/strict';
import { createDecipheriv, hash } from 'node:crypto';
import { test } from 'node:test';
import { seal, unseal } from './idempotency.ts';

test('what is sealed with a secret is opened by it, and not by the hash of it that is stored', () => {
  const sealed = seal('text', 'secret');
  assert.equal(unseal(sealed, 'secret'), 'text');
  assert.throws(() => unseal(sealed, 'other'), /unable to authenticate/);
  const bytes = Buffer.from(sealed, 'base64url');
  const opened = createDecipheriv('aes-256-gcm', hash('sha256', 'secret', 'buffer'), bytes.subarray(0, 12));
  opened.setAuthTag(bytes.subarray(12, 28));
  opened.update(bytes.subarray(28));
  assert.throws(() => opened.final(), /unable to authenticate/);
});
