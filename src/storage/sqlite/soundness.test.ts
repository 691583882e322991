import assert from 'node:assert/strict';
import fs, { existsSync, mkdtempDisposableSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { insert, issue } from '../../../test/kit/storage/bench.ts';
import { DatabaseNotOpened } from '../engine.ts';
import { openStorage } from '../open.ts';
import {
  assertLogSound,
  assertMountedForWriting,
  assertSound,
  findDamage,
  findDamagedRows,
  findPageDamage,
  findReadOnlyMount,
  hasLog,
} from './soundness.ts';

const PAGE = 4_096;

/** A folder, and the database `x.db` in it, closed, with one category and one key. */
async function openPlace() {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  await using storage = await openStorage(
    { engine: 'sqlite', file },
    { clock: manualClock().now, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  await insert(storage, { name: 'Dog' });
  const { key } = await issue(storage);
  return { folder: folder.path, file, key, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** Copies a database with a log, as a killed process leaves it. */
function killedCopy(file: string, to: string): void {
  using killed = new DatabaseSync(file);
  killed.exec("PRAGMA wal_autocheckpoint = 0; UPDATE categories SET name = 'Cat', checksum = null");
  killed.exec("UPDATE categories SET name = 'Ox'");
  for (const part of ['', '-wal']) writeFileSync(to + part, readFileSync(file + part));
}

function overwrite(file: string, { at, bytes }: { at: number; bytes: number }): void {
  const content = readFileSync(file);
  content.fill(0xff, at, at + bytes);
  writeFileSync(file, content);
}

const damaged = (file: string) => (error: unknown) => {
  assert.ok(error instanceof DatabaseNotOpened);
  assert.match(
    error.message,
    /^The database \S+ is damaged: .+; see what it still holds with `pet-catalog doctor --repair`, or put a backup /,
  );
  assert.equal(error.message.split(' ')[2], file);
  return true;
};

test('a sound database, with a log and without, is left as it is', async () => {
  using place = await openPlace();
  const { folder, file } = place;
  const killed = join(folder, 'killed.db');
  killedCopy(file, killed);
  for (const each of [file, killed]) {
    const before = [readdirSync(folder), readFileSync(each), statSync(`${each}-wal`, { throwIfNoEntry: false })?.size];
    assertSound(each);
    assertLogSound(each);
    assert.equal(findDamage(each), undefined);
    assert.equal(hasLog(each), each === killed);
    const after = [
      readdirSync(folder).filter((name) => name !== 'killed.db-shm'),
      readFileSync(each),
      statSync(`${each}-wal`, { throwIfNoEntry: false })?.size,
    ];
    assert.deepEqual(after, before);
  }
  assert.equal(findDamage(join(folder, 'none.db')), undefined);
  assert.ok(!existsSync(join(folder, 'none.db')));
});

test('damaged pages and a damaged log are found, and called by the name that is known', async () => {
  using place = await openPlace();
  const { folder, file } = place;
  const killed = join(folder, 'killed.db');
  killedCopy(file, killed);
  // Behind the header of the log and that of its first frame; a commit comes behind it.
  overwrite(`${killed}-wal`, { at: 32 + 24 + 100, bytes: 10 });
  assert.throws(() => assertLogSound(killed), damaged(killed));
  assert.throws(() => assertSound(killed), damaged(killed));
  overwrite(file, { at: PAGE, bytes: PAGE });
  assert.equal(findPageDamage(file), 'in database main Tree 2 page 2: btreeInitPage() returns error code 11');
  assert.throws(() => assertSound(file), damaged(file));
  assert.throws(() => assertSound(file, 'known.db'), damaged('known.db'));
  assertLogSound(file);
  writeFileSync(file, 'no database at all');
  assert.equal(findDamage(file), 'file is not a database');
});

test('each damaged row is named, also one with a number beyond those of JavaScript, and none of an old release', async () => {
  using place = await openPlace();
  const { file, key } = place;
  using database = new DatabaseSync(file);
  assert.deepEqual(findDamagedRows(database), []);
  database.exec("INSERT INTO pets VALUES (7, 'Rex', 1, 'sold', 0, 0, 'k', null)");
  assert.deepEqual(findDamagedRows(database), [], 'a row without a checksum was written before there were any');
  database.exec('UPDATE pets SET checksum = 9007199254740993');
  database.exec("UPDATE api_keys SET per_day = 9223372036854775807; UPDATE api_key_secrets SET prefix = ''");
  assert.deepEqual(findDamagedRows(database), ['pets 7', `api_keys ${key.id}`, `api_key_secrets ${key.id}`]);
  using old = new DatabaseSync(':memory:');
  for (const table of ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets'])
    old.exec(`CREATE TABLE ${table} (id INTEGER); INSERT INTO ${table} VALUES (1)`);
  assert.deepEqual(findDamagedRows(old), []);
});

test('a file system that is mounted read-only is named, and no other reason is taken for it', (t) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'new/x.db');
  let code: string | undefined;
  t.mock.method(fs, 'accessSync', (path: string, mode: number) => {
    assert.deepEqual([path, mode], [folder.path, fs.constants.W_OK]);
    if (code) throw Object.assign(new Error(code), { code });
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  for (const each of [undefined, 'EACCES']) {
    code = each;
    assert.equal(findReadOnlyMount(file), undefined);
    assertMountedForWriting(file);
  }
  code = 'EROFS';
  const finding = `The file system of the database ${file} is mounted read-only`;
  const advice = "find the reason in the system's log (dmesg), and mount it for writing again";
  assert.deepEqual(findReadOnlyMount(file), { finding, advice });
  assert.throws(
    () => assertMountedForWriting(file),
    (error) => error instanceof DatabaseNotOpened && error.message === `${finding}: ${advice}`,
  );
});
