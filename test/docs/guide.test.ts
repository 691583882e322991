import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { codeIn, emptyProject } from '../kit/client/project.ts';
import { manualClock } from '../kit/clock.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The guide, followed from an empty folder to a correct wait after a 429. Waits turn the clock instead of lasting. */

const WRITTEN_URL = 'http://127.0.0.1:8080/v1';
const STEPS = ['Create a category', 'Create a pet', 'Place an order', 'Meet the limit', 'Wait'];
const guide = pageText('get-started');
const STORY = ['201 /v1/categories', '201 /v1/pets', '201 /v1/store/orders'];

const project = emptyProject();
before(async () => {
  const [pack = '', install = ''] = codeIn(guide, 'Install the client', 'sh');
  await project.run('sh', ['-ec', pack], { cwd: project.checkout });
  await project.run('sh', ['-ec', install]);
});
after(() => project[Symbol.dispose]());

test('with curl', { skip: missingPrograms('bash', 'curl') }, async () => {
  await using service = await testService({}, manualClock());
  await using time = await waits(service);
  const { secret } = await service.issue();
  const steps = STEPS.flatMap((step) => codeIn(guide, step, 'sh'));
  assert.equal(steps.length, STEPS.length);
  const sleep = `sleep() { curl -s "${time.url}?seconds=$1"; }\n`;
  project.write('guide.sh', sleep + steps.join('\n').replaceAll(WRITTEN_URL, service.url));
  const printed = await project.run('bash', ['-e', 'guide.sh'], { env: { PET_CATALOG_KEY: secret } });
  assert.match(printed, /57 200\n\s*8 429$/m);
  assert.match(printed, /HTTP\/1\.1 200 OK/);
  const answers = answersOf(service);
  assert.deepEqual(answers.slice(0, 3), STORY);
  assert.deepEqual(answers.slice(-2), ['429 /v1/categories', '200 /v1/categories']);
  assert.deepEqual(time.waited, [60]);
});

test('with TypeScript', async () => {
  await using service = await testService({}, manualClock());
  await using time = await waits(service);
  const { secret } = await service.issue();
  // Opens the minute, so that less than a deadline of the client remains of it.
  await service.call(secret, '/inventory');
  service.clock.advance(40);
  const steps = STEPS.flatMap((step) => codeIn(guide, step, 'ts'));
  assert.equal(steps.length, STEPS.length);
  project.write('example.mjs', steps.join('\n').replaceAll(WRITTEN_URL, service.url));
  project.write('turn-clock.mjs', TURN_CLOCK.replace('URL', time.url));
  const args = ['--import', './turn-clock.mjs', 'example.mjs'];
  const printed = await project.run('node', args, { env: { PET_CATALOG_KEY: secret } });
  assert.match(printed, /\{ id: 1, name: 'Dog' \}/);
  assert.match(printed, /rate_limit_exceeded 20\n\[ \{ id: 1, name: 'Dog' \} \]/);
  const answers = answersOf(service).slice(1);
  assert.deepEqual(answers.slice(0, 3), STORY);
  assert.deepEqual(answers.slice(-3), ['429 /v1/pets', '429 /v1/categories', '200 /v1/categories']);
  assert.equal(time.waited.length, 1);
  assert.ok(Math.abs((time.waited[0] ?? 0) - 20) <= 1, `it waited ${time.waited} s`);
});

test('without the client, JavaScript, Python and Go wait as well, also until a date', async () => {
  let until = 0;
  let asDate = false;
  const early: number[] = [];
  const server = createServer((request, response) => {
    assert.equal(request.headers.authorization, 'Bearer k');
    if (until > 0) {
      early.push(until - Date.now());
      until = 0;
      return response.end('[]');
    }
    until = Math.ceil(Date.now() / 1_000 + 1) * 1_000;
    const seconds = `${Math.ceil((until - Date.now()) / 1_000)}`;
    return response.writeHead(429, { 'retry-after': asDate ? new Date(until).toUTCString() : seconds }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const programs = [
      ['js', 'node wait.mjs', 'node --version'],
      ['py', 'python3 wait.py', 'python3 -m requests.help'],
      ['go', 'go run wait.go', 'go version'],
    ] as const;
    for (const [language, command, probe] of programs) {
      if (spawnSync('sh', ['-c', probe]).status !== 0) continue;
      const [code = ''] = codeIn(guide, 'Wait', language);
      project.write(`wait.${language === 'js' ? 'mjs' : language}`, code.replaceAll(WRITTEN_URL, url));
      for (asDate of [false, true]) {
        const printed = await project.run('sh', ['-c', command], { env: { PET_CATALOG_KEY: 'k' } });
        assert.match(printed, /^(?:200 )?\[\]\n?$/, language);
      }
    }
    // A timer of Node.js may be a millisecond early.
    assert.ok(early.length >= 2 && early.every((ms) => ms <= 2), `${early} ms too early`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

/** Waits of a client, which are shorter than its deadlines, turn its clock and that of the service. */
const TURN_CLOCK = `
  const { setTimeout } = globalThis;
  const now = performance.now.bind(performance);
  let turnedMs = 0;
  performance.now = () => now() + turnedMs;
  globalThis.setTimeout = (wake, ms, ...rest) => {
    if (!(ms >= 5_000 && ms < 30_000)) return setTimeout(wake, ms, ...rest);
    fetch('URL?seconds=' + Math.ceil(ms / 1_000)).then(() => {
      turnedMs += ms;
      wake(...rest);
    });
    return setTimeout(() => {}, 0);
  };
`;

/** A server that turns the clock of the service by the seconds that it is asked for. */
async function waits(service: TestService) {
  const waited: number[] = [];
  const server = createServer(({ url = '' }, response) => {
    const seconds = Number(new URL(url, 'http://localhost').searchParams.get('seconds'));
    waited.push(seconds);
    service.clock.advance(seconds);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    waited,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function pageText(name: string): string {
  return readFileSync(new URL(`../../src/http/docs/pages/${name}.md`, import.meta.url), 'utf8');
}

function answersOf({ events }: TestService): string[] {
  return events.answered.map(({ status, route }) => `${status} ${route}`);
}
