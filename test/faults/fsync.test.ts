import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { serveProcess } from '../kit/process.ts';

const CREATES = 5;

test('the log is fsynced between a create’s write and its 201', async (t) => {
  if (spawnSync('strace', ['-V']).status !== 0) {
    t.skip('strace is not installed: the order of system calls was not looked at');
    return;
  }
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], { cwd: folder.path });
  const trace = join(folder.path, 'trace');
  const strace = spawn('strace', ['-f', '-y', '-s', '400', '-e', 'trace=desc', '-o', trace, '-p', `${service.pid}`]);
  if (!(await isAttached(strace))) {
    t.skip('strace may not attach here: the order of system calls was not looked at');
    return;
  }
  // Waited for from here on: strace ends with the service, and may do so before that one's end is noticed.
  const traced = once(strace, 'close');
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < CREATES; i += 1) {
    assert.equal((await send(agent, `${service.url}/categories`, secret, { name: `traced-${i}` })).status, 201);
  }
  agent.destroy();
  await service.end('SIGTERM');
  await traced;

  const calls = readFileSync(trace, 'utf8').split('\n');
  let answered = 0;
  let isWritten = false;
  let isSynced = false;
  const syncing = new Set<string>();
  for (const call of calls) {
    if (/pwrite64\(\d+<[^>]*-wal>/.test(call)) [isWritten, isSynced] = [true, false];
    // If another thread makes a call meanwhile, strace writes two lines: the call unfinished, and resumed.
    const [, caller = '', end = ''] = /^(\d+) +f(?:data)?sync\(\d+<[^>]*-wal>(.*)$/.exec(call) ?? [];
    if (end.includes('<unfinished')) syncing.add(caller);
    const [, resumed = ''] = /^(\d+) +<\.\.\. f(?:data)?sync resumed>/.exec(call) ?? [];
    if ((end || syncing.delete(resumed)) && / = 0$/.test(call)) isSynced = isWritten;
    if (call.includes('HTTP/1.1 201')) {
      assert.ok(isSynced, `a 201 went out before its fsync: ${call}`);
      answered += 1;
      isWritten = false;
      isSynced = false;
    }
  }
  assert.equal(answered, CREATES, 'every 201 was seen in the trace');
});

async function isAttached(strace: ChildProcess): Promise<boolean> {
  let said = '';
  strace.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const hasEnded = () => strace.exitCode !== null || strace.signalCode !== null;
  await untilTrue(() => /attached/.test(said) || hasEnded(), 'strace');
  return !hasEnded();
}
