import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { untilTrue } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { isAlive } from '../../test/kit/fixtures.ts';
import { Mistake } from '../mistake.ts';
import { runToEnd, startApi } from './command.ts';

const FOREVER = [process.execPath, '-e', 'setInterval(() => {}, 1_000)'];
const usual = { env: process.env, timeoutMs: 60_000, stop: new AbortController().signal };

test('a command that begins after an interrupt is ended at once', async () => {
  const ended = await runToEnd(FOREVER, { ...usual, stop: AbortSignal.abort(130) });
  assert.deepEqual(ended, { exit: null, timedOut: false, tail: '' });
});

test('a command ends with its own exit code, or in vain with the time that it has', async () => {
  const env = { ...process.env, CODE: '3' };
  const failed = await runToEnd(['sh', '-c', 'echo why >&2; exit $CODE'], { ...usual, env });
  assert.deepEqual(failed, { exit: 3, timedOut: false, tail: 'why\n' });
  assert.deepEqual(await runToEnd(FOREVER, { ...usual, timeoutMs: 20 }), { exit: null, timedOut: true, tail: '' });
  const none = new Mistake('The command no-such could not be started: spawn no-such ENOENT');
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
  assert.deepEqual(await ended, { exit: 7, timedOut: false, tail: '' });
});

test('a command that is asked to stop is killed after two seconds, and none once it has ended', async (t) => {
  using folder = temporaryFolder();
  const kill = t.mock.method(process, 'kill');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [trap, exit, killsInTime] of [
    ['', null, 1],
    ['exit 7', 7, 0],
  ] as const) {
    const file = join(folder.path, `${exit}`);
    const stop = new AbortController();
    const script = `trap '${trap}' TERM; echo > $0; sleep 30 & wait; sleep 30`;
    const ended = runToEnd(['sh', '-c', script, file], { ...usual, stop: stop.signal });
    do await nextTurn();
    while (!existsSync(file));
    kill.mock.resetCalls();
    stop.abort(143);
    t.mock.timers.tick(1_999);
    assert.deepEqual(
      kill.mock.calls.map((call) => call.arguments[1]),
      ['SIGTERM'],
    );
    if (killsInTime > 0) t.mock.timers.tick(1);
    assert.equal(kill.mock.callCount(), 1 + killsInTime);
    assert.equal((await ended).exit, exit);
    const atEnd = kill.mock.callCount();
    assert.equal(atEnd, 2 + killsInTime);
    t.mock.timers.tick(60_000);
    assert.equal(kill.mock.callCount(), atEnd);
  }
  const stop = new AbortController();
  await runToEnd(['true'], { ...usual, stop: stop.signal });
  kill.mock.resetCalls();
  stop.abort(143);
  assert.equal(kill.mock.callCount(), 0);
});

for (const [what, script, url] of [
  ['a line that says so', 'see http://127.0.0.1:1/docs\\nlistening on http://127.0.0.1:PORT/v1.', '/v1'],
  ['the first address, where no line says so', 'http://localhost:PORT/api', '/api'],
  ['an address of all interfaces', 'ready: http://0.0.0.0:PORT', ''],
] as const) {
  test(`an API that is started is at the address of ${what}, and ends with all that it started`, async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'server.js');
    const listen = `.listen(0, '127.0.0.1', function () { console.log('${script}'.replace('PORT', this.address().port)) })`;
    const stopped = join(folder.path, 'stopped');
    const stop = `setTimeout(() => { require('node:fs').writeFileSync('${stopped}', ''); process.exit() }, 50)`;
    const server = `require('node:http').createServer((_, answer) => answer.end('here'))${listen}`;
    writeFileSync(file, `${server}; process.on('SIGTERM', () => ${stop})`);
    const pids = join(folder.path, 'pid');
    const command = `sleep 1000 & echo $! > ${pids}; '${process.execPath}' ${file}; true`;
    {
      await using api = await startApi(command, { ...usual, upstream: undefined });
      assert.equal(new URL(api.url).pathname.replace(/\/$/, ''), url);
      assert.equal(await (await fetch(api.url)).text(), 'here');
    }
    assert.ok(existsSync(stopped), 'the shell had ended before');
    const pid = Number(readFileSync(pids, 'utf8'));
    await untilTrue(() => !isAlive(pid));
  });
}

test('an API that ends before it is ready is a mistake, with what it wrote', async () => {
  const started = startApi('echo no database; exit 1', { ...usual, upstream: undefined });
  await assert.rejects(started, new Mistake('The command of --start ended before it was ready:\nno database'));
  const silent = startApi('exit 1', { ...usual, upstream: undefined });
  await assert.rejects(silent, new Mistake('The command of --start ended before it was ready, and wrote nothing'));
});
