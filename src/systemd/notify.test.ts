import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { untilEqual, untilTrue } from '../../test/kit/clock.ts';
import { missingPrograms } from '../../test/kit/deploy/programs.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { launch, serveProcess } from '../../test/kit/process.ts';
import { notifySystemd } from './notify.ts';

const skip = missingPrograms('systemd-notify', 'python3');

/** Prints each datagram on a line. As systemd does, it closes what comes with a barrier. */
const MANAGER = `
import socket, sys
at = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
at.bind(sys.argv[1])
while True: print(at.recv(4096).decode(), flush=True)
`;

test('systemd is told when the service is ready, that it runs, and that it stops', { skip }, async () => {
  using folder = temporaryFolder();
  const NOTIFY_SOCKET = join(folder.path, 'notify');
  const command = ['python3', '-c', MANAGER, NOTIFY_SOCKET] as const;
  const { child: manager, output } = launch([], { cwd: folder.path, command });
  try {
    await untilTrue(() => existsSync(NOTIFY_SOCKET), 'the socket');
    const env = { NOTIFY_SOCKET, WATCHDOG_USEC: '300000' };
    await using service = await serveProcess([], { cwd: folder.path, env });
    await untilTrue(() => /^READY=1$/m.test(output.stdout) && output.stdout.includes('WATCHDOG=1'), 'a beat');
    assert.equal(await service.end('SIGTERM'), 0);
    await untilTrue(() => output.stdout.includes('STOPPING=1'), 'the end');
    assert.equal(service.output.stderr.match(/systemd/), null);
  } finally {
    const ended = once(manager, 'exit');
    manager.kill('SIGTERM');
    await ended;
  }
});

test('it beats three times in the time after which systemd restarts it', async (t) => {
  using folder = temporaryFolder();
  const told = join(folder.path, 'told');
  writeFileSync(join(folder.path, 'systemd-notify'), `#!/bin/sh\necho "$1" >> ${told}\n`, { mode: 0o755 });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const env = { PATH: folder.path, NOTIFY_SOCKET: 'x', WATCHDOG_USEC: '30000000' };
  const states = () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []);
  {
    using _systemd = notifySystemd(env, assert.fail);
    await untilEqual(states, ['READY=1']);
    t.mock.timers.tick(9_999);
    await setImmediate();
    assert.deepEqual(states(), ['READY=1']);
    t.mock.timers.tick(1);
    await untilEqual(states, ['READY=1', 'WATCHDOG=1']);
  }
  await untilEqual(states, ['READY=1', 'WATCHDOG=1', 'STOPPING=1']);
  t.mock.timers.tick(60_000);
  await setImmediate();
  assert.equal(states().length, 3, 'no beat after the end');
});

test('a service that cannot tell systemd says so once, and serves', { skip }, async () => {
  using folder = temporaryFolder();
  const env = { NOTIFY_SOCKET: join(folder.path, 'none'), WATCHDOG_USEC: '30000' };
  await using service = await serveProcess([], { cwd: folder.path, env });
  await untilTrue(() => service.output.stderr.includes('systemd'), 'the line');
  assert.equal((await fetch(service.url)).status, 401);
  assert.equal(service.output.stderr.split('systemd waits').length, 2);
});
