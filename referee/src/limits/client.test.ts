import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { standing } from '../../test/kit/upstream.ts';
import { Client } from './client.ts';
import type { Sent } from './exchange.ts';

const LIST: Sent = { method: 'GET', path: '/categories', headers: {}, body: undefined };
const SENDING = { timeoutMs: 30_000 };
const MIB = 1024 * 1024;

async function serving(server: Server) {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket.on('error', () => {})));
  const { url, [Symbol.asyncDispose]: close } = await standing(server);
  const client = new Client(new URL(`${url}/v1`));
  return {
    client,
    sockets,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      for (const socket of sockets) socket.destroy();
      await close();
    },
  };
}
const answering = (listener: RequestListener) => serving(createServer(listener));
/** A server that speaks once to each connection as soon as something comes, and ends it. */
const saying = (text: string) => serving(createTcpServer((socket) => socket.once('data', () => socket.end(text))));

test('the first 2 KiB of a body are kept, and beyond 8 MiB the connection ends', async () => {
  await using served = await answering(({ url = '' }, response) => {
    response.end(Buffer.alloc(Number(url.replace('/v1/', '')), 'x'));
  });
  for (const [bytes, connections] of [
    [2_049, 1],
    [8 * MIB, 1],
    [8 * MIB + 1, 1],
    [1, 2],
  ] as const) {
    const { body } = await served.client.send({ ...LIST, path: `/${bytes}` }, SENDING);
    assert.deepEqual([body.length, served.sockets.length], [Math.min(bytes, 2_048), connections]);
  }
});

test('a request is repeated on another connection if its own had been idle, and only then', async () => {
  let requests = 0;
  await using served = await answering(({ socket }, response) => {
    requests += 1;
    if (requests === 2 || requests > 3) socket.destroy();
    else response.end(`${requests}`);
  });
  const { client, sockets } = served;
  assert.equal((await client.send(LIST, SENDING)).body, '1');
  assert.equal((await client.send(LIST, SENDING)).body, '3');
  assert.equal(sockets.length, 2);
  await assert.rejects(client.send(LIST, { ...SENDING, isAlone: true }), {
    message: 'no answer: socket hang up',
    code: 'ECONNRESET',
  });
  assert.equal(requests, 4);
});

test('an answer that ends before its Content-Length is none', async () => {
  for (const text of [
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]',
  ]) {
    await using served = await saying(text);
    await assert.rejects(served.client.send(LIST, SENDING), { message: 'the body ends early', isHttp: true });
  }
});
