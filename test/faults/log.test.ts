import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/folder.ts';
import { COMMAND } from '../kit/process.ts';

const FULL = '/dev/full';

for (const [what, requests] of [
  ['a full log disk', 200],
  // More than the pipe holds.
  ['a log reader that stalls', 900],
  ['a log reader that goes away', 3],
] as const) {
  const isFull = what === 'a full log disk';
  const skip = isFull && !existsSync(FULL) && 'there is no /dev/full here: the log was not filled';
  test(`${what} loses lines, and the service still serves and stops`, { skip }, async () => {
    using folder = temporaryFolder();
    const args = [COMMAND, 'serve', '--bootstrap', '--port', '0', '--access-log', 'all'];
    const env = { PATH: process.env.PATH ?? '' };
    const stderr = isFull ? openSync(FULL, 'w') : 'pipe';
    const child = spawn(process.execPath, args, { cwd: folder.path, env, stdio: ['ignore', 'pipe', stderr] });
    const ended = once(child, 'close');
    try {
      let printed = '';
      child.stdout?.setEncoding('utf8');
      while (!/curl .*categories/.test(printed)) {
        const [text] = (await once(child.stdout ?? assert.fail(), 'data')) as [string];
        printed += text;
      }
      const [, secret = '', url = ''] = /Bearer (\S+)' (\S+)/.exec(printed) ?? [];
      if (what === 'a log reader that goes away') child.stderr?.destroy();
      for (let sent = 0; sent < requests; sent += 1) {
        const headers = { authorization: `Bearer ${secret}`, 'x-request-id': 'x'.repeat(128) };
        const response = await fetch(url, { headers });
        assert.equal(response.status, 200);
        await response.text();
      }
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      assert.deepEqual(await exited, [0, null]);
      child.stderr?.destroy();
      await ended;
    } finally {
      child.kill('SIGKILL');
      if (typeof stderr === 'number') closeSync(stderr);
    }
  });
}
