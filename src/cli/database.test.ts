import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

test('backup and restore of PostgreSQL are left to its own tools, each by its name', async () => {
  using folder = temporaryFolder();
  for (const [command, tool] of [
    ['backup', 'pg_dump'],
    ['restore', 'pg_restore'],
  ] as const) {
    const args = [command, 'x.db', '--database-url', 'postgres://u@127.0.0.1:1/d'];
    const { code, stdout, stderr } = await run(args, { cwd: folder.path });
    const told = `pet-catalog: This command needs an embedded database; for PostgreSQL use ${tool}\n`;
    assert.deepEqual([code, stdout, stderr], [2, '', told]);
  }
});
