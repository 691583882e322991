import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectPlainly, Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ConnectionOptions, connect } from 'node:tls';
import type { Exchange } from '../../src/http/transport/exchange.ts';
import { openListener } from '../../src/http/transport/listener.ts';
import { manualClock, untilEqual, untilTrue } from '../kit/clock.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { run, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { recordedEvents, temporaryFolder } from '../kit/service.ts';

/** TLS without a proxy: TLS_CERT_FILE and TLS_KEY_FILE. */

const MEBIBYTE = 1024 * 1024;
const UNREAD = 20;
/** A part with its head. */
const PART_BYTES_MAX = 65 * 1024;

const skip = missingPrograms('openssl');

function makeCertificate(folder: string, name: string, days = '30'): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = spawnSync('openssl', ['req', '-x509', ...key, ...subject, '-days', days, '-out', `${name}.crt`], {
    cwd: folder,
  });
  assert.equal(made.status, 0, `openssl: ${made.stderr}`);
}

function pemIn(folder: string): string[] {
  return ['crt', 'key'].map((ending) => readFileSync(join(folder, `server.${ending}`), 'utf8'));
}

const SETTINGS = { TLS_CERT_FILE: 'server.crt', TLS_KEY_FILE: 'server.key' };

interface Answer {
  readonly status: number | undefined;
  readonly limit: string | string[] | undefined;
  /** Strict-Transport-Security. */
  readonly security: string | undefined;
  readonly body: string;
}

async function told({ output }: ServiceProcess, event: string): Promise<void> {
  await untilTrue(() => output.stderr.includes(`"event":"${event}"`), event);
}

function get(url: string, secret: string, ca: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca, agent: false, headers: { authorization: `Bearer ${secret}` } }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      const { statusCode: status, headers } = response;
      response.on('end', () =>
        resolve({ status, limit: headers['x-ratelimit-limit'], security: headers['strict-transport-security'], body }),
      );
    });
    sent.on('error', reject).end();
  });
}

test('the API is served over TLS, and the certificate is replaced on SIGHUP without a restart', { skip }, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  makeCertificate(folder.path, 'renewed', '60');
  const [old, renewed] = ['server.crt', 'renewed.crt'].map((name) => readFileSync(join(folder.path, name), 'utf8'));
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], { cwd: folder.path, env: SETTINGS });
  assert.match(service.url, /^https:\/\/127\.0\.0\.1:\d+\/v1$/);
  await told(service, 'started');
  const [, operatorUrl] = /"operatorUrl":"([^"]+)"/.exec(service.output.stderr) ?? [];
  const endTold = async () => {
    const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
    return Number(/^pet_catalog_certificate_expires_timestamp_seconds (\S+)$/m.exec(metrics)?.[1]);
  };
  const endOf = (cert = '') => new X509Certificate(cert).validToDate.getTime() / 1_000;
  assert.equal(await endTold(), endOf(old));
  const answer = await get(`${service.url}/categories`, secret, old ?? '');
  assert.deepEqual([answer.status, answer.limit, answer.body], [200, '1000000000', '[]']);
  const refused = await get(`${service.url}/categories`, 'wrong', old ?? '');
  assert.deepEqual([refused.status, JSON.parse(refused.body).code], [401, 'invalid_api_key']);
  await assert.rejects(get(`${service.url}/categories`, secret, renewed ?? ''), 'another authority is not trusted');

  // One that cannot be used, or is about to be written: the old one stays.
  for (const [index, text] of ['no certificate', ''].entries()) {
    writeFileSync(join(folder.path, 'server.crt'), text);
    process.kill(service.pid, 'SIGHUP');
    await untilTrue(() => service.output.stderr.split('"event":"certificate_not_reloaded"').length === index + 2);
    assert.equal((await get(`${service.url}/categories`, secret, old ?? '')).status, 200);
  }

  for (const ending of ['crt', 'key']) {
    copyFileSync(join(folder.path, `renewed.${ending}`), join(folder.path, `server.${ending}`));
  }
  process.kill(service.pid, 'SIGHUP');
  await told(service, 'certificate_reloaded');
  assert.equal((await get(`${service.url}/categories`, secret, renewed ?? '')).status, 200);
  assert.equal(await endTold(), endOf(renewed));
  assert.equal(await service.end('SIGTERM'), 0);
});

