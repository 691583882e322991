import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { workerData } from 'node:worker_threads';
import { mintSecret } from '../../../src/catalog/api-key.ts';
import type { HostileCaller, MannerName } from './hostile.ts';

/**
 * A worker thread that takes from a service as much as it can, in the manners named, each over connections of its
 * own, as fast as the service lets it, until it is terminated.
 */

// Of this thread: the attacker shares the machine with the service, but must not take its cores from those it attacks.
setPriority(constants.priority.PRIORITY_LOW);
const { port, secret, ca, manners, scale } = workerData as HostileCaller;

const PIPELINED = 100;
const BODY_BYTES = 256 * 1024;
const RECONNECT_MS = 50;

const bare = (line: string, ...more: readonly string[]) =>
  [`${line} HTTP/1.1`, 'Host: x', ...more].join('\r\n').concat('\r\n\r\n');
const head = (line: string, ...more: readonly string[]) => bare(line, `Authorization: Bearer ${secret}`, ...more);
const filler = `{"name":"Dog","x":"`;
const largest = `${filler}${'x'.repeat(BODY_BYTES - filler.length - 2)}"}`;
const manyHeaders = Array.from({ length: 990 }, (_, index) => `${index.toString(36)}:`);

/** Requests sent at once before reading as many answers; with 0 it never reads. */
interface Manner {
  readonly connections: number;
  readonly bytes: string;
  readonly answers: number;
  /** The least time from one sending to the next. Default: none. */
  readonly everyMs?: number;
}

/** Those of one key, and those that need none. */
const MANNERS: Readonly<Record<MannerName, Manner>> = {
  pipelines: { connections: 6, bytes: head('GET /v1/store/orders?limit=100').repeat(PIPELINED), answers: PIPELINED },
  pages: { connections: 4, bytes: head('GET /v1/categories?limit=1000').repeat(60), answers: 0 },
  lists: { connections: 4, bytes: head('GET /v1/categories').repeat(60), answers: 0 },
  pets: { connections: 4, bytes: head('GET /v1/pets?limit=100').repeat(600), answers: 0 },
  bodies: { connections: 4, bytes: head('POST /v1/categories', `Content-Length: ${BODY_BYTES}`) + largest, answers: 1 },
  refusals: { connections: 6, bytes: head('GET /v1/rate_limit') + head('GET /v1/pets'), answers: 2 },
  chunks: {
    connections: 5,
    bytes: `${head('POST /v1/categories', 'Transfer-Encoding: chunked')}${'1\r\nx\r\n'.repeat(BODY_BYTES)}0\r\n\r\n`,
    answers: 1,
  },
  heads: {
    connections: 150,
    bytes: bare('GET /openapi.json').repeat(60) + bare('GET /openapi.json', ...manyHeaders).repeat(110),
    answers: 0,
  },
  halfHeads: { connections: 50, bytes: `GET / HTTP/1.1\r\n${manyHeaders.join('\r\n')}\r\n`, answers: 0 },
  tiny: { connections: 20, bytes: 'GET / HTTP/1.1\r\n\r\n'.repeat(3_640), answers: 0 },
  spaces: {
    connections: 4,
    bytes: bare('GET /docs', `Accept-Encoding: a${' '.repeat(15_500)}!`, 'If-None-Match: *'),
    answers: 1,
  },
  forged: {
    connections: 2,
    bytes: Array.from({ length: PIPELINED }, () =>
      bare('GET /v1/categories', `Authorization: Bearer ${mintSecret('production')}`),
    ).join(''),
    answers: PIPELINED,
    // 1,900 a second on both connections.
    everyMs: 105,
  },
};

for (const name of manners ?? (Object.keys(MANNERS) as MannerName[])) {
  const manner = MANNERS[name];
  for (let i = 0; i < manner.connections * (scale ?? 1); i += 1) keepBusy(manner);
}

async function keepBusy(manner: Manner): Promise<never> {
  for (;;) {
    const socket = ca ? connectSecurely({ port, host: '127.0.0.1', ca }) : connect(port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    if (manner.answers === 0) sendUnread(socket, manner.bytes);
    else sendInTurn(socket, manner);
    await closed;
    await wait(RECONNECT_MS);
  }
}

/** Sends for as long as anything is taken, and never reads. A paused socket is not told of a close, so it tries. */
async function sendUnread(socket: Socket, bytes: string): Promise<void> {
  socket.pause();
  while (!socket.destroyed) {
    if (!socket.writableNeedDrain) socket.write(bytes);
    await wait(RECONNECT_MS);
  }
}

function sendInTurn(socket: Socket, { bytes, answers, everyMs = 0 }: Manner): void {
  let sentMs = performance.now();
  let left = answers;
  let tail = '';
  socket.write(bytes);
  socket.setEncoding('latin1').on('data', (text: string) => {
    const parts = (tail + text).split('HTTP/1.1 ');
    left -= parts.length - 1;
    tail = parts.at(-1)?.slice(-'HTTP/1.1 '.length + 1) ?? '';
    if (left > 0) return;
    left = answers;
    const send = () => {
      sentMs = performance.now();
      socket.write(bytes);
    };
    const restMs = sentMs + everyMs - performance.now();
    if (restMs > 0) setTimeout(send, restMs);
    else send();
  });
}
