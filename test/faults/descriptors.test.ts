import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { COMMAND } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const DESCRIPTORS_MAX = 300;
const CONNECTIONS = 250;

/** The status of an answer over a given connection. */
async function getStatus(url: string, options: RequestOptions): Promise<number | undefined> {
  const [answer] = (await once(get(url, options), 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  return answer.statusCode;
}

const options = { skip: process.platform === 'win32' && 'Windows has no such limit: descriptors did not run out' };

test('connections beyond the limit of descriptors are closed and counted', options, async () => {
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
    await untilTrue(async () => /^listening on /m.test(log));
    const [, url = ''] = /^listening on (\S+)$/m.exec(log) ?? [];
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
    const headers = { authorization: `Bearer ${secret}` };
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const list = () => getStatus(`${url}/categories`, { headers, agent: kept });
    assert.equal(await list(), 200);
    rush();
    for (let round = 1; round <= 3; round += 1) {
      const before = closed;
      rush();
      await untilTrue(async () => closed >= before + CONNECTIONS);
    }
    const [, operator = ''] = /"operatorUrl":"([^"]+)"/.exec(log) ?? [];
    const metrics = await (await fetch(`${operator}/metrics`, { headers: { connection: 'close' } })).text();
    // Of four rushes 200 are open: one took the place of the one that waited for its client.
    assert.match(metrics, /^pet_catalog_connections_refused_total 800$/m);
    assert.match(log, /"event":"connections_bounded","connectionsMax":200/);
    for (const socket of sockets) socket.destroy();
    const isServed = () =>
      fetch(`${url}/categories`, { headers }).then(
        ({ ok }) => ok,
        () => false,
      );
    await untilTrue(isServed);
    assert.ok(log.split('\n').length < CONNECTIONS / 4, log);
  } finally {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    await ended;
  }
});
