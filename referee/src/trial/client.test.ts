import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Client } from './client.ts';
import type { Sent } from './exchange.ts';

const LIST: Sent = { method: 'GET', path: '/categories', headers: {}, body: undefined };
const SENDING = { timeoutMs: 30_000 };
const MIB = 1024 * 1024;

interface Served extends AsyncDisposable {
  readonly client: Client;
  readonly sockets: readonly Socket[];
}

async function serving(server: Server, host = '127.0.0.1', path = '/v1'): Promise<Served> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket.on('error', () => {})));
  server.listen(0, host);
  await once(server, 'listening');
  const shown = host.includes(':') ? `[${host}]` : host;
  const client = new Client(new URL(`http://${shown}:${(server.address() as AddressInfo).port}${path}`));
  return {
    client,
    sockets,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
const answering = (listener: RequestListener, path?: string) => serving(createServer(listener), '127.0.0.1', path);
/** A server that speaks once to each connection as soon as something comes, and ends it. */
const saying = (text: string, host?: string) =>
  serving(
    createTcpServer((socket) => socket.once('data', () => socket.end(text))),
    host,
  );

describe('a body is read', () => {
  for (const [coding, encode] of [
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP ', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['unheard-of', (text: string) => Buffer.from(text)],
  ] as const) {
    test(`in the coding ${coding}, and none where none can be`, async () => {
      await using served = await answering(({ method, url = '' }, response) => {
        response.writeHead(Number(url.slice(-3)), { 'content-encoding': coding });
        response.end(method === 'HEAD' || !url.endsWith('200') ? undefined : encode('{"a":"é"}'));
      });
      for (const [method, path, body] of [
        ['GET', '/200', '{"a":"é"}'],
        ['HEAD', '/200', ''],
        ['GET', '/204', ''],
        ['GET', '/304', ''],
      ] as const) {
        assert.equal((await served.client.send({ ...LIST, method, path }, SENDING)).body, body, `${method} ${path}`);
      }
    });
  }

  test('up to 8 MiB, and only 64 KiB of a larger one', async () => {
    await using served = await answering(({ url = '' }, response) => {
      response.end(Buffer.alloc(8 * MIB + Number(url.slice(-1)), 'x'));
    });
    for (const [path, length, cut] of [
      ['/0', 8 * MIB, false],
      ['/1', 65_536, true],
    ] as const) {
      const { body, isCut, list } = await served.client.send({ ...LIST, path }, SENDING);
      assert.deepEqual([body.length, isCut, list], [length, cut, undefined]);
    }
  });

  test('as a list beyond 8 MiB, if it is asked for and answered with 200', async () => {
    const text = JSON.stringify(Array(18).fill({ id: 1, name: 'x'.repeat(MIB / 2) }));
    await using served = await answering(({ url = '' }, response) => {
      response.writeHead(Number(url.slice(-3))).end(text);
    });
    const isOwn = () => false;
    const listed = await served.client.send({ ...LIST, path: '/200' }, { ...SENDING, isOwn });
    assert.deepEqual([listed.isCut, listed.list?.fault, listed.list?.count], [false, undefined, 18]);
    assert.ok(listed.body.length < 8 * MIB, `${listed.body.length} characters are kept`);
    const other = await served.client.send({ ...LIST, path: '/206' }, { ...SENDING, isOwn });
    assert.deepEqual([other.isCut, other.list], [true, undefined]);
  });
});

test('headers have lower case, and repeated ones are joined', async () => {
  await using served = await saying('HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nX-B: 3\r\ncontent-length: 0\r\n\r\n');
  const { headers } = await served.client.send(LIST, SENDING);
  assert.deepEqual(Object.fromEntries(headers), { 'x-a': '1, 2', 'x-b': '3', 'content-length': '0' });
});

test('a slash at the end of a base address is none of its paths', async () => {
  for (const path of ['/v1', '/v1/']) {
    await using served = await answering(({ url, headers }, response) => {
      response.end(JSON.stringify([url, headers['content-length']]));
    }, path);
    const { client } = served;
    assert.equal((await client.send({ ...LIST, method: 'POST', body: 'é' }, SENDING)).body, '["/v1/categories","2"]');
    assert.deepEqual([client.pathOf('/a'), client.addressOf('/a')], ['/v1/a', `http://${client.host}/v1/a`]);
  }
});

test('an answer that is late says for how long', async () => {
  await using served = await answering(() => {});
  await assert.rejects(served.client.send(LIST, { timeoutMs: 1.5 }), {
    message: 'no answer: none came within 1 s',
    code: 'LATE',
    sent: LIST,
  });
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

test('requests that follow each other share a connection, of many at once 16, and one alone has its own', async () => {
  const waiting: (() => void)[] = [];
  let isHeld = false;
  await using served = await answering((_, response) => {
    waiting.push(() => response.end());
    if (!isHeld) waiting.pop()?.();
    else if (waiting.length === 16) for (const go of waiting.splice(0)) go();
  });
  const { client, sockets } = served;
  for (let i = 0; i < 3; i += 1) await client.send(LIST, SENDING);
  assert.equal(sockets.length, 1);
  isHeld = true;
  await Promise.all(Array.from({ length: 32 }, () => client.send(LIST, SENDING)));
  assert.equal(sockets.length, 16);
  isHeld = false;
  await client.send(LIST, { ...SENDING, isAlone: true });
  assert.equal(sockets.length, 17);
});

describe('raw bytes get the statuses of', () => {
  for (const [name, text, statuses] of [
    ['two answers', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.0 404\r\n\r\n', [200, 404]],
    ['none', 'HTTP/2 200\r\n\r\nHTTP/1.1 20 OK HTTP/1.1 2000', []],
  ] as const) {
    test(name, async () => {
      await using served = await saying(text);
      const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
      const before = timers();
      assert.deepEqual(await served.client.sendRaw('GET', 30_000), statuses);
      assert.ok(timers() <= before, 'no timer is left');
    });
  }

  test('a server on IPv6', async (t) => {
    const served = await saying('HTTP/1.1 200 OK\r\n\r\n', '::1').catch(() => undefined);
    if (!served) return t.skip('there is no IPv6');
    assert.deepEqual(await served.client.sendRaw('GET', 30_000), [200]);
    await served[Symbol.asyncDispose]();
  });

  test('a server that never ends, up to 1 MiB', async () => {
    const endless = createTcpServer((socket) => {
      const write = () => {
        while (!socket.destroyed && socket.write('HTTP/1.1 200 \r\n'.repeat(1_000)));
      };
      socket.on('drain', write);
      write();
    });
    await using served = await serving(endless);
    assert.ok((await served.client.sendRaw('GET', 600_000)).length >= MIB / 15);
  });

  test('no server, which is an error', async () => {
    await using served = await serving(createTcpServer((socket) => socket.resetAndDestroy()));
    await assert.rejects(served.client.sendRaw('GET', 30_000), { code: 'ECONNRESET', sent: LIST });
  });
});

describe('a server is told from others that', () => {
  test('ends an answer before its Content-Length', async () => {
    for (const text of [
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]',
    ]) {
      await using served = await saying(text);
      await assert.rejects(served.client.send(LIST, SENDING), { message: 'the body ends early', isHttp: true });
    }
  });

  test('speaks HTTP/2 only, in the clear and by its choice in the handshake', async () => {
    await using served = await serving(createHttp2Server() as unknown as Server);
    await assert.rejects(served.client.send(LIST, SENDING), { message: 'it speaks HTTP/2 only' });
  });
});
