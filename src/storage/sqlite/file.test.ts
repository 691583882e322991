import assert from 'node:assert/strict';
import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { insert } from '../../../test/kit/storage/bench.ts';
import { DatabaseNotOpened } from '../engine.ts';
import { openStorage } from '../open.ts';
import { backUp, claimFile, isClaimed, restore } from './file.ts';

const NOW = 1_800_000_000;

/** A folder, and the database `x.db` in it, closed, with one category. */
async function openPlace() {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  await add(file, 'Dog');
  return { file, in: (name: string) => join(folder.path, name), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

async function add(file: string, name: string): Promise<void> {
  await using storage = await openStorage(
    { engine: 'sqlite', file },
    { clock: manualClock().now, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  await insert(storage, { name });
}

function namesIn(file: string): unknown[] {
  using database = new DatabaseSync(file, { readOnly: true });
  return database
    .prepare('SELECT name FROM categories ORDER BY id')
    .all()
    .map(({ name }) => name);
}

const says = (message: string | RegExp) => (error: unknown) => {
  assert.ok(error instanceof DatabaseNotOpened);
  if (typeof message === 'string') assert.equal(error.message, message);
  else assert.match(error.message, message);
  return true;
};

/** Writes over the first page behind the table of contents. */
function damage(file: string): void {
  const bytes = readFileSync(file);
  bytes.fill(0xff, 4_096, 8_192);
  writeFileSync(file, bytes);
}

test('a database is claimed by one at a time, until that one is done', async () => {
  using place = await openPlace();
  const { file } = place;
  assert.equal(isClaimed(file), false);
  assert.ok(!existsSync(`${file}.lock`), 'asking makes no file');
  {
    using _claim = claimFile(file);
    assert.equal(isClaimed(file), true);
    const refusal = `Another service runs on the database ${file}: stop it, or set DATABASE_URL to another file`;
    assert.throws(() => claimFile(file), says(refusal));
    assert.throws(() => restore(file, place.in('x.db'), NOW), says(/belongs to the database/));
    assert.equal(statSync(`${file}.lock`).mode & 0o777, 0o600);
  }
  assert.equal(isClaimed(file), false);
  using _again = claimFile(file);
  assert.equal(isClaimed(':memory:'), false);
  using _memory = claimFile(':memory:');
  using _another = claimFile(':memory:');
  const isLocked = existsSync(':memory:.lock');
  rmSync(':memory:.lock', { force: true });
  assert.ok(!isLocked);
});

test('a damaged database is not claimed, and neither is one whose folder cannot be used', async () => {
  using place = await openPlace();
  const { file } = place;
  damage(file);
  assert.throws(() => claimFile(file), says(/^The database .*x\.db is damaged: .*pet-catalog restore BACKUP`$/));
  assert.equal(isClaimed(file), false, 'the claim was given up');
  writeFileSync(place.in('no-folder'), '');
  const below = place.in('no-folder/x.db');
  assert.throws(
    () => claimFile(below),
    says(/^Cannot use the folder of the database .*no-folder\/x\.db: .*, or set DATABASE_URL to a writable place$/),
  );
  writeFileSync(`${file}.lock`, 'no database, but long enough to be read as the header of one'.repeat(100));
  assert.throws(() => isClaimed(file), says(/^Cannot read .*x\.db\.lock: file is not a database$/));
});

test('a claim moves the log of a killed process into the file', async () => {
  using place = await openPlace();
  const { file } = place;
  {
    using killed = new DatabaseSync(file);
    killed.exec("PRAGMA wal_autocheckpoint = 0; UPDATE categories SET name = 'Cat'");
    for (const part of ['', '-wal']) writeFileSync(place.in(`left.db${part}`), readFileSync(file + part));
  }
  const left = place.in('left.db');
  assert.ok(statSync(`${left}-wal`).size > 0);
  using _claim = claimFile(left);
  assert.equal(statSync(`${left}-wal`, { throwIfNoEntry: false })?.size ?? 0, 0);
  assert.deepEqual(namesIn(left), ['Cat']);
});

test('a backup is a private copy, made while the database is in use, and replaces none unasked', async () => {
  using place = await openPlace();
  const { file } = place;
  const to = place.in('copy.db');
  using _claim = claimFile(file);
  writeFileSync(`${to}.unfinished`, 'left by a killed backup');
  await backUp(file, to, { force: false });
  assert.deepEqual([namesIn(to), statSync(to).mode & 0o777], [['Dog'], 0o600]);
  await add(file, 'Cat');
  const there = `${to} is there already; name another file, or add --force to replace it`;
  await assert.rejects(backUp(file, to, { force: false }), says(there));
  assert.deepEqual(namesIn(to), ['Dog']);
  await backUp(file, to, { force: true });
  assert.deepEqual(namesIn(to), ['Dog', 'Cat']);
  assert.ok(!existsSync(`${to}.unfinished`));
});

test('a backup goes nowhere where it would be lost or do harm', async () => {
  using place = await openPlace();
  const { file } = place;
  const refused = (to: string, message: string | RegExp) =>
    assert.rejects(backUp(file, to, { force: true }), says(message));
  symlinkSync(file, place.in('link.db'));
  writeFileSync(`${file}.lock`, '');
  for (const own of [file, `${file}-wal`, `${file}-shm`, `${file}.lock`, place.in('link.db'), place.in('./y/../x.db')])
    await refused(own, `${own} belongs to the database ${file}; name another file`);
  const nowhere = place.in('none/copy.db');
  await refused(nowhere, `There is no folder ${place.in('none')} for the backup; make it`);
  mkdirSync(place.in('folder'));
  await refused(place.in('folder'), /^Cannot back .*x\.db up to .*folder: EISDIR/);
  assert.ok(!existsSync(place.in('folder.unfinished')), 'an unfinished copy is removed');
  assert.deepEqual(namesIn(file), ['Dog']);
});

test('a copy with damaged rows is kept under another name, and one of damaged pages not at all', async () => {
  using place = await openPlace();
  const { file } = place;
  const to = place.in('copy.db');
  {
    using database = new DatabaseSync(file);
    database.exec("UPDATE categories SET name = 'Dof'");
  }
  await assert.rejects(
    backUp(file, to, { force: false }),
    says(`The database ${file} has damaged rows (1): the copy is ${to}.damaged, and \`pet-catalog doctor\` names them`),
  );
  assert.deepEqual([existsSync(to), namesIn(`${to}.damaged`)], [false, ['Dof']]);
  damage(file);
  await assert.rejects(backUp(file, to, { force: false }), says(/^The database .*x\.db is damaged: /));
  assert.deepEqual([existsSync(to), existsSync(`${to}.unfinished`)], [false, false]);
});

test('a restore takes the place of the database, whose files are kept', async () => {
  using place = await openPlace();
  const { file } = place;
  const from = place.in('backup.db');
  await backUp(file, from, { force: false });
  chmodSync(from, 0o644);
  await add(file, 'Cat');
  chmodSync(file, 0o644);
  for (const ending of ['-wal', '-shm']) writeFileSync(file + ending, '');
  writeFileSync(`${file}.unfinished`, 'left by a killed restore, longer than the backup'.repeat(10_000));
  const kept = `${file}.replaced-${NOW}`;
  assert.equal(restore(from, file, NOW), kept);
  for (const ending of ['-wal', '-shm']) {
    assert.ok(!existsSync(file + ending));
    assert.equal(statSync(kept + ending).mode & 0o777, 0o600);
  }
  assert.deepEqual(readFileSync(file), readFileSync(from));
  assert.deepEqual([namesIn(file), statSync(file).mode & 0o777], [['Dog'], 0o600]);
  assert.deepEqual([namesIn(kept), statSync(kept).mode & 0o777], [['Dog', 'Cat'], 0o600]);
  assert.ok(!existsSync(`${file}.unfinished`));
  const elsewhere = place.in('new/y.db');
  assert.equal(restore(from, elsewhere, NOW), undefined);
  assert.deepEqual(namesIn(elsewhere), ['Dog']);
  assert.equal(isClaimed(elsewhere), false);
});

test('a restore that is refused leaves everything as it was', async (t) => {
  using place = await openPlace();
  const { file } = place;
  const from = place.in('backup.db');
  assert.throws(() => restore(from, file, NOW), says(`There is no backup ${from}`));
  await backUp(file, from, { force: false });
  {
    using _claim = claimFile(file);
    assert.throws(() => restore(from, file, NOW), says(/^Another service runs on the database /));
  }
  const writing = t.mock.method(fs, 'writeSync', () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  });
  syncBuiltinESMExports();
  const full = `Cannot copy ${from} to ${file}: its disk is full; make room`;
  assert.throws(() => restore(from, file, NOW), says(full));
  writing.mock.restore();
  syncBuiltinESMExports();
  damage(from);
  assert.throws(() => restore(from, file, NOW), says(/^The backup .*backup\.db is damaged: .+; restore another one$/));
  assert.deepEqual(readdirSync(place.in('.')).sort(), ['backup.db', 'x.db', 'x.db.lock']);
  assert.deepEqual(namesIn(file), ['Dog']);
});
