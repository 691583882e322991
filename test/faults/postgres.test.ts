import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { codeOf, create, names, readiness } from '../kit/faults/outage.ts';
import { restartPostgresUnderCreates } from '../kit/faults/postgres-restarts.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { run } from '../kit/process.ts';
import { json, temporaryFolder, testService, UNLIMITED } from '../kit/service.ts';

const options = { skip: noPostgresPrograms };

test(
  'while the server is down, creates are refused, the list is served, and all goes on when it is back',
  options,
  async () => {
    await using postgres = await startPostgres();
    using folder = temporaryFolder();
    const env = { DATABASE_URL: `${postgres.url}?sslmode=require` };
    const { code, stderr } = await run(['serve'], { cwd: folder.path, env });
    assert.equal(code, 1);
    assert.match(stderr, /does not support SSL .*; give it a certificate, or take sslmode out of DATABASE_URL\n$/);
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
