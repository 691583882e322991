import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { watchDescriptors } from './descriptors.ts';

test('the end of the descriptors is told once, and once that there are some again', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [open, close] = [t.mock.method(fs, 'openSync'), t.mock.method(fs, 'closeSync')];
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const told: string[] = [];
  const events = {
    descriptorsExhausted: (error: unknown) => told.push((error as { code: string }).code),
    descriptorsFreed: () => told.push('freed'),
  };
  const failWith = (code: string) =>
    open.mock.mockImplementation(() => {
      throw Object.assign(new Error(code), { code });
    });
  using _watch = watchDescriptors(events);
  t.mock.timers.tick(2_000);
  const opened = open.mock.calls.map(({ result }) => result);
  assert.equal(opened.length, 2);
  assert.deepEqual(
    close.mock.calls.map(({ arguments: [descriptor] }) => descriptor),
    opened,
    'none is kept',
  );
  failWith('EMFILE');
  t.mock.timers.tick(999);
  assert.deepEqual(told, []);
  t.mock.timers.tick(1_001);
  failWith('EACCES');
  t.mock.timers.tick(2_000);
  failWith('ENFILE');
  t.mock.timers.tick(1_000);
  assert.deepEqual(told, ['EMFILE', 'freed', 'ENFILE']);
});

test('the look keeps no process alive', () => {
  using watch = watchDescriptors({ descriptorsExhausted: assert.fail, descriptorsFreed: assert.fail });
  assert.equal((watch as NodeJS.Timeout).hasRef(), false);
});
