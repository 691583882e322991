import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../kit/service.ts';

const COMMAND = fileURLToPath(new URL('../../bin/pet-catalog.js', import.meta.url));

test('a full log disk loses lines, and the service still serves and stops', async (t) => {
  if (!existsSync('/dev/full')) {
    t.skip('there is no /dev/full here: the log was not filled');
    return;
  }
  const full = openSync('/dev/full', 'w');
  await serveWithStderr(full, async (url, secret) => {
    for (let i = 0; i < 200; i += 1) {
      const response = await fetch(url, { headers: { authorization: `Bearer ${secret}` } });
      assert.equal(response.status, 200);
      await response.text();
    }
  });
  closeSync(full);
});

test('a stalled log reader loses lines, and the service still serves and stops', async () => {
  await serveWithStderr('pipe', async (url, secret) => {
    // More than the pipe and the queue of lines hold, because the pipe is not read.
    for (let round = 0; round < 30; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () =>
          fetch(url, { headers: { authorization: `Bearer ${secret}`, 'x-request-id': 'x'.repeat(128) } }),
        ),
      );
      for (const answer of answers) {
        assert.equal(answer.status, 200);
        await answer.text();
      }
    }
  });
});

test('a log reader that goes away is no matter to the service', async () => {
  await serveWithStderr('pipe', async (url, secret, stderr) => {
    stderr?.destroy();
    for (let i = 0; i < 3; i += 1) {
      const response = await fetch(url, { headers: { authorization: `Bearer ${secret}` } });
      assert.equal(response.status, 200);
      await response.text();
    }
  });
});

/** Runs the service with an unread stderr, sends requests, and asserts that it stops when told to. */
async function serveWithStderr(
  stderr: number | 'pipe',
  work: (url: string, secret: string, stderr: Readable | null) => Promise<void>,
) {
  using folder = temporaryFolder();
  const args = [COMMAND, 'serve', '--bootstrap', '--port', '0', '--access-log', 'all'];
  const env = { PATH: process.env.PATH ?? '' };
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
    await work(url, secret, child.stderr);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const [code] = (await exited) as [number | null];
    assert.equal(code, 0);
    child.stderr?.destroy();
    await ended;
  } finally {
    child.kill('SIGKILL');
  }
}
