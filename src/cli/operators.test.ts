import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPERATOR } from '../../test/kit/operator.ts';
import { run, serveProcess } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import { systemTime, utc } from '../stdx/time.ts';
import { openStorage } from '../storage/open.ts';

test('a token is listed as expired from its last second on', async () => {
  using folder = temporaryFolder();
  const time = systemTime();
  const { unix } = time.now();
  const token = { prefix: 'petcat_op_abcdef', role: 'viewer', createdAt: unix - 9, revokedAt: null } as const;
  {
    const file = join(folder.path, 'data/pet-catalog.db');
    const options = { time, categoriesMax: 10, categoriesBytesMax: 10_000 };
    await using storage = await openStorage({ engine: 'sqlite', file }, options);
    for (const [name, expiresAt] of Object.entries({ over: unix, open: unix + 3_600, endless: null }))
      await storage.tokens.insert({ ...token, id: `op_${name}`, name, expiresAt }, name, OPERATOR);
  }
  const { stdout } = await run(['operators', 'list'], { cwd: folder.path });
  const states = stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((row) => [row.split(/ {2,}/)[1], row.split(/ {2,}/)[5]]);
  assert.deepEqual(Object.fromEntries(states), {
    over: `expired ${utc(unix)}`,
    open: `active until ${utc(unix + 3_600)}`,
    endless: 'active',
  });
});

test('where there is no token yet, the list says how one is issued', async () => {
  using folder = temporaryFolder();
  await run(['migrate'], { cwd: folder.path });
  const stderr = 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one\n';
  assert.deepEqual(await run(['operators', 'list'], { cwd: folder.path }), { code: 0, stdout: '', stderr });
});

test('a note that a killed service left helps no login to a database that cannot be opened', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'x.db.lock'), `${'\0'.repeat(512)}http://127.0.0.1:4\nhidden\n`);
  const login = ['console', 'login', '--database-url', 'sqlite:x.db'];
  const { code, stdout, stderr } = await run(login, { cwd: folder.path });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^pet-catalog: There is no database \S+x\.db; .*\n$/);
});

test('after a kill the link leads to the address of the settings, not to the port that nothing listens at', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { PORT: '0' } };
  {
    await using service = await serveProcess([], options);
    const { stdout } = await run(['console', 'login'], options);
    assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/console\/login\?token=/);
    assert.equal((await fetch(stdout.trim())).status, 200);
    await service.end('SIGKILL');
  }
  const env = { OPERATOR_PORT: '9' };
  const { code, stdout } = await run(['console', 'login'], { cwd: folder.path, env });
  assert.deepEqual([code, stdout.split('/console')[0]], [0, 'http://127.0.0.1:9']);
  const none = await run(['console', 'login'], options);
  assert.deepEqual([none.code, none.stdout], [2, '']);
  assert.match(none.stderr, /OPERATOR_PORT is 0, so the port is only in the log of the service/);
});
