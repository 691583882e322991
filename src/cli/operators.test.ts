import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPERATOR } from '../../test/kit/operator.ts';
import { run } from '../../test/kit/process.ts';
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
  const stdout = 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one\n';
  assert.deepEqual(await run(['operators', 'list'], { cwd: folder.path }), { code: 0, stdout, stderr: '' });
});

test('a note that a killed service left helps no login to a database that cannot be opened', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'x.db.operator'), 'http://127.0.0.1:4\nhidden\n');
  const login = ['console', 'login', '--database-url', 'sqlite:x.db'];
  const { code, stdout, stderr } = await run(login, { cwd: folder.path });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^pet-catalog: There is no database \S+x\.db; .*\n$/);
});
