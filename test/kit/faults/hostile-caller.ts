import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

/**
 * A worker thread that takes from a service whatever one key can get: pipelines, answers that it never reads, largest
 * bodies and refusals, each over connections of its own, as fast as the service lets it, until it is terminated.
 */

// Of this thread: the attacker shares the machine with the service, but must not take its cores from those it attacks.
setPriority(constants.priority.PRIORITY_LOW);
const { port, secret } = workerData as { port: number; secret: string };

const PIPELINED = 100;
const BODY_BYTES = 256 * 1024;
const RECONNECT_MS = 50;

const head = (line: string, ...more: readonly string[]) =>
  [`${line} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${secret}`, ...more].join('\r\n').concat('\r\n\r\n');
const filler = `{"name":"Dog","x":"`;
const largest = `${filler}${'x'.repeat(BODY_BYTES - filler.length - 2)}"}`;

/** Requests sent at once before reading as many answers; with 0 it never reads. */
const MANNERS: readonly { connections: number; bytes: string; answers: number }[] = [
  { connections: 6, bytes: head('GET /v1/store/orders?limit=100').repeat(PIPELINED), answers: PIPELINED },
  { connections: 4, bytes: head('GET /v1/categories?limit=1000').repeat(60), answers: 0 },
  { connections: 4, bytes: head('GET /v1/categories').repeat(60), answers: 0 },
  { connections: 4, bytes: head('GET /v1/pets?limit=100').repeat(600), answers: 0 },
  { connections: 4, bytes: head('POST /v1/categories', `Content-Length: ${BODY_BYTES}`) + largest, answers: 1 },
  { connections: 6, bytes: head('GET /v1/rate_limit') + head('GET /v1/pets'), answers: 2 },
];

for (const { connections, bytes, answers } of MANNERS) {
  for (let i = 0; i < connections; i += 1) keepBusy(bytes, answers);
}

async function keepBusy(bytes: string, answers: number): Promise<never> {
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    if (answers === 0) sendUnread(socket, bytes);
    else sendInTurn(socket, bytes, answers);
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

function sendInTurn(socket: Socket, bytes: string, answers: number): void {
  let left = answers;
  let tail = '';
  socket.write(bytes);
  socket.setEncoding('latin1').on('data', (text: string) => {
    const parts = (tail + text).split('HTTP/1.1 ');
    left -= parts.length - 1;
    tail = parts.at(-1)?.slice(-'HTTP/1.1 '.length + 1) ?? '';
    if (left > 0) return;
    left = answers;
    socket.write(bytes);
  });
}
