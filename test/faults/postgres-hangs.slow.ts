import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertNoDefect, create, DEADLINE_MS_MAX, recovers, timed, UNLIMITED } from '../kit/faults/outage.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** The pending writes time out one after the other; service managers wait 30 s or more. */
const END_MS_MAX = 15_000;
/** A new connection times out after 2 s. */
const RECONNECT_MS_MAX = 5_000;
const options = { skip: noPostgresPrograms, timeout: 110_000 };

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
        const list = await call('/categories');
        assert.ok(list.status === 200 && list.durationMs < 1_000, `the list took ${list.durationMs} ms`);
      }
      for (const { status, durationMs } of await Promise.all(pending)) {
        assert.equal(status, 503);
        assert.ok(durationMs < DEADLINE_MS_MAX, `an answer took ${durationMs} ms`);
      }
    } finally {
      postgres.thaw();
    }
    await recovers(async () => (await call('/categories', { name: 'after' })).status === 201);
    // Every connection of the pool is idle; that one hangs is enough to know of the others.
    await Promise.all(Array.from({ length: 30 }, () => call('/pets')));
    postgres.freeze();
    assert.equal((await call('/categories', { name: 'first' })).status, 503);
    for (const { status, durationMs } of await Promise.all(Array.from({ length: 5 }, () => call('/pets')))) {
      assert.equal(status, 503);
      assert.ok(durationMs < RECONNECT_MS_MAX, `an answer took ${durationMs} ms, though the server was known to hang`);
    }
    const startedMs = performance.now();
    const code = await service.end('SIGTERM');
    const tookMs = performance.now() - startedMs;
    postgres.thaw();
    assert.equal(code, 0);
    t.diagnostic(`the end took ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < END_MS_MAX, `the end took ${tookMs} ms`);
  },
);

test('when every connection waits for a lock, further requests are refused within the deadline', options, async () => {
  await using postgres = await startPostgres();
  await using service = await testService({ DATABASE_URL: postgres.url });
  const { secret } = await service.issue(UNLIMITED);
  const holding = postgres.query('begin; lock table pets in access exclusive mode; select pg_sleep(4); commit');
  await recovers(
    async () =>
      (await postgres.query(`select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted`)).length > 0,
  );
  const answers = await Promise.all(Array.from({ length: 60 }, () => timed(`${service.url}/pets`, secret)));
  for (const { status, durationMs } of answers) {
    assert.equal(status, 503);
    assert.ok(durationMs < DEADLINE_MS_MAX, `an answer took ${durationMs} ms`);
  }
  await holding;
  await recovers(async () => (await timed(`${service.url}/pets`, secret)).status === 200);
});

test('a server without a free connection refuses, and that is no defect', options, async () => {
  await using postgres = await startPostgres({
    settings: { max_connections: '12', superuser_reserved_connections: '0', max_wal_senders: '0' },
  });
  await using service = await testService({ DATABASE_URL: postgres.url });
  const { secret } = await service.issue(UNLIMITED);
  await postgres.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pet-catalog'");
  const held: Promise<unknown>[] = [];
  for (let i = 0; i < 16; i += 1) held.push(postgres.query('select pg_sleep(3)').catch(() => {}));
  await recovers(async () => (await create(service, secret, 'x')).status === 503);
  await Promise.all(held);
  await recovers(async () => (await create(service, secret, 'y')).status === 201);
  assertNoDefect(service);
});
