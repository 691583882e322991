import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Finding } from '../../src/telemetry/finding.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

const REHEARSAL = { ENVIRONMENT: 'staging', REHEARSAL: 'on' };

test('rehearsal is refused in production and with Redis, by name', async () => {
  using folder = temporaryFolder();
  const production = await run(['config'], { cwd: folder.path, env: { REHEARSAL: 'on' } });
  assert.deepEqual(
    [production.code, production.stderr],
    [2, 'pet-catalog: REHEARSAL: it must be off unless ENVIRONMENT is staging\n'],
  );
  const env = { ...REHEARSAL, REDIS_URL: 'redis://127.0.0.1:1', INSTANCES: '1' };
  const shared = await run(['config'], { cwd: folder.path, env });
  assert.equal(shared.code, 2);
  assert.match(shared.stderr, /^pet-catalog: REHEARSAL: it must be off with REDIS_URL/);
});

test('a database that was used in rehearsal is served in rehearsal alone', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { ...REHEARSAL, DATABASE_URL: `sqlite:${join(folder.path, 'x.db')}` } };
  {
    await using service = await serveProcess([], options);
    assert.equal(await service.end(), 0);
  }
  const refusal = async () => {
    const refused = await run(['serve', '--rehearsal', 'off'], options);
    assert.equal(refused.code, 1);
    return refused.stderr;
  };
  const reason = /was used in rehearsal.*start it with ENVIRONMENT=staging and REHEARSAL=on/;
  assert.match(await refusal(), reason);
  const key = await run(['keys', 'create', '--name', 'late'], {
    ...options,
    env: { DATABASE_URL: options.env.DATABASE_URL },
  });
  assert.equal(key.code, 2);
  assert.match(key.stderr, /was used in rehearsal and takes no key of production/);
  // A backup is marked as well, and so is what is restored from it.
  for (const args of [
    ['backup', 'copy.db'],
    ['restore', 'copy.db'],
  ])
    assert.equal((await run(args, options)).code, 0);
  assert.match(await refusal(), reason);
  await using again = await serveProcess([], options);
  assert.equal(await again.end(), 0);
});

test('a database that production used is not rehearsed on, and stays as it was', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { DATABASE_URL: `sqlite:${join(folder.path, 'x.db')}` } };
  assert.equal((await run(['keys', 'create', '--name', 'shop'], options)).code, 0);
  const refused = await run(['serve', '--environment', 'staging', '--rehearsal', 'on'], options);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /The database has keys of production.*set DATABASE_URL to another one/);
  await using service = await serveProcess([], options);
  assert.equal(await service.end(), 0);
});

test('doctor says that a database was used in rehearsal, and minds it without rehearsal alone', async () => {
  using folder = temporaryFolder();
  await using postgres = noPostgres ? undefined : await temporaryDatabase();
  const databases = [`sqlite:${join(folder.path, 'x.db')}`, ...(postgres ? [postgres.url] : [])];
  for (const url of databases) {
    const options = { cwd: folder.path, env: { ...REHEARSAL, PORT: '0', DATABASE_URL: url } };
    const found = async (...flags: string[]) => {
      const { stdout } = await run(['doctor', '--json', ...flags], options);
      return (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'rehearsal');
    };
    assert.equal((await run(['migrate'], options)).code, 0);
    assert.deepEqual(await found('--rehearsal', 'off'), []);
    await using service = await serveProcess([], options);
    assert.equal((await run(['clock', 'advance', '1h'], options)).code, 0);
    await service.end();
    const finding = 'The database was used in rehearsal; its time is turned by 3600 s';
    assert.deepEqual(await found(), [{ check: 'rehearsal', status: 'ok', finding }]);
    assert.deepEqual(
      (await found('--rehearsal', 'off')).map((each) => [each.status, each.finding]),
      [['problem', finding]],
    );
  }
});

test('a list has the same headers as ever without rehearsal, and the same body with it', async () => {
  await using plain = await testService();
  await using rehearsed = await testService(REHEARSAL);
  const lists: { names: string[]; body: string }[] = [];
  for (const service of [plain, rehearsed]) {
    const { secret } = await service.issue();
    for (const name of ['Dog', 'Cat']) {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name }) };
      assert.equal((await service.call(secret, '/categories', init)).status, 201);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const headers = { authorization: `Bearer ${secret}` };
    request(`${service.url}/categories`, { headers, agent: false }, async (response) => {
      const names = response.rawHeaders.filter((_, index) => index % 2 === 0);
      lists.push({ names, body: Buffer.concat(await response.toArray()).toString() });
      resolve();
    })
      .on('error', reject)
      .end();
    await promise;
  }
  const [usual, other] = lists;
  assert.deepEqual(usual?.names, [
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'RateLimit-Policy',
    'RateLimit',
    'X-Request-Id',
    'X-Content-Type-Options',
    'Cache-Control',
    'ETag',
    'Content-Type',
    'Content-Length',
    'Connection',
    'Date',
  ]);
  assert.equal(usual?.body, '[{"id":1,"name":"Dog"},{"id":2,"name":"Cat"}]');
  assert.equal(other?.body, usual.body);
  assert.deepEqual(other?.names.toSorted(), usual.names.toSorted());
});

test('the service and commands alone load the room, and no production start reads it', () => {
  const source = new URL('../../src/', import.meta.url);
  const loaders = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => file.endsWith('.ts') && /import\('[^']*\brehearsal\//.test(readFileSync(new URL(file, source), 'utf8')),
    )
    .map((file) => file.split('/')[0]);
  assert.ok(loaders.length >= 2, 'the pattern finds nothing');
  // What such a start reads is counted in test/counted-work.test.ts.
  assert.deepEqual([...new Set(loaders)].sort(), ['cli', 'service.ts']);
});
