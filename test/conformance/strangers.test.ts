import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { judge, NoServer, type RefereeOptions } from '../../referee/src/server/referee.ts';
import type { Report } from '../../referee/src/server/rule.ts';
import { freePort } from '../kit/deploy/port.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { refereed } from './referee.ts';

const PEERS = fileURLToPath(new URL('../../bench/peers', import.meta.url));
const CONTRACT = fileURLToPath(new URL('../../openapi.json', import.meta.url));

/** Servers that were not made to pass. Each fails by the rules that it breaks, on the published level. */
describe('the referee blames', () => {
  test('a gateway that strips headers, for every answer without them and for nothing else', async () => {
    await using service = await testService();
    await using gateway = await open((request, response) => strip(service.url, request, response));
    const { url: _, ...rest } = service;
    const report = await refereed({ ...rest, url: gateway.url, clock: service.clock, issue: service.issue });
    const failed = report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    const statuses = ['200', '201', '304', '400', '401', '404', '405', '413', '415', '429', 'head', 'options'];
    const wanted = [
      ...[...statuses, 'pets', 'every'].map((status) => `limits.headers-on-${status}`),
      'errors.any-method',
    ];
    assert.deepEqual(
      failed.filter((id) => !wanted.includes(id)),
      [],
    );
    assert.ok(
      wanted.slice(0, -1).every((id) => failed.includes(id)),
      `${failed}`,
    );
  });

  test('a static mock, for its keys, its validation, its ids and its limits', async () => {
    await using mock = await open(answerByExample);
    assert.deepEqual(await failures(mock.url, { key: 'any', limitedKey: 'any other' }), [
      'create.every-field',
      'create.ids-unique',
      'list.every-category',
      'create.400-without-name',
      'create.400-invalid-values',
      'create.400-bad-json',
      'auth.401-missing',
      'auth.401-invalid',
      'limits.429-over-limit',
    ]);
  });

  const ofPeers = { key: 'a-key-of-a-peer', limitedKey: 'another-key-of-a-peer' };
  const noCreate = ['create.201-new-id', 'create.400-without-name', 'create.400-invalid-values', 'create.400-bad-json'];
  const wanted: Readonly<Record<string, readonly string[]>> = {
    'node-http': [...noCreate, 'errors.shape', 'bodies.application-json', 'limits.headers-on-401'],
    'node-constant': [
      ...noCreate,
      'auth.401-missing',
      'auth.401-invalid',
      ...['200', '201', '400', '401'].map((status) => `limits.headers-on-${status}`),
      'limits.429-over-limit',
    ],
    express: ['list.every-category', 'create.400-invalid-values', 'errors.shape', 'limits.headers-on-401'],
    // Its plugin for limits counts known paths only, and tells seconds from now.
    fastify: [
      ...['create.201-new-id', 'create.every-field', 'create.400-without-name', 'create.400-invalid-values'],
      'errors.shape',
      ...['201', '400', '401', '404'].map((status) => `limits.headers-on-${status}`),
      'limits.reset-unix-time',
    ],
  };
  for (const [name, rules] of Object.entries(wanted)) {
    const folder = join(PEERS, name);
    const isMissing = existsSync(join(folder, 'package-lock.json')) && !existsSync(join(folder, 'node_modules'));
    const skip = isMissing && `${name} is not installed; npm ci in ${folder}`;
    test(`the demonstration server ${name} of bench/peers`, { skip }, async () => {
      await using server = await peer(name);
      assert.deepEqual(await failures(server.url, ofPeers), rules);
    });
  }

  test('a server that hangs up on every request, in one sentence', async () => {
    await using server = await open((request) => request.socket.destroy());
    await assert.rejects(failures(server.url, ofPeers), NoServer);
  });
});

interface Stranger extends AsyncDisposable {
  readonly url: string;
}

type StrangersKeys = Pick<RefereeOptions, 'key' | 'limitedKey'>;

/** What fails on the published level. */
async function failures(url: string, keys: StrangersKeys): Promise<string[]> {
  const { rules } = await judgeStranger(url, keys);
  return rules.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
}

/** Judges on the published level, with time that is turned and not waited for. */
async function judgeStranger(url: string, keys: StrangersKeys): Promise<Report> {
  let now = 0;
  const pace = {
    now: () => now,
    async wait(seconds: number) {
      now += seconds;
    },
  };
  const { report } = await judge({
    url: new URL(url),
    level: 'published',
    isFull: false,
    concurrency: 16,
    otherEnvironmentKey: undefined,
    pace,
    ...keys,
  });
  return report;
}

async function open(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Stranger> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Passes a request on, and its answer back without the published headers. */
function strip(url: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request;
  const passed = send(new URL(request.url ?? '/', url), { method, headers, agent: false }, (answer) => {
    const kept = Object.entries(answer.headers).filter(([name]) => !name.startsWith('x-ratelimit-'));
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
    answer.pipe(response);
  });
  // A refused body may be more than the service reads.
  passed.on('error', () => response.destroy());
  request.pipe(passed);
}

/** What a mock makes of the examples in the contract: the same for everybody, whatever is sent. */
function answerByExample(request: IncomingMessage, response: ServerResponse): void {
  const { paths } = JSON.parse(readFileSync(CONTRACT, 'utf8'));
  const operation = paths['/categories'][(request.method ?? '').toLowerCase()];
  const [status = '404', success] =
    Object.entries<{ content?: Record<string, { example?: unknown }> }>(operation?.responses ?? {}).find(([code]) =>
      code.startsWith('2'),
    ) ?? [];
  const example = success?.content?.['application/json']?.example;
  const later = `${Math.floor(Date.now() / 1000) + 60}`;
  response.writeHead(Number(status), {
    'content-type': 'application/json',
    'x-ratelimit-limit': '60',
    'x-ratelimit-remaining': '59',
    'x-ratelimit-reset': later,
  });
  response.end(JSON.stringify(example ?? { code: 'not_found', message: 'There is no such example', status: 404 }));
}

/** A server of the benchmarks, which prints its address when it listens. */
async function peer(name: string): Promise<Stranger> {
  const folder = temporaryFolder();
  const [list, keys] = [join(folder.path, 'list.json'), join(folder.path, 'keys')];
  writeFileSync(list, '[{"id":1,"name":"Dog"}]');
  writeFileSync(keys, 'a-key-of-a-peer\nanother-key-of-a-peer\n');
  const env = {
    PATH: process.env.PATH ?? '',
    PORT: `${await freePort()}`,
    LIST_FILE: list,
    KEYS_FILE: keys,
    DATABASE_FILE: join(folder.path, 'peer.db'),
  };
  const child = spawn(process.execPath, [join(PEERS, name, 'server.js')], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return {
    url: `${/http:\S+/.exec(line)?.[0]}/v1`,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      folder[Symbol.dispose]();
    },
  };
}
