import assert from 'node:assert/strict';
import { createDecipheriv, createHash, hash } from 'node:crypto';
import { test } from 'node:test';
import { onceIdOf, seal, unseal } from './idempotency.ts';

const KEY = 'key_1';

interface Sent {
  readonly header?: string;
  /** How often the header was sent, where that is not once. */
  readonly all?: string[];
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
}

/** As a request arrives. */
function exchange({ header, all, method = 'POST', path = '/pets', body = '{}' }: Sent) {
  const name = 'idempotency-key';
  const headers = header === undefined ? {} : { [name]: header };
  const headersDistinct = header === undefined ? {} : { [name]: all ?? [header] };
  return { request: { method, headers, headersDistinct }, path, bodyBytes: Buffer.from(body) };
}

const fingerprintOf = (sent: Sent) => onceIdOf(exchange({ header: 'k', ...sent }), KEY).idempotency?.fingerprint;

test('a change comes from its key, with the Idempotency-Key if there is one', () => {
  assert.deepEqual(onceIdOf(exchange({}), KEY), { keyId: KEY });
  const fingerprint = createHash('sha256').update('POST /pets\n{}').digest('base64url');
  assert.deepEqual(onceIdOf(exchange({ header: 'mine' }), KEY), {
    keyId: KEY,
    idempotency: { key: 'mine', fingerprint },
  });
});

test('only the quotes around a key are left out', () => {
  for (const [header, key] of [
    ['"mine"', 'mine'],
    ['a"b"', 'a"b"'],
    ['"a"b"', 'a"b'],
    ['"', undefined],
    ['""', undefined],
    ['"a', undefined],
    [' a', undefined],
    ['a b~', 'a b~'],
    ['a\u007f', undefined],
    ['a\n', undefined],
    ['a'.repeat(255), 'a'.repeat(255)],
    ['a'.repeat(256), undefined],
    [`"${'a'.repeat(255)}"`, 'a'.repeat(255)],
    [`"${'a'.repeat(256)}"`, undefined],
  ] as const) {
    const origin = () => onceIdOf(exchange({ header }), KEY).idempotency?.key;
    if (key !== undefined) assert.equal(origin(), key);
    else assert.throws(origin, { code: 'validation_failed', message: /^Idempotency-Key is .*; send 1 to 255 print/ });
  }
});

test('several headers are refused', () => {
  const message = 'There are several Idempotency-Key headers; send one';
  const sent = exchange({ header: 'a, b', all: ['a', 'b'] });
  assert.throws(() => onceIdOf(sent, KEY), { code: 'validation_failed', message });
});

test('another method, path or body is another request', () => {
  const others = [{ method: 'PATCH' }, { path: '/pets/1' }, { body: '{ }' }, { path: '/pets/1', body: '' }, {}];
  assert.equal(new Set(others.map(fingerprintOf)).size, others.length);
  assert.equal(fingerprintOf({}), fingerprintOf({ header: 'other' }));
});

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
