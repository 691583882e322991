import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { CommandNotStarted, runToEnd } from './command.ts';

const FOREVER = [process.execPath, '-e', 'setInterval(() => {}, 1_000)'];
const usual = { env: process.env, timeoutMs: 60_000, stop: new AbortController().signal };

test('a command that begins after an interrupt is ended at once', async () => {
  const ended = await runToEnd(FOREVER, { ...usual, stop: AbortSignal.abort(130) });
  assert.deepEqual(ended, { exit: null, timedOut: false });
});

test('a command ends with its own exit code, or in vain with the time that it has', async () => {
  assert.deepEqual(await runToEnd(['sh', '-c', 'exit $CODE'], { ...usual, env: { ...process.env, CODE: '3' } }), {
    exit: 3,
    timedOut: false,
  });
  assert.deepEqual(await runToEnd(FOREVER, { ...usual, timeoutMs: 20 }), { exit: null, timedOut: true });
  const none = new CommandNotStarted('The command no-such could not be started: spawn no-such ENOENT');
  await assert.rejects(runToEnd(['no-such', 'x'], usual), none);
});

test('a command that is interrupted may end by itself', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'begun');
  const stop = new AbortController();
  const ended = runToEnd(['sh', '-c', 'trap "exit 7" TERM; echo > $0; sleep 1000 & wait', file], {
    ...usual,
    stop: stop.signal,
  });
  await untilTrue(() => existsSync(file));
  stop.abort(143);
  assert.deepEqual(await ended, { exit: 7, timedOut: false });
});