test('only ciphers with forward secrecy and authentication are spoken, before and after a renewal', {
  skip,
}, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const ca = readFileSync(join(folder.path, 'server.crt'), 'utf8');
  await using service = await serveProcess([], { cwd: folder.path, env: SETTINGS });
  const port = Number(new URL(service.url).port);
  const shake = (options: ConnectionOptions) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca, ...options });
      socket.once('error', reject).once('secureConnect', () => {
        resolve(socket.getCipher().standardName);
        socket.destroy();
      });
    });
  const good = async () => {
    for (const cipher of ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']) {
      assert.equal(await shake({ ciphers: cipher }), cipher);
    }
    for (const cipher of ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305']) {
      const spoken = await shake({ maxVersion: 'TLSv1.2', ciphers: `ECDHE-ECDSA-${cipher}` });
      assert.match(spoken, /^TLS_ECDHE_ECDSA_WITH_(AES|CHACHA)/);
    }
    for (const cipher of ['ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-CCM']) {
      await assert.rejects(shake({ maxVersion: 'TLSv1.2', ciphers: cipher }), /handshake failure/, cipher);
    }
  };
  await good();
  process.kill(service.pid, 'SIGHUP');
  await told(service, 'certificate_reloaded');
  await good();
});

test('every answer over TLS has Strict-Transport-Security, and none over plain HTTP', { skip }, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const ca = readFileSync(join(folder.path, 'server.crt'), 'utf8');
  await using service = await serveProcess([], { cwd: folder.path, env: SETTINGS });
  for (const path of ['/v1/categories', '/docs', '/nothing', '/livez']) {
    const { security } = await get(new URL(path, service.url).href, 'wrong', ca);
    assert.equal(security, 'max-age=31536000', path);
  }
  await using plain = await serveProcess([], { cwd: folder.path, env: { DATABASE_URL: 'sqlite:plain.db' } });
  assert.equal((await fetch(new URL('/livez', plain.url))).headers.get('strict-transport-security'), null);
});

