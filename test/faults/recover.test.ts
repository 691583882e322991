import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run } from '../kit/process.ts';
import { overwrite } from '../kit/storage/files.ts';

const PAGE_BYTES = 4_096;

test('what is left of a damaged database is recovered as the runbook says, and restored', {
  skip: missingPrograms('sqlite3'),
}, async (t) => {
  // A shell may be built without the table that `.recover` reads, as that of Debian 12 is.
  const option = "SELECT sqlite_compileoption_used('ENABLE_DBPAGE_VTAB')";
  const { stdout: hasPages } = spawnSync('sh', ['-c', 'sqlite3 :memory: "$0"', option], { encoding: 'utf8' });
  if (hasPages !== '1\n') return t.skip('sqlite3 is built without sqlite_dbpage: nothing was recovered');
  using folder = temporaryFolder();
  const cwd = folder.path;
  const command = (...args: string[]) => run(args, { cwd });
  const many = Array.from({ length: 200 }, (_, index) => ({ name: `number ${index}`, description: 'x'.repeat(400) }));
  writeFileSync(join(cwd, 'many.json'), JSON.stringify(many));
  await command('keys', 'create', '--name', 'kept');
  await command('categories', 'import', 'many.json');
  const file = join(cwd, 'data/pet-catalog.db');
  const page = Math.floor(readFileSync(file).indexOf('number 100') / PAGE_BYTES);
  overwrite(file, { at: page * PAGE_BYTES, bytes: PAGE_BYTES });
  const { code, stderr } = await command('serve', '--port', '0');
  assert.deepEqual([code, /is damaged: .*pet-catalog restore BACKUP/.test(stderr)], [1, true], stderr);

  const recover = 'sqlite3 data/pet-catalog.db .recover | sqlite3 recovered.db';
  assert.match(
    readFileSync('docs/operations.md', 'utf8'),
    /sqlite3 data\/pet-catalog\.db \.recover \| sqlite3 recovered\.db/,
  );
  const recovered = spawnSync('sh', ['-c', recover], { cwd, encoding: 'utf8' });
  assert.equal(recovered.status, 0, recovered.stderr);
  const restored = await command('restore', 'recovered.db');
  assert.equal(restored.code, 0, restored.stderr);
  const kept = JSON.parse((await command('categories', 'list', '--json')).stdout).length;
  assert.ok(kept > 180 && kept < 200, `${kept} of 200`);
  assert.match((await command('keys', 'list')).stdout, /kept/);
  assert.match((await command('doctor')).stdout, /database: .* is sound/);
});
