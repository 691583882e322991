import assert from 'node:assert/strict';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

const PAGE_BYTES = 4_096;

test('pages that are damaged behind a sound log are told, beside a backup and its date, and 1 is returned', async () => {
  using folder = temporaryFolder();
  const command = (...args: string[]) => run(args, { cwd: folder.path });
  const rows = Array.from({ length: 100 }, (_, index) => ({ name: `number ${index}`, description: 'x'.repeat(500) }));
  writeFileSync(join(folder.path, 'some.json'), JSON.stringify(rows));
  await command('categories', 'import', 'some.json');
  await command('backup', 'good.db');
  const madeAt = new Date('2030-01-02T03:04:05Z');
  utimesSync(join(folder.path, 'good.db'), madeAt, madeAt);
  const repair = (...args: string[]) => command('doctor', '--repair', '--backup', 'good.db', ...args);
  const sound = await repair();
  assert.deepEqual([sound.code, sound.stderr], [0, '']);
  const file = join(folder.path, 'data/pet-catalog.db');
  const bytes = readFileSync(file);
  const page = Math.floor(bytes.indexOf('number 50') / PAGE_BYTES);
  writeFileSync(file, bytes.fill(1, page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
  const { code, stdout, stderr } = await repair();
  assert.deepEqual([code, stderr], [1, 'pet-catalog: Nothing was written; --to FILE writes the intact data\n']);
  const [log = '', pages = '', headings = '', intact = '', backup = ''] = stdout.split('\n');
  assert.match(log, /^The log of \S+pet-catalog\.db is not damaged; it holds 0 commits$/);
  assert.match(pages, /^Its pages are damaged: .* could not be read: categories \d+–\d+$/);
  assert.match(headings, /^ +CATEGORIES +LAST ID +PETS +ORDERS +KEYS +DAMAGE$/);
  assert.match(intact, /^INTACT +9\d +100 +0 +0 +0 +in database main /);
  const written = await repair('--to', 'intact.db');
  assert.deepEqual(
    [written.code, written.stdout, written.stderr.replaceAll(/\S+pet-catalog\.db/g, 'DATABASE')],
    [
      0,
      stdout,
      'The intact data is in intact.db, and DATABASE was not changed; `pet-catalog restore intact.db` puts it in place\n',
    ],
  );
  const found = JSON.parse((await repair('--json')).stdout);
  assert.deepEqual([found.commits, found.backup.rows.categories, found.logDamage], [0, 100, undefined]);
  {
    using older = new DatabaseSync(join(folder.path, 'good.db'));
    older.exec('DROP TABLE orders');
  }
  assert.match((await repair()).stdout, /\nBACKUP OF \S+ +\? +0 +\? +\? +\? +no such table: orders\n$/);
  const env = { DATABASE_URL: 'postgres://h/d' };
  assert.deepEqual(await run(['doctor', '--repair'], { cwd: folder.path, env }), {
    code: 2,
    stdout: '',
    stderr: 'pet-catalog: --repair is for an embedded database\n',
  });
  assert.match(backup, /^BACKUP OF 2030-01-02T03:04:05Z +100 +100 +0 +0 +0 +none$/);
});
