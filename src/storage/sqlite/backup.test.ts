import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs, {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { manualClock } from '../../../test/kit/clock.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import {
  add,
  contentsOf,
  databasePlace,
  leaveKilled,
  namesIn,
  overwrite,
  says,
} from '../../../test/kit/storage/files.ts';
import { backUp, restore as restoreBy } from './backup.ts';
import { claimFile } from './claim.ts';
import { openSqlite } from './engine.ts';

const NOW = 1_800_000_000;
const WRITE_WITHOUT_PAUSE = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: { file, stop } } = require('node:worker_threads');
  const database = new DatabaseSync(file, { timeout: 5000 });
  for (let number = 0; Atomics.load(stop, 0) === 0; number += 1) {
    database.exec('UPDATE categories SET created_at = created_at + 1');
    if (number === 1) parentPort.postMessage('');
  }
  database.close();
`;

const by = (now: number, isOther = false) => ({ isOther, time: manualClock(now), by: OPERATOR });

/** Restores, and tells where the replaced database is. */
async function restore(from: string, file: string, now: number): Promise<string | undefined> {
  return (await restoreBy(from, file, by(now))).kept;
}

/** Runs work, and lists what it synced and renamed, in that order, by the names in a folder. */
async function syncsOf(t: TestContext, folder: string, work: () => unknown): Promise<string[]> {
  const [done, opened] = [[] as string[], new Map<number, string>()];
  const { openSync, fsyncSync, renameSync } = fs;
  const nameOf = (path: string) => relative(folder, path) || '.';
  const mocks = [
    t.mock.method(fs, 'openSync', (path: string, ...flags: [string]) => {
      const descriptor = openSync(path, ...flags);
      opened.set(descriptor, nameOf(path));
      return descriptor;
    }),
    t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
      fsyncSync(descriptor);
      done.push(`sync ${opened.get(descriptor)}`);
    }),
    t.mock.method(fs, 'renameSync', (from: string, to: string) => {
      renameSync(from, to);
      done.push(`rename ${nameOf(from)} ${nameOf(to)}`);
    }),
  ];
  syncBuiltinESMExports();
  try {
    await work();
    return done;
  } finally {
    for (const { mock } of mocks) mock.restore();
    syncBuiltinESMExports();
  }
}

test('what a backup and a restore write is on the disk before it has its name, and the name before they end', async (t) => {
  using place = await databasePlace();
  const { file, folder } = place;
  const to = place.in('b.db');
  const inPlace = (from: string, name: string) => [`sync ${from}`, `rename ${from} ${name}`, 'sync .'];
  assert.deepEqual(
    await syncsOf(t, folder, () => backUp(file, to, { force: false, now: NOW })),
    inPlace('b.db.unfinished', 'b.db'),
  );
  const copied = ['sync x.db.restoring', 'sync .'];
  const restored = inPlace('x.db.restoring', 'x.db');
  assert.deepEqual(await syncsOf(t, folder, () => restore(to, file, NOW)), [...copied, ...restored]);
  overwrite(file);
  assert.deepEqual(await syncsOf(t, folder, () => restore(to, file, NOW)), [
    ...copied,
    `rename x.db x.db.replaced-${NOW + 1}`,
    'sync .',
    ...restored,
  ]);
});

test('a backup is a private copy, made while the database is in use, and replaces none unasked', async () => {
  using place = await databasePlace();
  const { file } = place;
  const to = place.in('copy.db');
  using _claim = claimFile(file);
  writeFileSync(`${to}.unfinished`, 'left by a killed backup');
  backUp(file, to, { force: false, now: NOW });
  assert.deepEqual([namesIn(to), statSync(to).mode & 0o777], [['Dog'], 0o600]);
  await add(file, 'Cat');
  const there = `${to} is there already; name another file, or add --force to replace it`;
  assert.throws(() => backUp(file, to, { force: false, now: NOW }), says(there));
  assert.deepEqual(namesIn(to), ['Dog']);
  chmodSync(to, 0o644);
  backUp(file, to, { force: true, now: NOW });
  assert.deepEqual([namesIn(to), statSync(to).mode & 0o777], [['Dog', 'Cat'], 0o600]);
  assert.ok(!existsSync(`${to}.unfinished`));
});

test('a backup goes nowhere where it would be lost or do harm', async () => {
  using place = await databasePlace();
  const { file } = place;
  const refused = (to: string, message: string | RegExp) =>
    assert.throws(() => backUp(file, to, { force: true, now: NOW }), says(message));
  symlinkSync(file, place.in('link.db'));
  writeFileSync(`${file}.lock`, '');
  for (const own of [file, `${file}-wal`, `${file}-shm`, `${file}.lock`, place.in('link.db'), place.in('./y/../x.db')])
    refused(own, `${own} belongs to the database ${file}; name another file`);
  const inUse = place.in('in-use.db');
  leaveKilled(file, inUse, ['', '-wal']);
  refused(inUse, `${inUse} is a database with a log, ${inUse}-wal, that would change the backup; name another file`);
  const nowhere = place.in('none/copy.db');
  refused(nowhere, `There is no folder ${place.in('none')} for the backup; make it`);
  mkdirSync(place.in('folder'));
  refused(place.in('folder'), /^Cannot back .*x\.db up to .*folder: EISDIR(?!.*unfinished)/);
  assert.ok(!existsSync(place.in('folder.unfinished')), 'an unfinished copy is removed');
  assert.deepEqual(namesIn(file), ['Cat']);
});

test('a backup is one file that reading leaves as it is, and a damaged database gives none', async () => {
  using place = await databasePlace();
  const { file } = place;
  mkdirSync(place.in('backups'));
  const to = place.in('backups/copy.db');
  backUp(file, to, { force: false, now: NOW });
  const before = contentsOf(place.in('backups'));
  assert.deepEqual(namesIn(to), ['Dog']);
  assert.deepEqual(contentsOf(place.in('backups')), before);
  {
    // A row that SQLite copies, and that the table may not hold.
    using database = new DatabaseSync(file);
    database.enableDefensive(false);
    database.exec(`UPDATE categories SET description = NULL; PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'description text', 'description text not null') WHERE name = 'categories'`);
  }
  const refused = () =>
    assert.throws(() => backUp(file, to, { force: true, now: NOW }), says(/^The database .*x\.db is damaged: /));
  refused();
  overwrite(file);
  refused();
  assert.deepEqual(contentsOf(place.in('backups')), before);
});

test('a backup ends beside a service that writes without a pause', async () => {
  using place = await databasePlace();
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const writer = new Worker(WRITE_WITHOUT_PAUSE, { eval: true, workerData: { file: place.file, stop } });
  await once(writer, 'message');
  for (let round = 0; round < 3; round += 1) backUp(place.file, place.in(`${round}.db`), { force: false, now: NOW });
  Atomics.store(stop, 0, 1);
  await once(writer, 'exit');
  assert.deepEqual(
    [0, 1, 2].map((round) => namesIn(place.in(`${round}.db`)).length),
    [1, 1, 1],
  );
});

test('a restore takes the place of a sound database, which is kept with the commits of its log', async () => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  backUp(file, from, { force: false, now: NOW });
  chmodSync(from, 0o644);
  const killed = place.in('killed.db');
  leaveKilled(file, killed);
  for (const part of ['', '-wal', '-shm']) copyFileSync(killed + part, file + part);
  chmodSync(file, 0o644);
  writeFileSync(`${file}.restoring`, 'left by a killed restore, longer than the backup'.repeat(10_000));
  const kept = `${file}.replaced-${NOW}`;
  assert.equal(await restore(from, file, NOW), kept);
  for (const gone of [`${file}-wal`, `${kept}-wal`, `${file}.restoring`]) assert.ok(!existsSync(gone), gone);
  assert.deepEqual([namesIn(file), statSync(file).mode & 0o777], [['Dog'], 0o600]);
  assert.deepEqual([namesIn(kept), statSync(kept).mode & 0o777], [['Cat'], 0o600]);
  {
    using reader = new DatabaseSync(file);
    reader.exec("PRAGMA journal_mode = WAL; UPDATE categories SET name = 'Late'");
    assert.ok(existsSync(`${file}-shm`));
    assert.equal(await restore(from, file, NOW), `${file}.replaced-${NOW + 1}`, 'what was kept before is not replaced');
    assert.ok(!existsSync(`${file}-shm`), 'that of the reader, who has the old database');
    assert.deepEqual(namesIn(`${file}.replaced-${NOW + 1}`), ['Late'], 'its log was moved into it');
  }
  const elsewhere = place.in('new/y.db');
  assert.equal(await restore(from, elsewhere, NOW), undefined);
  assert.deepEqual(namesIn(elsewhere), ['Dog']);
});

test('a copy of a database is restored with the commits of its log', async () => {
  using place = await databasePlace();
  const from = place.in('backup.db');
  leaveKilled(place.file, from);
  const file = place.in('new/y.db');
  await restore(from, file, NOW);
  assert.deepEqual(namesIn(file), ['Cat']);
});

test('a damaged database is moved aside with its log, and an interrupted restore is ended by the command that is named', async () => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  backUp(file, from, { force: false, now: NOW });
  leaveKilled(file, file, []);
  const killed = place.in('killed.db');
  leaveKilled(file, killed);
  const log = statSync(`${killed}-wal`).size;
  for (const part of ['', '-wal', '-shm']) copyFileSync(killed + part, file + part);
  overwrite(file);
  const kept = `${file}.replaced-${NOW}`;

  // As a kill between the two leaves it: the new file is there, and the old one is moved, its log not yet.
  copyFileSync(from, `${file}.restoring`);
  renameSync(file, kept);
  await assert.rejects(
    openSqlite(file, 'serve'),
    says(
      `There is no database ${file}, but ${kept}, which a restore moved aside before it was interrupted: end it with \`pet-catalog restore ${file}.restoring\`, or move that elsewhere to begin anew`,
    ),
  );
  assert.equal(await restore(`${file}.restoring`, file, NOW + 5), kept);
  assert.deepEqual(namesIn(file), ['Dog']);
  assert.equal(statSync(`${kept}-wal`).size, log, 'the log is with its file');
  await (await openSqlite(file, 'serve')).db.close();

  rmSync(file);
  await assert.rejects(
    openSqlite(file, 'create'),
    says(/run `pet-catalog restore BACKUP` again, or move that elsewhere/),
  );
  await restore(from, file, NOW);
  overwrite(file);
  chmodSync(file, 0o644);
  assert.equal(await restore(from, file, NOW), `${file}.replaced-${NOW + 1}`);
  assert.equal(statSync(`${file}.replaced-${NOW + 1}`).mode & 0o777, 0o600, 'what is kept is private, too');
  assert.deepEqual(namesIn(file), ['Dog']);
});

