import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { timed } from '../kit/faults/outage.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService, UNLIMITED } from '../kit/service.ts';

/** The server stays frozen until the answers, and the end, have come: it cannot be what ended the wait. */
const options = { skip: noPostgresPrograms };

test(
  'a server that hangs delays no request beyond the deadline, and neither the list nor the stop',
  options,
  async (t) => {
    using folder = temporaryFolder();
    await using postgres = await startPostgres();
    const env = { DATABASE_URL: postgres.url };
    const at = { cwd: folder.path, env };
    const secret = (await run(['keys', 'create', '--name', 'x', '--plan', 'business'], at)).stdout.trim();
    await using service = await serveProcess([], at);
    const call = (path: string, body?: unknown) => timed(service.url + path, secret, body);
    assert.equal((await call('/categories', { name: 'before' })).status, 201);

    postgres.freeze();
    try {
      const pending = [
        ...Array.from({ length: 300 }, (_, index) => call('/categories', { name: `${index}` })),
        ...Array.from({ length: 30 }, () => call('/pets')),
      ];
      for (let i = 0; i < 20; i += 1) {
        assert.equal((await call('/categories')).status, 200);
      }
      const answers = await Promise.all(pending);
      for (const { status } of answers) assert.equal(status, 503);
      t.diagnostic(`the slowest answer took ${slowest(answers)} ms`);
    } finally {
      postgres.thaw();
    }
    await untilEqual(async () => (await call('/categories', { name: 'after' })).status, 201);
    // Every connection of the pool is idle; that one hangs is enough to know of the others.
    await Promise.all(Array.from({ length: 30 }, () => call('/pets')));
    postgres.freeze();
    const first = await call('/categories', { name: 'first' });
    const later = await Promise.all(Array.from({ length: 5 }, () => call('/pets')));
    for (const { status } of [first, ...later]) assert.equal(status, 503);
    // A statement times out after 6 s, a new connection after 2 s.
    assert.ok(slowest(later) < first.durationMs, 'the other connections are known to hang');
    const code = await service.end('SIGTERM');
    postgres.thaw();
    assert.equal(code, 0);
  },
);

test('when every connection waits for a lock, further requests are refused within the deadline', options, async (t) => {
  await using postgres = await startPostgres();
  await using service = await testService({ DATABASE_URL: postgres.url });
  const { secret } = await service.issue(UNLIMITED);
  // Cancelled at the end; that it failed may be known before the command that cancels it has returned.
  const holding = postgres
    .query('begin; lock table pets in access exclusive mode; select pg_sleep(600); commit')
    .catch(() => {});
  await untilTrue(
    async () =>
      (await postgres.query(`select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted`)).length > 0,
  );
  const answers = await Promise.all(Array.from({ length: 60 }, () => timed(`${service.url}/pets`, secret)));
  for (const { status } of answers) assert.equal(status, 503);
  t.diagnostic(`the slowest answer took ${slowest(answers)} ms`);
  await postgres.query(`select pg_cancel_backend(pid) from pg_stat_activity
    where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()`);
  await holding;
  await untilEqual(async () => (await timed(`${service.url}/pets`, secret)).status, 200);
});

function slowest(answers: readonly { readonly durationMs: number }[]): number {
  return Math.round(Math.max(...answers.map(({ durationMs }) => durationMs)));
}
