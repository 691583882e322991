import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
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

test('commands alone load the room, and no production start reads it', () => {
  const source = new URL('../../src/', import.meta.url);
  const loaders = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => file.endsWith('.ts') && /import\('[^']*\brehearsal\//.test(readFileSync(new URL(file, source), 'utf8')),
    )
    .map((file) => file.split('/')[0]);
  assert.ok(loaders.length >= 2, 'the pattern finds nothing');
  // What such a start reads is counted in test/counted-work.test.ts.
  assert.deepEqual([...new Set(loaders)], ['cli']);
});