test('a restore that is refused leaves everything as it was', async (t) => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  await assert.rejects(restore(from, file, NOW), says(`There is no backup ${from}`));
  await assert.rejects(restore(file, file, NOW), says(/belongs to the database/));
  {
    using _served = claimFile(file);
    await assert.rejects(restore(file, place.in('other.db'), NOW), says(/^A service runs on .*x\.db: copy it with /));
  }
  backUp(file, from, { force: false, now: NOW });
  {
    using _claim = claimFile(file);
    await assert.rejects(restore(from, file, NOW), says(/^Another service runs on the database /));
  }
  {
    using reader = new DatabaseSync(file);
    const rows = reader.prepare('SELECT * FROM categories').iterate();
    rows.next();
    await add(file, 'Bird');
    await assert.rejects(restore(from, file, NOW), says(`Another command uses the database ${file}: wait for its end`));
    rows.return?.();
  }
  const syncing = t.mock.method(fs, 'fsyncSync', () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, fsync'), { code: 'ENOSPC' });
  });
  syncBuiltinESMExports();
  await assert.rejects(restore(from, file, NOW), says(`Cannot copy ${from} to ${file}: its disk is full; make room`));
  syncing.mock.restore();
  syncBuiltinESMExports();
  {
    using later = new DatabaseSync(from);
    later.exec("INSERT INTO kysely_migration VALUES ('900-later@9.0.0', '')");
  }
  await assert.rejects(
    restore(from, file, NOW),
    says(
      `The tables of the backup ${from} need 9.0.0 or later: install that version, or restore a backup from before it`,
    ),
  );
  overwrite(from);
  await assert.rejects(restore(from, file, NOW), says(/^The backup .*backup\.db is damaged: .+; restore another one$/));
  truncateSync(from, 0);
  await assert.rejects(restore(from, file, NOW), says(`${from} holds no catalog; name the file of one`));
  // Reading a database that was in use leaves an empty log and its index.
  const left = readdirSync(place.in('.')).filter((name) => !/-(wal|shm)$/.test(name));
  assert.deepEqual(left.sort(), ['backup.db', 'x.db', 'x.db.lock']);
  assert.deepEqual(namesIn(file), ['Dog', 'Bird']);
});

test('what root restores and claims belongs to the owner of what was there', {
  skip: process.getuid?.() !== 0,
}, async () => {
  using place = await databasePlace();
  backUp(place.file, place.in('backup.db'), { force: false, now: NOW });
  chownSync(place.file, 65_534, 65_533);
  await restore(place.in('backup.db'), place.file, NOW);
  for (const { uid, gid } of ['', '.lock'].map((part) => statSync(place.file + part)))
    assert.deepEqual([uid, gid], [65_534, 65_533]);
});