test('malformed requests get the same answers over TLS, and plain HTTP gets none', { skip }, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const ca = readFileSync(join(folder.path, 'server.crt'), 'utf8');
  await using service = await serveProcess([], { cwd: folder.path, env: SETTINGS });
  const port = Number(new URL(service.url).port);
  const socket = connect({ host: '127.0.0.1', port, ca });
  let answered = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    answered += text;
  });
  socket.end('GET /v1 HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  assert.match(answered, /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*X-RateLimit-Limit: 0\r\n[\s\S]*"malformed_request"/);
  assert.match(answered, /\r\nStrict-Transport-Security: max-age=31536000\r\n/);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/v1`));
});

test('a client that ends its side gets the answer to its request, and a handshake that it ends is over', {
  skip,
  timeout: 60_000,
}, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const [cert = '', key = ''] = pemIn(folder.path);
  const listener = await openListener(
    async (exchange) => {
      await once(exchange.request.socket, 'end');
      await nextTurn();
      exchange.answer({ status: 200, body: '"late"' });
    },
    { time: manualClock(), events: recordedEvents() },
    {
      host: '127.0.0.1',
      port: 0,
      certificate: { cert, key },
      // Nothing but the client closes it.
      timeouts: { headMs: 600_000, requestMs: 600_000, checkIntervalMs: 600_000, keepAliveMs: 600_000 },
    },
  );
  const halfOpen = { host: '127.0.0.1', port: listener.port, allowHalfOpen: true };
  const client = connect({ ...halfOpen, ca: cert });
  await once(client, 'secureConnect');
  client.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(await text(client), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n"late"$/);
  const silent = connectPlainly(halfOpen);
  await once(silent, 'connect');
  silent.end();
  await once(silent.resume(), 'end');
  await listener.stop(0);
});

test('a connection that never begins the handshake is closed in the time of a head', {
  skip,
  timeout: 60_000,
}, async (t) => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const [cert = '', key = ''] = pemIn(folder.path);
  const added = t.mock.method(Set.prototype, 'add');
  const timeouts = { headMs: 300, requestMs: 600_000, checkIntervalMs: 600_000, keepAliveMs: 600_000 };
  const listener = await openListener(
    () => {},
    { time: manualClock(), events: recordedEvents() },
    { host: '127.0.0.1', port: 0, certificate: { cert, key }, timeouts },
  );
  const silent = connectPlainly(listener.port, '127.0.0.1');
  await once(silent, 'connect');
  await once(silent.resume(), 'close');
  const sockets = added.mock.calls.find(({ arguments: [value] }) => value instanceof Socket)?.this as Set<unknown>;
  await untilEqual(() => sockets.size, 0);
  await listener.stop(0);
});

test('a connection that never begins the handshake does not delay the stop', { skip, timeout: 60_000 }, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const [cert = '', key = ''] = pemIn(folder.path);
  const listener = await openListener(
    () => {},
    { time: manualClock(), events: recordedEvents() },
    {
      host: '127.0.0.1',
      port: 0,
      certificate: { cert, key },
      // Nothing but the stop closes it.
      timeouts: { headMs: 600_000, requestMs: 600_000, checkIntervalMs: 600_000, keepAliveMs: 600_000 },
    },
  );
  const silent = connectPlainly(listener.port, '127.0.0.1');
  silent.on('error', () => {});
  await once(silent, 'connect');
  const closed = once(silent, 'close');
  await listener.stop(0);
  await closed;
});

test('a missing or invalid certificate is reported in one line', { skip }, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const serve = (env: Record<string, string>) => run(['serve', '--port', '0'], { cwd: folder.path, env });
  const half = await serve({ TLS_CERT_FILE: 'server.crt' });
  assert.deepEqual([half.code, half.stderr.split('\n').length], [2, 2]);
  assert.match(half.stderr, /TLS_KEY_FILE: it must name/);
  const missing = await serve({ TLS_CERT_FILE: 'server.crt', TLS_KEY_FILE: 'none.key' });
  assert.match(missing.stderr, /pet-catalog: Cannot read TLS_CERT_FILE or TLS_KEY_FILE: .*none\.key/);
  const small = [
    'req',
    '-x509',
    '-newkey',
    'rsa:1024',
    '-nodes',
    '-subj',
    '/CN=x',
    '-keyout',
    's.key',
    '-out',
    's.crt',
  ];
  assert.equal(spawnSync('openssl', small, { cwd: folder.path }).status, 0);
  writeFileSync(join(folder.path, 'empty'), '');
  for (const [cert, key] of [
    ['server.key', 'server.crt'],
    ['server.crt', 's.key'],
    ['s.crt', 's.key'],
    ['empty', 'server.key'],
    ['server.crt', 'empty'],
  ] as const) {
    const { code, stderr } = await serve({ TLS_CERT_FILE: cert, TLS_KEY_FILE: key });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^pet-catalog: TLS_CERT_FILE and TLS_KEY_FILE do not hold a certificate and its key: .+\n$/,
      cert,
    );
  }
});

test('an unread body is encrypted a part at a time, and comes whole once it is read', { skip }, async () => {
  using folder = temporaryFolder();
  makeCertificate(folder.path, 'server');
  const [cert = '', key = ''] = pemIn(folder.path);
  const shared = Buffer.alloc(8 * MEBIBYTE, 'x');
  const exchanges: Exchange[] = [];
  const listener = await openListener(
    (exchange) => {
      exchanges.push(exchange);
      exchange.answer({ status: 200, body: [shared] });
    },
    { time: manualClock(), events: recordedEvents() },
    { host: '127.0.0.1', port: 0, certificate: { cert, key } },
  );
  const sockets = Array.from({ length: UNREAD }, () => {
    const socket = connect({ host: '127.0.0.1', port: listener.port, ca: cert });
    socket.pause().write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    return socket;
  });
  try {
    await untilTrue(() => exchanges.length === UNREAD, 'all requests');
    const unsent = exchanges.map(({ request }) => request.socket.writableLength);
    assert.ok(
      unsent.every((bytes) => bytes > 0 && bytes <= PART_BYTES_MAX),
      unsent.join(),
    );
    // As it was written, and encrypted.
    assert.ok(exchanges.every(({ heldBytes }, index) => heldBytes >= 2 * (unsent[index] ?? 0)));
    const [first = assert.fail()] = sockets;
    let received = 0;
    first.on('data', ({ length }) => {
      received += length;
    });
    await once(first.resume(), 'end');
    assert.ok(received > shared.length);
  } finally {
    for (const socket of sockets) socket.destroy();
    await listener.stop(0);
  }
});
