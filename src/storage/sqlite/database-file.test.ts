import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { contentsOf, databasePlace, flip, leaveKilled, overwrite, says } from '../../../test/kit/storage/files.ts';
import { claimFile } from './claim.ts';
import { openToRead, openToWrite } from './database-file.ts';
import { DatabaseDamaged } from './failure.ts';

const FRAME_BYTES = 24 + 4_096;

/** The damage for which a file is refused; undefined if it is opened. */
function damageOf(work: () => DatabaseSync): string | undefined {
  try {
    work().close();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof DatabaseDamaged, `${error}`);
    assert.ok(error.message.endsWith('; put a backup in its place with `pet-catalog restore BACKUP`'), error.message);
    return error.damage;
  }
}

test('what is damaged is refused by readers and writers, and stays as it is', async () => {
  using place = await databasePlace();
  const left = (name: string, ...parts: string[]) => {
    leaveKilled(place.file, place.in(name), parts);
    return place.in(name);
  };
  const [torn, emptied, alone] = [left('torn', '', '-wal'), left('emptied', '', '-wal'), left('alone', '-wal')];
  flip(`${torn}-wal`, 32 + 24 + 100);
  truncateSync(emptied, 0);
  const [short, behindLog] = [left('short', ''), left('behind-log', '', '-wal')];
  const { size } = statSync(short);
  for (const file of [short, behindLog]) truncateSync(file, size - 4_096);
  const text = place.in('text.db');
  writeFileSync(text, 'no database at all, but as long as the header of one'.repeat(50));
  const before = contentsOf(place.folder);
  const without = 'it is missing or empty, while its log holds transactions (2)';
  const gap = `it has ${size - 4_096} bytes, and should have ${size}`;
  for (const [file, damage] of [
    [torn, 'its log is damaged at byte 32'],
    [emptied, without],
    [alone, without],
    [short, 'database disk image is malformed'],
    [behindLog, gap],
    [text, 'file is not a database'],
  ] as const) {
    for (const purpose of ['change', 'serve'] as const)
      assert.equal(
        damageOf(() => openToWrite(file, purpose)),
        damage,
        file,
      );
    assert.equal(
      damageOf(() => openToRead(file)),
      damage,
      file,
    );
  }
  // SQLite makes an empty log beside a file whose header it finds wrong.
  for (const part of ['-wal', '-shm']) rmSync(short + part, { force: true });
  assert.deepEqual(contentsOf(place.folder), before);
});

test('a service checks every page of a database that it opens', async () => {
  using place = await databasePlace();
  overwrite(place.file);
  assert.equal(typeof damageOf(() => openToWrite(place.file, 'serve')), 'string');
});

test('the log of a killed service is damaged if it lacks a commit that its index counts', async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  leaveKilled(place.file, killed);
  const [log, index] = [readFileSync(`${killed}-wal`), readFileSync(`${killed}-shm`)];
  const last = log.length - FRAME_BYTES;
  /** The damage of a log while a service runs, and after it was killed. */
  const damagesOf = (bytes: Buffer | undefined) => {
    const put = () => {
      writeFileSync(`${killed}-shm`, index);
      if (bytes) writeFileSync(`${killed}-wal`, bytes);
      else rmSync(`${killed}-wal`, { force: true });
    };
    put();
    const found = [];
    {
      using _claim = claimFile(killed);
      found.push(damageOf(() => openToRead(killed)));
    }
    put();
    return [...found, damageOf(() => openToRead(killed))];
  };
  assert.deepEqual(damagesOf(log), [undefined, undefined]);
  const torn = Buffer.from(log);
  torn[last + 100] = (torn[last + 100] ?? 0) ^ 1;
  for (const bytes of [torn, log.subarray(0, last)])
    assert.deepEqual(damagesOf(bytes), [undefined, `its log is damaged at byte ${last}`]);
  const missing = 'its log is missing, and the index of the log counts transactions that were only there';
  for (const bytes of [Buffer.alloc(0), undefined]) assert.deepEqual(damagesOf(bytes), [undefined, missing]);
});

test('a file that a restore replaces while it is opened is not written to', async (t) => {
  using place = await databasePlace();
  const { file } = place;
  const restored = place.in('restored.db');
  copyFileSync(file, restored);
  const { exec } = DatabaseSync.prototype;
  t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, statement: string) {
    if (existsSync(restored)) renameSync(restored, file);
    exec.call(this, statement);
  });
  const refusal = `The database ${file} was replaced while it was opened: run this again`;
  assert.throws(() => openToWrite(file, 'change'), says(refusal));
  openToWrite(file, 'change').close();
});

test('what only keeps a file from being opened is said as that, with what to do', {
  skip: process.getuid?.() !== 0 && 'only root may become another user: no permission was refused',
}, async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  leaveKilled(place.file, killed);
  chmodSync(place.folder, 0o755);
  const refusals = (path: string) => {
    const script = `
      import { openToRead } from '${new URL('./database-file.ts', import.meta.url)}';
      process.setuid(65534);
      try { openToRead(${JSON.stringify(killed)}); } catch (error) { process.stdout.write(error.message); }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      cwd: '/',
    });
    assert.equal(stderr, '');
    assert.match(stdout, new RegExp(`^Cannot open the database ${killed}: uid 65534 has no permission for ${path}`));
    assert.match(stdout, /belongs to uid 0 and has mode 600: run this as the user of the service/);
  };
  chownSync(place.folder, 65534, 65534);
  refusals(killed);
  chownSync(killed, 65534, 65534);
  refusals(`${killed}-wal`);
});

const CREATORS = 6;
const ROUNDS = 40;
/** Opens one new file after the other, each when all creators have come to it, and posts the errors. */
const CREATE_AT_ONCE = `
const { parentPort, workerData: { ready, write, folder, creators } } = require('node:worker_threads');
import(write).then(({ openToWrite }) => {
  const failed = [];
  for (let round = 0; round < ready.length; round += 1) {
    Atomics.add(ready, round, 1);
    Atomics.notify(ready, round);
    for (let here; (here = Atomics.load(ready, round)) < creators; ) Atomics.wait(ready, round, here);
    try {
      openToWrite(folder + '/' + round + '.db', 'create').close();
    } catch (error) {
      failed.push(error.message);
    }
  }
  parentPort.postMessage(failed);
});`;

test('a file that several create at once is opened by each of them', async () => {
  using folder = temporaryFolder();
  const ready = new Int32Array(new SharedArrayBuffer(4 * ROUNDS));
  const data = { ready, write: new URL('database-file.ts', import.meta.url).href, folder: folder.path };
  const failures = await Promise.all(
    Array.from({ length: CREATORS }, async () => {
      const worker = new Worker(CREATE_AT_ONCE, { eval: true, workerData: { ...data, creators: CREATORS } });
      const [failed] = await once(worker, 'message');
      await worker.terminate();
      return failed;
    }),
  );
  assert.deepEqual(failures.flat(), []);
});
