import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { inspectLog } from './wal.ts';

const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;
const COMMITS = 6;

/** The file and the bytes of a log of some commits of one frame each. */
function writtenLog(folder: string): { file: string; log: Buffer } {
  const [used, file] = [join(folder, 'used.db'), join(folder, 'test.db')];
  using database = new DatabaseSync(used);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number)');
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  for (let commit = 0; commit < COMMITS; commit += 1) database.exec(`INSERT INTO numbers VALUES (${commit})`);
  for (const part of ['', '-wal']) copyFileSync(used + part, file + part);
  return { file, log: readFileSync(`${file}-wal`) };
}

test('damage to any part of a frame is distinguished from the end of the log if a commit follows', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  assert.equal(log.length, HEADER_BYTES + COMMITS * FRAME_BYTES);
  assert.deepEqual([inspectLog(file).commits, inspectLog(file).damage], [COMMITS, undefined]);
  for (let frame = 0; frame < COMMITS; frame += 1) {
    for (const [what, offset] of [
      ['page number', 2],
      ['salt', 9],
      ['checksum', 18],
      ['page', 24 + 1_000],
    ] as const) {
      const damaged = Buffer.from(log);
      const at = HEADER_BYTES + frame * FRAME_BYTES;
      damaged[at + offset] = (damaged[at + offset] ?? 0) ^ 1;
      const found = inspectLog(file, () => damaged);
      const where = `${what} of frame ${frame}`;
      const isLast = frame === COMMITS - 1;
      assert.equal(found.damage, isLast ? undefined : `its log is damaged at byte ${at}`, where);
      assert.deepEqual([found.commits, found.intactBytes], [frame, at], where);
    }
  }
});

test('a last transaction of several frames that a crash tore is not damage, and two are', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.db');
  using database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE texts (text); PRAGMA wal_checkpoint(TRUNCATE)');
  for (let commit = 0; commit < 3; commit += 1) database.exec(`INSERT INTO texts VALUES (zeroblob(20000))`);
  const log = readFileSync(`${file}-wal`);
  const commits = [...Array((log.length - HEADER_BYTES) / FRAME_BYTES).keys()].filter(
    (frame) => log.readUInt32BE(HEADER_BYTES + frame * FRAME_BYTES + 4) !== 0,
  );
  assert.deepEqual([commits.length, inspectLog(file).commits], [3, 3]);
  for (let frame = 0; frame < log.length / FRAME_BYTES - 1; frame += 1) {
    const at = HEADER_BYTES + frame * FRAME_BYTES;
    const torn = Buffer.from(log);
    torn[at + 100] = (torn[at + 100] ?? 0) ^ 1;
    const whole = commits.filter((commit) => commit < frame).length;
    const { damage, behind } = inspectLog(file, () => torn);
    assert.deepEqual([damage === undefined, behind], whole === 2 ? [true, 0] : [false, 3 - whole], `frame ${frame}`);
  }
});

test('damage found by only one of two reads is a write in progress', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  using another = temporaryFolder();
  const damagedAt = (frame: number, of = log) => {
    const damaged = Buffer.from(of);
    damaged[HEADER_BYTES + frame * FRAME_BYTES + 100] = 0xa5;
    return damaged;
  };
  const reading = (...logs: Buffer[]) => {
    let readings = 0;
    return inspectLog(file, () => logs[Math.min(readings++, logs.length - 1)] ?? log).damage;
  };
  assert.equal(reading(damagedAt(1), log), undefined);
  assert.equal(reading(damagedAt(1), damagedAt(2), log), undefined);
  assert.match(reading(damagedAt(1), damagedAt(2), damagedAt(2)) ?? '', /is damaged at byte/);
  const otherRound = damagedAt(1, writtenLog(another.path).log);
  assert.equal(reading(damagedAt(1), otherRound, log), undefined, 'the same place, after the log began anew');
});

test('a log truncated by a crash is not damaged', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  for (const bytes of [0, 20, HEADER_BYTES, HEADER_BYTES + 10, log.length - FRAME_BYTES, log.length - 1_000]) {
    const found = inspectLog(file, () => log.subarray(0, bytes));
    assert.equal(found.damage, undefined, `${bytes} bytes`);
    assert.equal(found.commits, Math.max(0, Math.floor((bytes - HEADER_BYTES) / FRAME_BYTES)), `${bytes} bytes`);
  }
});
