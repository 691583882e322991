import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeUrl, readRedirection, slotOf } from './slots.ts';

test('the slot of a hash tag is its CRC16 (XMODEM) modulo 16,384', () => {
  // The check value of the cluster specification, and two slots that `CLUSTER KEYSLOT` of Redis 7.0.15 gives.
  assert.equal(slotOf('123456789'), 0x31c3);
  assert.deepEqual(['beat', 'foo', ''].map(slotOf), [553, 12_182, 0]);
});

test('redirections are read, and no other error is one', () => {
  const of = (message: string) => readRedirection(new Error(message));
  assert.deepEqual(of('MOVED 3999 127.0.0.1:6381'), { kind: 'MOVED', slot: 3_999, host: '127.0.0.1', port: 6_381 });
  assert.deepEqual(of('ASK 1 ::1:6381'), { kind: 'ASK', slot: 1, host: '::1', port: 6_381 });
  assert.deepEqual(of('MOVED 2 :6381'), { kind: 'MOVED', slot: 2, host: '', port: 6_381 }, 'an unknown host');
  assert.equal(of('CLUSTERDOWN Hash slot not served'), undefined);
});

test('a node has user, password and TLS of REDIS_URL, and its host if the cluster knows none', () => {
  const url = 'rediss://user:p%40ss@first.example:6379/0';
  assert.equal(nodeUrl(url, '10.0.0.2', 7_000), 'rediss://user:p%40ss@10.0.0.2:7000');
  assert.equal(nodeUrl(url, '::1', 7_000), 'rediss://user:p%40ss@[::1]:7000');
  for (const unknown of [null, '', '?']) {
    assert.equal(nodeUrl(url, unknown, 7_000), 'rediss://user:p%40ss@first.example:7000');
  }
});
