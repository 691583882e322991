import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { test } from 'node:test';
import { startNginx } from '../kit/deploy/nginx.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { call } from './call.ts';

const REQUESTS = 400;
const WORKERS = 4;
/** One request waits for an instance that hangs; the next ones pass around it. */
const ANSWERED_MS_MAX = 2_000;
const ENTERPRISE = { plan: 'enterprise', limits: { minute: 1_000_000, day: 10_000_000 } } as const;

test('nginx passes around one of four instances that hangs, and repeats only what may be repeated', {
  skip: missingPrograms('nginx', 'openssl'),
}, async (t) => {
  using folder = temporaryFolder();
  await using hung = await serveProcess([], { cwd: folder.path });
  await using service = await testService();
  const { secret } = await service.issue(ENTERPRISE);
  const [hungPort, port] = [hung, service].map(({ url }) => new URL(url).port) as [string, string];
  await using nginx = await startNginx(hungPort, port, port, port);
  using agent = closing(new Agent({ keepAlive: true, maxSockets: WORKERS, ca: nginx.ca }));
  const ask = async (name?: string, key?: string) => {
    const startedMs = performance.now();
    const headers = { authorization: `Bearer ${secret}`, ...(key && { 'idempotency-key': key }) };
    const sent = name ? { method: 'POST', body: JSON.stringify({ name }) } : {};
    const { status, body } = await call(`https://127.0.0.1:${nginx.port}`, '/v1/categories', {
      ...sent,
      headers,
      agent,
    });
    return { status, json: JSON.parse(body.toString()), tookMs: performance.now() - startedMs };
  };

  process.kill(hung.pid, 'SIGSTOP');
  const tookMs: number[] = [];
  let next = 0;
  const work = async () => {
    while (next < REQUESTS) {
      next += 1;
      const name = next % 4 === 0 ? `category ${next}` : undefined;
      const answer = await ask(name, name && `key of ${name}`);
      assert.equal(answer.status, name ? 201 : 200);
      tookMs.push(answer.tookMs);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  const [p50Ms = 0, p99Ms = 0, slowestMs = 0] = [0.5, 0.99, 1].map(
    (share) => tookMs.sort((a, b) => a - b)[REQUESTS * share - 1],
  );
  t.diagnostic(
    `half within ${p50Ms.toFixed(0)} ms, 99 % within ${p99Ms.toFixed(0)} ms, all ${slowestMs.toFixed(0)} ms`,
  );
  assert.ok(p99Ms < ANSWERED_MS_MAX, `${p99Ms} ms`);

  // A server just started asks the first instance first.
  await using another = await startNginx(hungPort, port);
  using itsAgent = closing(new Agent({ ca: another.ca }));
  const sent = {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: '{"name":"x"}',
    agent: itsAgent,
  };
  const { status, body } = await call(`https://127.0.0.1:${another.port}`, '/v1/categories', sent);
  assert.deepEqual([status, JSON.parse(body.toString()).code], [503, 'outcome_unknown']);
  assert.equal((await ask()).json.length, REQUESTS / 4, 'the other instance did not get it');
});

function closing(agent: Agent): Agent & Disposable {
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });
}
