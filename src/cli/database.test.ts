import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

test('a restore is told with what became of the old database, and noted by the name of the backup alone', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await run(['keys', 'create', '--name', 'shop'], { cwd });
  const told = (stderr: string) => ({ code: 0, stdout: '', stderr });
  assert.deepEqual(await run(['backup', 'one.db'], { cwd }), told('The backup one.db is complete and verified\n'));
  const restored = await run(['restore', '../one.db', '--database-url', 'sqlite:../new.db'], {
    cwd: join(cwd, 'data'),
  });
  assert.deepEqual(restored, told('Restored the database ../new.db\n'));
  assert.deepEqual(await run(['migrate'], { cwd }), told('The tables are up to date\n'));
  const before = Math.floor(Date.now() / 1_000);
  const { stderr } = await run(['restore', join(cwd, 'one.db')], { cwd });
  const [, file = '', replaced = '', at = ''] =
    /^Restored the database (\S+); the old one is (\S+)\.replaced-(\d+)\n$/.exec(stderr) ?? [];
  assert.deepEqual([file.endsWith('data/pet-catalog.db'), replaced], [true, file]);
  assert.ok(Number(at) >= before && Number(at) <= before + 60, stderr);
  using database = new DatabaseSync(join(cwd, 'data/pet-catalog.db'));
  const noted = database.prepare(`SELECT * FROM audit_entries WHERE action = 'database_restored'`).all();
  assert.deepEqual(
    noted.map(({ actor, via, after }) => [actor, via, after]),
    [[userInfo().username, 'cli', '{"backup":"one.db"}']],
  );
  assert.ok(Number(noted[0]?.at) >= before);
});
