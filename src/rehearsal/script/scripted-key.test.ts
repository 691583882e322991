import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemTime } from '../../stdx/time.ts';
import { ScriptedKeys } from './scripted-key.ts';

test('whether a key has a script is read once, and again after a failure', async () => {
  const outcomes = [Promise.reject(new Error('unavailable')), Promise.resolve(undefined)];
  let reads = 0;
  const keys = new ScriptedKeys({ read: () => outcomes[reads++] } as never, systemTime());
  await assert.rejects(keys.find('key_1'), { message: 'unavailable' });
  assert.deepEqual([await keys.find('key_1'), await keys.find('key_1'), reads], [undefined, undefined, 2]);
});

test('the progress of a script is never evicted, however many keys without one come', async () => {
  let reads = 0;
  const saved = { script: 'ok', reached: 0, holdsUntilMs: null, nextNumber: 0 };
  const keys = new ScriptedKeys({ read: async () => (reads++ === 0 ? saved : undefined) } as never, systemTime());
  const first = await keys.find('key_1');
  for (let other = 2; other <= 10_001; other += 1) await keys.find(`key_${other}`);
  assert.equal(await keys.find('key_1'), first);
  assert.equal(reads, 10_001);
});
