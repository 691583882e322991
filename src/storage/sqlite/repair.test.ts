import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { insert, issue } from '../../../test/kit/storage/bench.ts';
import { add, use } from '../../../test/kit/storage/files.ts';
import { MIGRATION_NAMES } from '../migrate.ts';
import { openStorage } from '../open.ts';
import { claimFile } from './claim.ts';
import { salvage } from './repair.ts';
import { readSoundRows } from './sound-rows.ts';

const OPTIONS = { time: manualClock(), categoriesMax: 10, categoriesBytesMax: 10_000 };
const MADE_AT = new Date('2030-01-02T03:04:05Z');
const LOG_BYTES_MIN = 1_000_000;
/** Runs in a process of its own, whose files are kept from growing. */
const SALVAGE = `
  const [, file, to] = process.argv;
  const { salvage } = await import('${new URL('./repair.ts', import.meta.url)}');
  salvage(file, { to });
`;

test('what a sound file and its backup hold is shown, and neither changes', async (t) => {
  const { file, backup, folder } = await databases(t);
  const before = contents(folder);
  assert.ok(before.some(({ name, size }) => name === 'backup.db-wal' && size > 0));
  const found = salvage(file, { backup });
  assert.deepEqual(found, {
    commits: 0,
    behind: 0,
    intact: { rows: { categories: 2, pets: 0, orders: 0, api_keys: 1 }, lastCategory: 3 },
    lost: [],
    backup: { rows: { categories: 1, pets: 0, orders: 0, api_keys: 1 }, lastCategory: 1, madeAt: MADE_AT },
  });
  assert.deepEqual(contents(folder), before);
});

test('what is written is private, though the file was not, and nothing else is left', async (t) => {
  const { file, folder } = await databases(t);
  chmodSync(file, 0o644);
  const before = contents(folder);
  const to = join(folder, 'new.db');
  const { intact } = salvage(file, { to });
  assert.equal(statSync(to).mode & 0o777, 0o600);
  assert.deepEqual(salvage(to, {}).intact, intact);
  assert.deepEqual(
    contents(folder).filter(({ name }) => !name.startsWith('new.db')),
    before,
  );
});

test('of damaged pages every other row is saved, and those that are lost are named', async (t) => {
  const { folder } = await databases(t);
  const file = join(folder, 'many.db');
  const names = Array.from({ length: 300 }, (_, index) => `${index + 1} ${'x'.repeat(200)}`);
  await add(file, ...names);
  await use(file, (storage) => issue(storage));
  damage(file, pageOf(file, names[150] ?? ''));
  const before = contents(folder);
  const shown = salvage(file, {});
  const lost = /^categories (\d+)–(\d+)$/.exec(shown.lost[0] ?? '');
  const [first, last] = [Number(lost?.[1]), Number(lost?.[2])];
  assert.equal(shown.lost.length, 1);
  assert.ok(first > 1 && last < 300 && last - first < 20 && first <= 151 && last >= 151, shown.lost.join());
  const kept = 300 - (last - first + 1);
  assert.match(shown.intact.damage ?? '', /page \d+/);
  assert.deepEqual(
    [shown.intact.rows, shown.intact.lastCategory],
    [{ categories: kept, pets: 0, orders: 0, api_keys: 1 }, 300],
  );
  const written = join(folder, 'new.db');
  assert.deepEqual(salvage(file, { to: written }), shown);
  assert.deepEqual(
    contents(folder).filter(({ name }) => !/^(new\.db|many\.db\.lock)/.test(name)),
    before,
  );

  await use(written, async (storage) => {
    const listed = await storage.categories.list();
    assert.deepEqual(
      listed.map(({ name }) => name),
      names.filter((_, index) => index + 1 < first || index + 1 > last),
    );
    const made = await insert(storage, { name: 'after' });
    assert.equal(made.id, 301, 'no id is given again');
  });
  assert.deepEqual(salvage(written, {}).lost, []);
  using counted = new DatabaseSync(written);
  const counter = counted.prepare('SELECT count, bytes FROM category_counter').get();
  const all = counted.prepare('SELECT id, name FROM categories').all();
  const bytes = all.reduce((sum, row) => sum + JSON.stringify(row).length + 1, 0);
  assert.deepEqual({ ...counter }, { count: kept + 1, bytes });
});

test('of a damaged end of a table the rows are named up to the last id that was given', async (t) => {
  const { folder } = await databases(t);
  const file = join(folder, 'many.db');
  const names = Array.from({ length: 300 }, (_, index) => `${index + 1} ${'x'.repeat(200)}`);
  await add(file, ...names);
  damage(file, pageOf(file, names[299] ?? ''));
  const { lost, intact } = salvage(file, {});
  assert.match(lost.join(), /^categories 2\d\d–300$/);
  assert.equal(intact.rows.categories, Number(/\d+/.exec(lost.join())?.[0]) - 1);
});

