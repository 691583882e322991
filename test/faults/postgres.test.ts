import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStorage } from '../../src/storage/open.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { openCommitProxy } from '../kit/faults/commit-proxy.ts';
import { assertNoDefect, codeOf, create, names, readiness, UNLIMITED } from '../kit/faults/outage.ts';
import { restartPostgresUnderCreates } from '../kit/faults/postgres-restarts.ts';
import { administer, noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { noPostgresPrograms, query, startPostgres } from '../kit/postgres-server.ts';
import { run } from '../kit/process.ts';
import { json, temporaryFolder, testService } from '../kit/service.ts';

const options = { skip: noPostgresPrograms };

test(
  'while the server is down, creates are refused, the list is served, and all goes on when it is back',
  options,
  async () => {
    await using postgres = await startPostgres();
    await using service = await testService({ DATABASE_URL: postgres.url });
    const { secret } = await service.issue(UNLIMITED);
    assert.equal((await create(service, secret, 'before')).status, 201);

    await postgres.stop();
    const refused = await create(service, secret, 'meanwhile');
    assert.deepEqual([refused.status, await codeOf(refused)], [503, 'unavailable']);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.deepEqual(await names(service, secret), ['before'], 'the list is in memory');
    const { secret: unseen } = await service.issue().catch(() => ({ secret: secret.replace('live', 'none') }));
    assert.equal((await service.call(unseen, '/categories')).status, 401);
    const notReady = await readiness(service);
    assert.equal(notReady.status, 503);
    assert.match((await json<{ message: string }>(notReady)).message, /database/);

    await postgres.start();
    await untilTrue(
      async () => (await readiness(service)).status === 200 && (await create(service, secret, 'after')).ok,
    );
    assert.deepEqual(await names(service, secret), ['before', 'after']);
  },
);

test(
  'restarts and crashes neither lose nor duplicate a create that is retried with its Idempotency-Key',
  options,
  async (t) => {
    const figures = await restartPostgresUnderCreates(3, () => 20);
    t.diagnostic(
      `${figures.acknowledged} creates, ${figures.unknownOutcomes} of unknown outcome, recovery ≤ ${Math.round(figures.slowestRecoveryMs)} ms`,
    );
    assert.deepEqual([figures.lost, figures.doubled, figures.unexplained], [0, 0, []]);
    assert.ok(figures.acknowledged > 0 && figures.unknownOutcomes >= figures.lostAnswers);
  },
);

test('a lost COMMIT answer is reported as such, and a retry with the same key finds the first outcome', {
  skip: noPostgres,
}, async () => {
  await using database = await temporaryDatabase();
  const server = new URL(database.url);
  await using proxy = await openCommitProxy(Number(server.port || 5432), server.hostname);
  server.host = `127.0.0.1:${proxy.port}`;
  await using service = await testService({ DATABASE_URL: server.href });
  const { secret } = await service.issue(UNLIMITED);

  proxy.breakNext('after');
  const unknown = await create(service, secret, 'Dog', 'mine');
  assert.deepEqual([unknown.status, await codeOf(unknown)], [503, 'outcome_unknown']);
  assert.equal(unknown.headers.get('retry-after'), '1');
  const retried = await create(service, secret, 'Dog', 'mine');
  assert.deepEqual([retried.status, retried.headers.get('idempotency-replayed')], [201, 'true']);
  await untilTrue(async () => (await names(service, secret)).includes('Dog'));

  proxy.breakNext('before');
  const unsent = await create(service, secret, 'Cat', 'other');
  assert.equal(unsent.status, 503);
  const stored = await query(database.url, 'select name from categories');
  assert.deepEqual(stored, [{ name: 'Dog' }], 'what the server never heard of is not stored');
  const second = await create(service, secret, 'Cat', 'other');
  assert.deepEqual([second.status, second.headers.get('idempotency-replayed')], [201, null]);
});

test('connections that are terminated again and again cost some answers, never the service, and no change is missed', {
  skip: noPostgres,
}, async () => {
  await using database = await temporaryDatabase();
  await using service = await testService({ DATABASE_URL: database.url });
  await using other = await openStorage(service.config.database, {
    time: service.clock,
    categoriesMax: 100_000,
    categoriesBytesMax: 100_000_000,
  });
  const { secret } = await service.issue(UNLIMITED);
  let isOver = false;
  const statuses = new Set<number>();
  let answered = 0;
  const load = Array.from({ length: 8 }, async (_, worker) => {
    for (let i = 0; !isOver; i += 1) {
      statuses.add((await create(service, secret, `${worker} ${i}`)).status);
      answered += 1;
    }
  });
  for (let round = 0; round < 5; round += 1) {
    const before = answered;
    await untilTrue(() => answered >= before + load.length, 'more creates');
    await query(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'pet-catalog%'`,
    );
  }
  isOver = true;
  await Promise.all(load);
  assert.deepEqual(
    [...statuses].filter((status) => status !== 201 && status !== 503),
    [],
  );

  await untilTrue(() =>
    other.categories.insert({ name: 'elsewhere' }, { keyId: 'k' }).then(
      () => true,
      () => false,
    ),
  );
  await untilTrue(async () => (await names(service, secret)).includes('elsewhere'));
  const stored = await query(database.url, 'select name from categories order by id');
  assert.deepEqual(
    await names(service, secret),
    stored.map(({ name }) => name),
  );
  assertNoDefect(service);
});

test('a read-only server refuses creates and serves reads; writes resume by themselves', {
  skip: noPostgres,
}, async () => {
  await using database = await temporaryDatabase();
  await using service = await testService({ DATABASE_URL: database.url });
  const { secret } = await service.issue(UNLIMITED);
  assert.equal((await create(service, secret, 'Dog')).status, 201);
  const name = new URL(database.url).pathname.slice(1);
  const readOnly = async (value: 'on' | 'off') => {
    await administer(`alter database ${name} set default_transaction_read_only = ${value}`);
    // New connections have the setting.
    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  };
  await readOnly('on');
  await untilEqual(async () => (await create(service, secret, 'Cat')).status, 503);
  const refused = await create(service, secret, 'Cat');
  assert.deepEqual([refused.status, await codeOf(refused)], [503, 'unavailable']);
  assert.equal((await service.call(secret, '/pets')).status, 200);
  assert.ok((await names(service, secret)).includes('Dog'));
  await readOnly('off');
  await untilEqual(async () => (await create(service, secret, 'Bird')).status, 201);
});

test('a server is verified by its certificate, and an unusable one is reported in one line, without the password', {
  skip: noPostgresPrograms || missingPrograms('openssl'),
}, async () => {
  using folder = temporaryFolder();
  const password = 'kept-to-itself';
  await using postgres = await startPostgres({ password, tls: makeCertificate(folder.path) });
  const migrate = (url: string) => run(['migrate'], { cwd: folder.path, env: { DATABASE_URL: url } });
  const refused = async (url: string, why: RegExp) => {
    const { code, stdout, stderr } = await migrate(url);
    assert.deepEqual([code, stdout], [1, ''], url);
    assert.match(stderr, /^pet-catalog: Cannot open the database postgres:\/\/postgres:\*\*\*@[^\n]*\n$/);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, /kept-to-itself|other@/);
  };
  const { url } = postgres;
  const ca = (name: string) => `sslmode=verify-full&sslrootcert=${join(folder.path, name)}`;
  const known = `${url}?${ca('ca.crt')}`;
  const unknown = /; name the certificate of its authority in DATABASE_URL with sslrootcert=FILE\n$/;
  assert.equal((await migrate(known)).stderr, 'The tables are up to date\n');
  {
    await using _service = await testService({ DATABASE_URL: known });
    const connections = await postgres.query(
      `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'pet-catalog%'`,
    );
    assert.deepEqual(connections, [{ ssl: true }]);
  }
  for (const [wrong, why] of [
    [`${url}?sslmode=verify-full`, unknown],
    [`${url}?sslmode=require`, unknown],
    [`${url}?${ca('other.crt')}`, unknown],
    [`${url}?${ca('nothing.crt')}`, /no such file/],
    [known.replace('127.0.0.1', 'localhost'), /does not match certificate's altnames/],
    [url.replace(password, 'other'), /password authentication failed .*DATABASE_URL\n$/],
    [url.replace(/postgres$/, 'nowhere'), /database "nowhere" does not exist; create it, .*DATABASE_URL\n$/],
  ] as const)
    await refused(wrong, why);
  await postgres.stop();
  for (const away of [url, url.replace(/@.*\//, '@localhost:1/')])
    await refused(away, /start the server, or correct DATABASE_URL\n$/);
});

/** A certificate for 127.0.0.1 by an authority of its own, `ca.crt`; beside it another that had no part in it. */
function makeCertificate(folder: string): { cert: string; key: string } {
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  for (const name of ['ca', 'other']) {
    openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`);
  }
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-addext', 'subjectAltName=IP:127.0.0.1'];
  openssl('req', '-x509', ...key, '-subj', '/CN=server', ...signed, '-keyout', 'server.key', '-out', 'server.crt');
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return { cert: read('server.crt'), key: read('server.key') };
}
