import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { COMMAND } from '../kit/process.ts';

const DESCRIPTORS_MAX = 300;
const CONNECTIONS = 250;
const OPERATOR_CONNECTIONS = 50;

/** The status of an answer over a given connection. */
async function getStatus(url: string, options: RequestOptions): Promise<number | undefined> {
  const [answer] = (await once(get(url, options), 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  return answer.statusCode;
}

const options = { skip: process.platform === 'win32' && 'Windows has no such limit: descriptors did not run out' };

test('connections beyond the descriptors of each listener are closed and counted', options, async () => {
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
    await untilTrue(async () => /^listening on /m.test(log) && /"operatorUrl"/.test(log));
    const [, url = ''] = /^listening on (\S+)$/m.exec(log) ?? [];
    const [, operator = ''] = /"operatorUrl":"([^"]+)"/.exec(log) ?? [];
    /** Opens connections that are held, if the service takes them; counts those that it closes. */
    let closed = 0;
    const rush = (at = url) => {
      for (let i = 0; i < CONNECTIONS; i += 1) {
        const socket = connect(Number(new URL(at).port), '127.0.0.1');
        socket.on('error', () => {});
        socket.on('close', () => {
          closed += 1;
        });
        socket.resume();
        sockets.push(socket);
      }
    };
    for (let round = 1; round <= 2; round += 1) rush(operator);
    await untilTrue(async () => closed >= 2 * CONNECTIONS - OPERATOR_CONNECTIONS);
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
    assert.match(log, /"event":"connections_bounded","connectionsMax":200/);
    for (const socket of sockets) socket.destroy();
    const isServed = () =>
      fetch(`${url}/categories`, { headers }).then(
        ({ ok }) => ok,
        () => false,
      );
    await untilTrue(isServed);
    const metrics = await (await fetch(`${operator}/metrics`, { headers: { connection: 'close' } })).text();
    const refused = Number(/^pet_catalog_connections_refused_total (\d+)$/m.exec(metrics)?.[1]);
    // Of four rushes 200 are open: one took the place of the one that waited for its client.
    assert.ok(refused >= 2 * CONNECTIONS - OPERATOR_CONNECTIONS + 800, `${refused} were refused`);
    assert.ok(log.split('\n').length < CONNECTIONS / 4, log);
  } finally {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    await ended;
  }
});
