import assert from 'node:assert/strict';
import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
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
import {
  add,
  contentsOf,
  databasePlace,
  leaveKilled,
  namesIn,
  overwrite,
  says,
} from '../../../test/kit/storage/files.ts';
import { backUp, restore } from './backup.ts';
import { claimFile } from './claim.ts';
import { openSqlite } from './engine.ts';

const NOW = 1_800_000_000;

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
    await syncsOf(t, folder, () => backUp(file, to, { force: false })),
    inPlace('b.db.unfinished', 'b.db'),
  );
  const copied = ['sync x.db.restoring', 'sync .'];
  const restored = inPlace('x.db.restoring', 'x.db');
  assert.deepEqual(await syncsOf(t, folder, () => restore(to, file, NOW)), [
    ...copied,
    ...inPlace('x.db.keeping', `x.db.replaced-${NOW}`),
    ...restored,
  ]);
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
  using place = await databasePlace();
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
  using place = await databasePlace();
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
  overwrite(file);
  await assert.rejects(backUp(file, to, { force: false }), says(/^The database .*x\.db is damaged: /));
  assert.deepEqual([existsSync(to), existsSync(`${to}.unfinished`)], [false, false]);
});

test('a restore takes the place of a sound database, which is kept with the commits of its log', async () => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  await backUp(file, from, { force: false });
  chmodSync(from, 0o644);
  const killed = place.in('killed.db');
  leaveKilled(file, killed);
  for (const part of ['', '-wal', '-shm']) copyFileSync(killed + part, file + part);
  chmodSync(file, 0o644);
  writeFileSync(`${file}.restoring`, 'left by a killed restore, longer than the backup'.repeat(10_000));
  const kept = `${file}.replaced-${NOW}`;
  assert.equal(await restore(from, file, NOW), kept);
  assert.deepEqual([namesIn(file), statSync(file).mode & 0o777], [['Dog'], 0o600]);
  assert.deepEqual([namesIn(kept), statSync(kept).mode & 0o777], [['Cat'], 0o600]);
  for (const gone of [`${file}-wal`, `${kept}-wal`, `${file}.restoring`]) assert.ok(!existsSync(gone), gone);
  {
    using reader = new DatabaseSync(file, { readOnly: true });
    reader.prepare('SELECT count(*) FROM categories').get();
    assert.ok(existsSync(`${file}-shm`));
    assert.equal(await restore(from, file, NOW), `${file}.replaced-${NOW + 1}`, 'what was kept before is not replaced');
    assert.ok(!existsSync(`${file}-shm`), 'that of the reader, who has the old database');
  }
  const elsewhere = place.in('new/y.db');
  assert.equal(await restore(from, elsewhere, NOW), undefined);
  assert.deepEqual(namesIn(elsewhere), ['Dog']);
});

test('a backup is restored with the commits of its log, and its files stay as they are', async () => {
  using place = await databasePlace();
  const from = place.in('backup.db');
  leaveKilled(place.file, from);
  const before = contentsOf(place.folder);
  const file = place.in('new/y.db');
  await restore(from, file, NOW);
  assert.deepEqual(namesIn(file), ['Cat']);
  assert.deepEqual(contentsOf(place.folder), before);
});

test('a damaged database is moved aside with its log, and an interrupted restore is ended by the command that is named', async () => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  await backUp(file, from, { force: false });
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

test('a restore that fails once the old database is moved aside leaves what ends it', async (t) => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  await backUp(file, from, { force: false });
  overwrite(file);
  const { renameSync } = fs;
  const renaming = t.mock.method(fs, 'renameSync', (old: string, name: string) => {
    if (name === file) throw Object.assign(new Error('EIO: i/o error, rename'), { code: 'EIO' });
    renameSync(old, name);
  });
  syncBuiltinESMExports();
  await assert.rejects(restore(from, file, NOW), says(`Cannot restore ${file}: EIO: i/o error, rename`));
  renaming.mock.restore();
  syncBuiltinESMExports();
  assert.equal(existsSync(file), false);
  assert.deepEqual(namesIn(`${file}.restoring`), ['Dog']);
  const again = () => restore(`${file}.restoring`, file, NOW + 5);
  for (const isThere of [false, true]) {
    if (isThere) copyFileSync(from, file);
    const failing = t.mock.method(fs, isThere ? 'renameSync' : 'fsyncSync', () => {
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    });
    syncBuiltinESMExports();
    await assert.rejects(again(), says(/EIO: i\/o error/));
    failing.mock.restore();
    syncBuiltinESMExports();
    assert.deepEqual(namesIn(`${file}.restoring`), ['Dog'], 'the file that is restored is not removed');
  }
  rmSync(file);
  await again();
  assert.deepEqual(namesIn(file), ['Dog']);
});

test('a restore that is refused leaves everything as it was', async (t) => {
  using place = await databasePlace();
  const { file } = place;
  const from = place.in('backup.db');
  await assert.rejects(restore(from, file, NOW), says(`There is no backup ${from}`));
  await assert.rejects(restore(file, file, NOW), says(/belongs to the database/));
  await backUp(file, from, { force: false });
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
  linkSync(file, place.in('other-name.db'));
  await assert.rejects(restore(from, file, NOW), says(/has 2 names \(hard links\), so it is not written to/));
  rmSync(place.in('other-name.db'));
  {
    using later = new DatabaseSync(from);
    later.exec("INSERT INTO kysely_migration VALUES ('900-later@9.0.0', '')");
  }
  await assert.rejects(
    restore(from, file, NOW),
    says(`The backup ${from} needs 9.0.0 or later: install that, or restore another`),
  );
  overwrite(from);
  await assert.rejects(restore(from, file, NOW), says(/^The backup .*backup\.db is damaged: .+; restore another one$/));
  truncateSync(from, 0);
  await assert.rejects(restore(from, file, NOW), says(`${from} holds no catalog; name the file of one`));
  assert.deepEqual(readdirSync(place.in('.')).sort(), ['backup.db', 'x.db', 'x.db.lock']);
  assert.deepEqual(namesIn(file), ['Dog', 'Bird']);
});
