import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { contentsOf, databasePlace, leaveKilled, overwrite, says } from '../../../test/kit/storage/files.ts';
import { claimFile } from './claim.ts';
import { DatabaseDamaged } from './failure.ts';
import { findDamage, openToRead } from './open-to-read.ts';

/** The name of the category, as reading finds it. */
function readName(file: string): unknown {
  using reader = openToRead(file);
  return reader.database.prepare('SELECT name FROM categories').get()?.name;
}

/** Of this file alone, so that copies of other processes do not count. */
const temporary = temporaryFolder();
chmodSync(temporary.path, 0o755);
process.env.TMPDIR = temporary.path;
after(() => temporary[Symbol.dispose]());
const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith('pet-catalog-read-'));

test('reading finds the commits of a log, changes no byte, and leaves no file', async () => {
  using place = await databasePlace();
  const [whole, bare, emptied] = [place.in('whole.db'), place.in('bare.db'), place.in('emptied.db')];
  leaveKilled(place.file, whole);
  leaveKilled(place.file, bare, ['', '-wal']);
  leaveKilled(place.file, emptied, ['', '-wal', '-shm']);
  for (const part of ['', '-wal', '-shm']) assert.ok(existsSync(whole + part));
  truncateSync(`${emptied}-wal`, 0);
  const before = contentsOf(place.folder);
  for (const [file, name] of [
    [place.file, 'Cat'],
    [whole, 'Cat'],
    [bare, 'Cat'],
    [emptied, 'Cat'],
  ] as const) {
    assert.equal(readName(file), name, file);
    assert.deepEqual(contentsOf(place.folder), before, file);
  }
  assert.deepEqual(copies(), []);
});

test('a writer that closes the file between the look for its log and the opening is no error', async (t) => {
  using place = await databasePlace();
  const { file } = place;
  const writer = new DatabaseSync(file);
  writer.exec("UPDATE categories SET name = 'Cat'");
  const looks: boolean[] = [];
  t.mock.method(fs, 'existsSync', (path: string) => {
    const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
    if (path === `${file}-shm`) looks.push(isThere);
    if (path === `${file}-shm` && isThere) writer.close();
    return isThere;
  });
  syncBuiltinESMExports();
  try {
    assert.equal(readName(file), 'Cat');
    assert.deepEqual(looks, [true, false]);
    assert.equal(existsSync(`${file}-shm`), false);
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
});

test('beside a writer reading sees what is committed, and changes nothing', async () => {
  using place = await databasePlace();
  const { file } = place;
  using writer = new DatabaseSync(file);
  writer.exec("PRAGMA wal_autocheckpoint = 0; UPDATE categories SET name = 'Cat'");
  assert.equal(readName(file), 'Cat');
  writer.exec("BEGIN IMMEDIATE; UPDATE categories SET name = 'Ox'");
  assert.equal(readName(file), 'Cat');
  writer.exec('COMMIT');
  assert.equal(readName(file), 'Ox');
  writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  assert.equal(readName(file), 'Ox');
});

test('damage to the pages and to the log is found before the file is opened', async () => {
  using place = await databasePlace();
  const { file } = place;
  const killed = place.in('killed.db');
  leaveKilled(file, killed, ['', '-wal']);
  overwrite(`${killed}-wal`, { at: 32 + 24 + 100, bytes: 10 });
  const damaged = (name: string) => (error: unknown) => {
    assert.ok(error instanceof DatabaseDamaged, `${error}`);
    return says(
      new RegExp(
        `^The database ${name} is damaged: .+; see what it still holds with \`pet-catalog doctor --repair\`, or put a backup in its place with \`pet-catalog restore BACKUP\`$`,
      ),
    )(error);
  };
  assert.throws(() => openToRead(killed), damaged(killed));
  assert.equal(findDamage(killed), 'its log is damaged at byte 32');
  overwrite(file);
  assert.equal(findDamage(file), 'in database main Tree 2 page 2: btreeInitPage() returns error code 11');
  assert.throws(() => openToRead(file, { name: 'known.db' }), damaged('known.db'));
  writeFileSync(file, 'no database at all, but as long as the header of one'.repeat(50));
  assert.equal(findDamage(file), 'file is not a database');
});

test('the log of a killed service is damaged if it lacks a commit that its index counts', async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  leaveKilled(place.file, killed);
  const log = readFileSync(`${killed}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  const last = log.length - frame;
  /** The damage of a log, while a service runs, after it was killed, and where no service ran. */
  const damageOf = (bytes: Buffer | undefined) => {
    if (bytes) writeFileSync(`${killed}-wal`, bytes);
    else rmSync(`${killed}-wal`);
    rmSync(`${killed}.lock`, { force: true });
    const found = [findDamage(killed)];
    {
      using _claim = claimFile(killed);
      found.push(findDamage(killed));
    }
    return [...found, findDamage(killed)];
  };
  assert.deepEqual(damageOf(log), [undefined, undefined, undefined]);
  const torn = Buffer.from(log);
  torn[last + 100] = (torn[last + 100] ?? 0) ^ 1;
  assert.deepEqual(damageOf(torn), [undefined, undefined, `its log is damaged at byte ${last}`]);
  assert.deepEqual(damageOf(log.subarray(0, last)), [undefined, undefined, `its log is damaged at byte ${last}`]);
  const missing = 'its log is missing, and the index of the log counts transactions that were only there';
  assert.deepEqual(damageOf(Buffer.alloc(0)), [undefined, undefined, missing]);
  assert.deepEqual(damageOf(undefined), [undefined, undefined, missing]);
  writeFileSync(`${killed}-shm`, readFileSync(`${killed}-shm`).fill(7, 20, 21));
  assert.deepEqual(damageOf(torn), [undefined, undefined, undefined], 'an index that is damaged tells nothing');
});

test('a log with commits beside a missing or an empty file is damage, and a file without both is missing', async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  leaveKilled(place.file, killed, ['', '-wal']);
  const damage = 'it is missing or empty, while its log holds transactions (2)';
  truncateSync(killed, 0);
  assert.equal(findDamage(killed), damage);
  rmSync(killed);
  assert.equal(findDamage(killed), damage);
  rmSync(`${killed}-wal`);
  assert.equal(findDamage(killed), undefined);
  assert.throws(
    () => openToRead(killed),
    says(/^There is no database .*killed\.db; run this in the folder of the service, or name its database with /),
  );
});

test('what only keeps a file from being opened is said as that, with what to do', {
  skip: process.getuid?.() !== 0 && 'only root may become another user: no permission was refused',
}, async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  const { chmodSync, chownSync } = await import('node:fs');
  leaveKilled(place.file, killed);
  chmodSync(place.folder, 0o755);
  const refusals = (path: string) => {
    const script = `
      import { openToRead } from '${new URL('./open-to-read.ts', import.meta.url)}';
      process.setuid(65534);
      try { openToRead(${JSON.stringify(killed)}); } catch (error) { process.stdout.write(error.message); }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      cwd: '/',
    });
    assert.equal(stderr, '');
    assert.match(stdout, new RegExp(`^Cannot open the database ${killed}: uid 65534 has no permission for ${path}`));
    assert.match(stdout, /belongs to uid 0 and has mode 600: run this as the user of the service/);
    assert.doesNotMatch(stdout, /damaged|restore/);
  };
  chownSync(place.folder, 65534, 65534);
  refusals(killed);
  chownSync(killed, 65534, 65534);
  refusals(`${killed}-wal`);
  chownSync(`${killed}-wal`, 65534, 65534);
  refusals(`${killed}-shm`);
});
