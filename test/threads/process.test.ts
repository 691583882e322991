import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { killDuringCreates, restartUnderLoad } from '../kit/faults/kills.ts';
import { run, runProcess, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';
import { connectToEach } from '../kit/threads/connections.ts';

/** A process with several threads: its start, its end, and what other processes do to it. */

const THREADS = '2';
/** Calls something in the first thread that there is not, when a file appears. */
const BREAKING = `data:text/javascript,${encodeURIComponent(`
  import { existsSync } from 'node:fs';
  process.once('worker', (thread) => {
    const looking = setInterval(() => {
      if (!existsSync('break')) return;
      clearInterval(looking);
      thread.postMessage([['tell', 0, 'a defect', []]]);
    }, 10);
  });
`)}`;

test('the referee finds nothing to blame in a process with two threads', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  await using service = await serveProcess([], { ...options, env: { THREADS } });
  const keys = await Promise.all(['business', 'free'].map((plan) => keyOf(folder.path, ['--plan', plan])));
  const [key = '', limited = ''] = keys;
  const judged = await run(['conformance', service.url, '--key', key, '--limited-key', limited], options);
  assert.equal(judged.code, 0, judged.stdout);
});

test('a key that another process revokes is refused by every thread', async () => {
  using folder = temporaryFolder();
  await using service = await serveProcess([], { cwd: folder.path, env: { THREADS } });
  const secret = await keyOf(folder.path, []);
  await using connections = await connectToEach(service.url, secret, Number(THREADS));
  const { stdout } = await run(['keys', 'list', '--json'], { cwd: folder.path });
  const [{ id }] = JSON.parse(stdout) as [{ id: string }];
  assert.equal((await run(['keys', 'revoke', id], { cwd: folder.path })).code, 0);
  const statuses = async () => {
    const answers = await Promise.all(connections.all.map(({ ask }) => ask('GET', '/categories')));
    return answers.map(({ status }) => status);
  };
  await untilTrue(async () => (await statuses()).every((status) => status === 401), 'the refusal of a revoked key');
});

test('kill -9 loses no create that a thread acknowledged', async () => {
  const figures = await killDuringCreates(2, () => 50, { THREADS });
  assert.deepEqual([figures.lost, figures.reusedIds, figures.unexplained], [0, 0, 0]);
  assert.ok(figures.acknowledged > 0);
});

test('SIGTERM under load drops no request of any thread', async () => {
  const figures = await restartUnderLoad(2, { THREADS });
  assert.deepEqual([figures.dropped, figures.unexplained, figures.lost], [0, 0, 0]);
  assert.ok(figures.answered > 0);
});

test('a thread that crashes takes the process with it', async () => {
  using folder = temporaryFolder();
  const env = { THREADS, NODE_OPTIONS: `--import=${BREAKING}` };
  await using service = await serveProcess([], { cwd: folder.path, env });
  const ended = service.ended;
  writeFileSync(join(folder.path, 'break'), '');
  assert.equal(await ended, 1);
  assert.match(service.output.stderr, /The other thread called a defect/);
});

test('a port that another service has is not shared with it', async () => {
  using folder = temporaryFolder();
  await using service = await serveProcess([], { cwd: folder.path, env: { THREADS } });
  using other = temporaryFolder();
  const { port } = new URL(service.url);
  const second = await runProcess(['serve'], { cwd: other.path, env: { THREADS, PORT: port, OPERATOR_PORT: '0' } });
  assert.equal(second.code, 1);
  assert.match(second.stderr, new RegExp(`Cannot listen on 127\\.0\\.0\\.1:${port}: something else listens there`));
});

test('what threads cannot do is refused with the reason', async () => {
  using folder = temporaryFolder();
  const refused = async (env: Record<string, string>) => {
    const { code, stderr } = await run(['config'], { cwd: folder.path, env: { THREADS, ...env } });
    assert.equal(code, 2, stderr);
    return stderr;
  };
  assert.match(await refused({ REDIS_URL: 'redis://localhost', INSTANCES: '1' }), /THREADS: .*REDIS_URL/);
  assert.match(await refused({ REHEARSAL: 'on', ENVIRONMENT: 'staging' }), /THREADS: .*REHEARSAL/);
  for (const text of ['0', '65', 'all']) assert.match(await refused({ THREADS: text }), /THREADS: it must be auto, or/);
  const env = { THREADS, OTEL_TRACES_EXPORTER: 'otlp' };
  const traced = await runProcess(['serve'], { cwd: folder.path, env });
  assert.deepEqual([traced.code, /THREADS: .*OTEL/.test(traced.stderr)], [2, true]);
});

async function keyOf(cwd: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(['keys', 'create', '--name', 'test', ...args], { cwd });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}
