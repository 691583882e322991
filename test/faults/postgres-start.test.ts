import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { runProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const PASSWORD = 's3cret';

test('a service that cannot use its server ends with 1, names the server and what to do, and no password', {
  skip: noPostgresPrograms,
}, async () => {
  using folder = temporaryFolder();
  await using postgres = await startPostgres({ password: PASSWORD });
  const server = `postgres://postgres:***@127.0.0.1:${postgres.port}/postgres`;
  const told = async (url: string) => {
    const { code, stderr } = await runProcess(['serve'], { cwd: folder.path, env: { DATABASE_URL: url } });
    return [code, stderr];
  };
  assert.deepEqual(await told(`${postgres.url}?sslmode=require`), [
    1,
    `pet-catalog: Cannot open the database ${server}?sslmode=require: The server does not support SSL connections; give it a certificate, or take sslmode out of DATABASE_URL\n`,
  ]);
  const [, wrong] = await told(postgres.url.replace(PASSWORD, 'wrong'));
  assert.match(`${wrong}`, /correct the password in DATABASE_URL\n$/);
  await postgres.stop();
  assert.deepEqual(await told(postgres.url), [
    1,
    `pet-catalog: Cannot open the database ${server}: connect ECONNREFUSED 127.0.0.1:${postgres.port}; start the server, or correct DATABASE_URL\n`,
  ]);
});
