import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { mintSecret } from '../../../src/catalog/api-key.ts';
import { temporaryFolder } from '../folder.ts';
import { serveProcess } from '../process.ts';
import { send } from './creating.ts';
import { issueKey } from './kills.ts';

const PIPELINED = 60;

export interface WrongKeyFigures {
  readonly tries: number;
  readonly refused: number;
  /** Growth of the process's memory from the middle of the tries to their end. */
  readonly grownBytes: number;
  readonly goodStatus: number;
}

/** Presents so many different keys, well-formed ones with a right checksum, none of which was ever issued. */
export async function tryWrongKeys(tries: number): Promise<WrongKeyFigures> {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess(['--access-log', 'none'], { cwd: folder.path });
  const { port } = new URL(service.url);
  let refused = await guess(Number(port), tries / 2);
  const half = residentBytes(service.pid);
  refused += await guess(Number(port), tries / 2);
  const grownBytes = residentBytes(service.pid) - half;
  const { status } = await send(new Agent(), `${service.url}/categories`, secret);
  return { tries, refused, grownBytes, goodStatus: status };
}

/** Sends guesses, many to a packet, over one connection; returns how many were answered with 401. */
async function guess(port: number, count: number): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  let refused = 0;
  let tail = '';
  const answered = new Promise<void>((resolve, reject) => {
    socket.setEncoding('latin1').on('data', (text: string) => {
      const parts = (tail + text).split('HTTP/1.1 401 ');
      refused += parts.length - 1;
      tail = parts.at(-1)?.slice(-20) ?? '';
      if (refused >= count) resolve();
    });
    socket.on('error', reject).on('close', () => reject(new Error(`closed after ${refused} answers`)));
  });
  answered.catch(() => {});
  for (let sent = 0; sent < count; sent += PIPELINED) {
    let packet = '';
    for (let i = 0; i < Math.min(PIPELINED, count - sent); i += 1) {
      packet += `GET /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${mintSecret('production')}\r\n\r\n`;
    }
    if (!socket.write(packet)) await new Promise((resolve) => socket.once('drain', resolve));
    // Of more at once the service answers 129. Once the connection is closed, `answered` says so.
    while (refused < sent && !socket.destroyed) await wait(1);
  }
  await answered;
  socket.removeAllListeners('close');
  socket.destroy();
  return refused;
}

/** The resident memory of a process (proc_pid_status(5), VmRSS); NaN where the system does not tell. */
export function residentBytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

export interface SlowFigures {
  readonly slow: number;
  readonly idle: number;
  readonly aloneP99Ms: number;
  readonly besideP99Ms: number;
  readonly unexplained: number;
}

/** Times a good client alone, and then beside slow senders, byte-at-a-time readers and idle connections. */
export async function timeBesideSlow({
  slow,
  idle,
  requests,
}: {
  slow: number;
  idle: number;
  requests: number;
}): Promise<SlowFigures> {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess(['--demo'], { cwd: folder.path });
  const { port } = new URL(service.url);
  await timeGood(service.url, secret, requests);
  const alone = await timeGood(service.url, secret, requests);

  const sockets: Socket[] = [];
  const open = async () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
    return socket;
  };
  for (let i = 0; i < idle; i += 1) await open();
  for (let i = 0; i < slow; i += 1) (await open()).write('POST /v1/categories HTTP/1.1\r\nHost: x\r\n');
  const dribble = setInterval(() => {
    for (const socket of sockets.slice(idle)) if (socket.writable) socket.write('x');
  }, 500);
  const beside = await timeGood(service.url, secret, requests);
  clearInterval(dribble);
  for (const socket of sockets) socket.destroy();
  return {
    slow,
    idle,
    aloneP99Ms: alone.p99Ms,
    besideP99Ms: beside.p99Ms,
    unexplained: alone.unexplained + beside.unexplained,
  };
}

async function timeGood(
  url: string,
  secret: string,
  requests: number,
): Promise<{ p99Ms: number; unexplained: number }> {
  const agent = new Agent({ keepAlive: true });
  const timesMs: number[] = [];
  let unexplained = 0;
  for (let i = 0; i < requests; i += 1) {
    const startedMs = performance.now();
    const { status } = await send(agent, `${url}/categories`, secret);
    timesMs.push(performance.now() - startedMs);
    if (status !== 200) unexplained += 1;
  }
  agent.destroy();
  timesMs.sort((a, b) => a - b);
  return { p99Ms: timesMs[Math.floor(requests * 0.99)] ?? Number.NaN, unexplained };
}
