import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { untilTrue } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { insert, openSome } from '../../../test/kit/storage/bench.ts';
import { databasePlace, leaveKilled, namesIn } from '../../../test/kit/storage/files.ts';
import type { Change } from '../../catalog/storage.ts';
import { openSound } from './database-file.ts';
import { openSqlite } from './engine.ts';

test('a commit to a file that was replaced meanwhile is of unknown outcome', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.db');
  const { db, classify } = await openSqlite(file);
  const replaced = db.transaction(async (trx) => {
    await trx.run(sql`update category_counter set last_id = 7`);
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  });
  const error = await replaced.catch((reason: unknown) => reason);
  assert.equal(classify(error), 'unknown');
  await db.close();
});

test('a look at its file in the process of a service releases none of its locks', {
  skip: process.platform !== 'linux' && 'only Linux lists the locks of a file',
}, async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.db');
  const { db } = await openSqlite(file, 'serve');
  await db.run(sql`update category_counter set last_id = 7`);
  const { ino } = statSync(file);
  const locks = () => readFileSync('/proc/locks', 'utf8').match(new RegExp(`:${ino} `, 'g'))?.length;
  assert.equal(locks(), 1);
  // As the checks of `doctor` do for the console.
  openSound(file).close();
  assert.equal(locks(), 1);
  await db.close();
});

test('a service moves the log of a killed one into the file before it adds to it', async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  leaveKilled(place.file, killed);
  const { db } = await openSqlite(killed, 'serve');
  assert.equal(statSync(`${killed}-wal`).size, 0);
  copyFileSync(killed, place.in('alone.db'));
  await db.close();
  assert.deepEqual(namesIn(place.in('alone.db')), ['Cat']);
});

test('a change is found after read errors of the poll, and after it could not be followed', async () => {
  using folder = temporaryFolder();
  await using storage = await openSome(join(folder.path, 'test.db'));
  await using another = await openSome(join(folder.path, 'test.db'));
  const seen: Change[] = [];
  let told = 0;
  let follows = false;
  await storage.watch(async (change) => {
    told += 1;
    if (!follows) throw new Error('it cannot be followed');
    seen.push(change);
  });
  const { all } = StatementSync.prototype;
  let failures = 0;
  try {
    Object.assign(StatementSync.prototype, {
      all(this: StatementSync, ...values: Parameters<typeof all>) {
        if (this.sourceSQL !== 'PRAGMA data_version') return all.apply(this, values);
        failures += 1;
        throw new Error('disk I/O error');
      },
    });
    await another.categories.insert({ name: 'Dog' }, { keyId: 'key_1' });
    await untilTrue(async () => failures >= 2);
  } finally {
    Object.assign(StatementSync.prototype, { all });
  }
  await untilTrue(() => told > 0);
  follows = true;
  await untilTrue(() => seen.includes('new-categories'));
});

test('an I/O error says whether the transaction may have been stored', async (t) => {
  const { run } = StatementSync.prototype;
  // The names of the extended result codes: sqlite.org/rescode.html.
  for (const [name, errcode, code] of [
    ['IOERR', 10, 'outcome_unknown'],
    ['READ', 266, 'unavailable'],
    ['WRITE', 778, 'unavailable'],
    ['FSYNC', 1034, 'outcome_unknown'],
    ['TRUNCATE', 1546, 'outcome_unknown'],
    ['RDLOCK', 2314, 'unavailable'],
    ['LOCK', 3850, 'unavailable'],
    ['SHMMAP', 5386, 'outcome_unknown'],
  ] as const) {
    using folder = temporaryFolder();
    await using storage = await openSome(join(folder.path, 'test.db'));
    const running = t.mock.method(
      StatementSync.prototype,
      'run',
      function (this: StatementSync, ...values: Parameters<typeof run>) {
        if (this.sourceSQL !== 'commit') return run.apply(this, values);
        throw Object.assign(new Error('disk I/O error'), { errcode });
      },
    );
    await assert.rejects(insert(storage, { name }), { code }, name);
    running.mock.restore();
    // After a failed sync this process writes nothing more.
    if (name === 'FSYNC') await assert.rejects(insert(storage, { name }), { code: 'unavailable' });
    else await insert(storage, { name });
  }
});
