import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedKeys } from './scripted-key.ts';

test('whether a key has a script is read once, and again after a failure', async () => {
  const outcomes = [Promise.reject(new Error('unavailable')), Promise.resolve(undefined)];
  let reads = 0;
  const keys = new ScriptedKeys({ read: () => outcomes[reads++] } as never);
  await assert.rejects(keys.find('key_1'), { message: 'unavailable' });
  assert.deepEqual([await keys.find('key_1'), await keys.find('key_1'), reads], [undefined, undefined, 2]);
});
