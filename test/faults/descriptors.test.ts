import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { COMMAND } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const DESCRIPTORS_MAX = 64;
const CONNECTIONS = 100;

const options = { skip: process.platform === 'win32' && 'Windows has no such limit: descriptors did not run out' };

test('running out of descriptors logs one line, counts in a metric, and recovers', options, async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  const script = `ulimit -n ${DESCRIPTORS_MAX}; exec "$@"`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, COMMAND, 'serve', '--port', '0'], {
    cwd: folder.path,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const sockets: Socket[] = [];
  try {
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const lines = (event: string) => log.split('\n').filter((line) => line.includes(`"event":"${event}"`)).length;
    await untilTrue(async () => /^listening on /m.test(log) && lines('started') === 1);
    const [, url = ''] = /^listening on (\S+)$/m.exec(log) ?? [];
    const [, operatorUrl = ''] = /"operatorUrl":"([^"]+)"/.exec(log) ?? [];
    const { port } = new URL(url);
    /** Opens connections that are held, if the service takes them; counts those that it closes. */
    let closed = 0;
    const rush = () => {
      for (let i = 0; i < CONNECTIONS; i += 1) {
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => {});
        socket.on('close', () => {
          closed += 1;
        });
        socket.resume();
        sockets.push(socket);
      }
    };
    rush();
    await untilEqual(() => lines('descriptors_exhausted'), 1);
    for (let round = 1; round <= 3; round += 1) {
      const before = closed;
      rush();
      await untilTrue(async () => closed >= before + CONNECTIONS);
    }
    for (const socket of sockets) socket.destroy();
    // On a busy machine connections may have timed out, and others run out anew, in between.
    await untilTrue(async () => lines('descriptors_freed') === lines('descriptors_exhausted'));
    assert.ok(log.split('\n').length < CONNECTIONS / 4, log);
    const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
    assert.ok(metrics.includes(`pet_catalog_descriptor_exhaustions_total ${lines('descriptors_exhausted')}\n`));
    const listed = await fetch(`${url}/categories`, { headers: { authorization: `Bearer ${secret}` } });
    assert.equal(listed.status, 200);
  } finally {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    await ended;
  }
});