test('counters whose rows are lost count what is there, and no id is given again', async (t) => {
  const { file, folder } = await databases(t);
  const into = join(folder, 'into.db');
  {
    using database = new DatabaseSync(file);
    database.exec(`DELETE FROM categories WHERE id = 3; DELETE FROM last_ids; DELETE FROM change_versions;
      DELETE FROM kysely_migration`);
  }
  assert.deepEqual(readSoundRows(file, into), []);
  using read = new DatabaseSync(into);
  const all = (statement: string) =>
    read
      .prepare(statement)
      .all()
      .map((row) => Object.values(row).join(' '));
  assert.deepEqual(all('SELECT last_id, count, bytes FROM category_counter'), ['3 1 22']);
  const [audited] = all('SELECT max(id) FROM audit_entries');
  assert.equal(audited, '2');
  assert.deepEqual(all('SELECT kind, last_id FROM last_ids ORDER BY kind'), ['audit_entries 2', 'orders 0', 'pets 0']);
  const versions = ['categories 0', 'clock 0', 'keys 0'];
  assert.deepEqual(all('SELECT kind, version FROM change_versions ORDER BY kind'), versions);
  assert.deepEqual(all('SELECT name FROM kysely_migration ORDER BY name'), MIGRATION_NAMES);
});

test('nothing is written of a file whose list of tables is damaged', async (t) => {
  const { file, folder } = await databases(t);
  damage(file, 0);
  const before = contents(folder);
  assert.match(salvage(file, {}).intact.damage ?? '', /not a database/);
  assert.throws(
    () => salvage(file, { to: join(folder, 'new.db') }),
    /: Nothing was written: what is left of .* is damaged, too: ./,
  );
  assert.deepEqual(contents(folder), before);
});

test('a backup that holds no catalog is reported as such', async (t) => {
  const { file, backup } = await databases(t);
  rmSync(`${backup}-wal`);
  writeFileSync(backup, 'no database');
  assert.match(salvage(file, { backup }).backup?.damage ?? '', /not a database/);
  rmSync(backup);
  using another = new DatabaseSync(backup);
  another.exec('CREATE TABLE other (id)');
  assert.equal(salvage(file, { backup }).backup?.damage, 'no such table: categories');
});

test('a log that cannot be moved into the copy is reported, and nothing is written without it', {
  skip: process.platform === 'win32' && 'Windows has no such limit: no file was kept from growing',
}, async (t) => {
  const { file, folder } = await databases(t);
  {
    using database = new DatabaseSync(file);
    database.exec(`PRAGMA wal_autocheckpoint = 0; CREATE TABLE stray (text);
      INSERT INTO stray VALUES (hex(zeroblob(${LOG_BYTES_MIN} / 2)))`);
    for (const part of ['', '-wal']) copyFileSync(file + part, join(folder, `crashed.db${part}`));
  }
  const [crashed, to] = [join(folder, 'crashed.db'), join(folder, 'new.db')];
  // File and log fit under this limit, the file with what is in the log does not.
  const blocks = Math.ceil((statSync(`${crashed}-wal`).size + statSync(crashed).size / 2) / 512);
  const script = `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`;
  const { stderr } = spawnSync(
    'sh',
    ['-c', script, 'sh', process.execPath, '--input-type=module', '--eval', SALVAGE, crashed, to],
    {
      encoding: 'utf8',
    },
  );
  assert.match(stderr, /: Nothing was written: what is left of .* is damaged, too: its log cannot be read/);
  assert.ok(!existsSync(to));
  assert.equal(salvage(crashed, { to }).intact.damage, undefined);
});

test('a file that is missing is named, and one that is there is not replaced', async (t) => {
  const { file, backup, folder } = await databases(t);
  const before = contents(folder);
  const missing = join(folder, 'missing.db');
  const message = `There is no file ${missing}`;
  assert.throws(() => salvage(missing, {}), { message });
  assert.throws(() => salvage(file, { backup: missing }), { message });
  assert.throws(() => salvage(file, { to: backup }), { message: `${backup} exists already; name a new file` });
  {
    using _service = claimFile(file);
    assert.throws(() => salvage(file, {}), { message: /^Another service runs on the database / });
  }
  assert.deepEqual(contents(folder), before);
});

/** A database of a key and the categories 1 and 3, and a backup with its log from when it held the first alone. */
async function databases(t: TestContext) {
  const temporary = temporaryFolder();
  t.after(() => temporary[Symbol.dispose]());
  const folder = temporary.path;
  const [file, backup] = [join(folder, 'pets.db'), join(folder, 'backup.db')];
  {
    await using storage = await openStorage({ engine: 'sqlite', file }, OPTIONS);
    await issue(storage);
    await insert(storage, { name: 'Dog' });
    for (const part of ['', '-wal']) copyFileSync(file + part, backup + part);
    utimesSync(backup, MADE_AT, MADE_AT);
    await insert(storage, { name: 'Cat' });
    await insert(storage, { name: 'Bird' });
    assert.equal(await storage.categories.delete(2, OPERATOR), 'deleted');
  }
  // The claim leaves its lock.
  salvage(file, {});
  return { folder, file, backup };
}

function damage(file: string, at: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(4_096, 0xa5), 0, 4_096, at);
  closeSync(descriptor);
}

/** Where the page with a text begins. */
function pageOf(file: string, text: string): number {
  const at = readFileSync(file).indexOf(text);
  assert.ok(at > 0);
  return at - (at % 4_096);
}

/** The files in a folder with their sizes and hashes; the index of a log is no part of a database. */
function contents(folder: string) {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
  return names.sort().map((name) => {
    const bytes = readFileSync(join(folder, name));
    return { name, size: bytes.length, hash: createHash('sha256').update(bytes).digest('hex') };
  });
}
