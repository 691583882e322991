import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runToEnd } from './command.ts';

test('a command that begins after an interrupt is ended at once', async () => {
  const forever = [process.execPath, '-e', 'setInterval(() => {}, 1_000)'];
  const ended = await runToEnd(forever, { env: process.env, timeoutMs: 5_000, stop: AbortSignal.abort(130) });
  assert.deepEqual(ended, { exit: null, timedOut: false });
});
