import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import type { Config } from '../config.ts';
import { examineInThread } from './doctor.ts';

test('checks that fail in their thread fail with its error', async () => {
  await assert.rejects(examineInThread({} as Config), /^TypeError: Cannot read properties of undefined/);
});

test('checks whose thread ends without an answer are given up', async () => {
  process.once('worker', (thread: Worker) => thread.terminate());
  await assert.rejects(examineInThread({} as Config), { message: 'they broke off' });
});

test('checks that take longer than a minute are given up, with their thread', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const threads: Worker[] = [];
  process.once('worker', (thread: Worker) => threads.push(thread));
  let ended = false;
  const late = assert.rejects(examineInThread({} as Config), { message: 'they took longer than 60 s' }).finally(() => {
    ended = true;
  });
  t.mock.timers.tick(59_999);
  await Promise.resolve();
  assert.ok(!ended);
  t.mock.timers.tick(1);
  await late;
  assert.deepEqual(
    threads.map(({ threadId }) => threadId),
    [-1],
    'ended',
  );
});

test('an operator listener beyond loopback is a notice, unless the names are set by which it may be called', async () => {
  using folder = temporaryFolder();
  const warned = async (host: string, env = {}) => {
    const { code, stdout } = await run(['doctor', '--host', host, '--operator-host', host], { cwd: folder.path, env });
    assert.equal(code, 0);
    return stdout.includes(`warning settings: OPERATOR_HOST is ${host}: `);
  };
  for (const host of ['127.0.0.1', '127.255.0.9', '::1', 'localhost']) assert.equal(await warned(host), false, host);
  for (const host of ['0.0.0.0', '::', '::1f', '1127.0.0.1', '10.127.0.1', 'localhost.example', 'my.localhost'])
    assert.equal(await warned(host), true, host);
  assert.equal(await warned('10.0.0.1', { OPERATOR_HOSTS: 'console.example.com' }), false);
});

test('a wrong setting does not hide one without an effect', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, '.env'), 'PORT=x\nLOG_LEVAL=x\n');
  const { code, stdout } = await run(['doctor', '--json'], { cwd: folder.path });
  const found = (JSON.parse(stdout) as { check: string; status: string; finding: string; advice: string }[])
    .filter(({ check }) => check === 'settings')
    .map(({ status, finding, advice }) => [status, finding.split(' ')[0], advice]);
  assert.deepEqual(
    [code, found],
    [
      1,
      [
        ['problem', 'PORT:', 'correct it; `pet-catalog serve --help` lists them all'],
        ['warning', 'LOG_LEVAL', 'rename it to LOG_LEVEL, or remove it'],
      ],
    ],
  );
});
