import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { findDamage } from './wal.ts';

const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;
const COMMITS = 6;

/** The file and the bytes of a log that some statements left, each a commit. */
function writtenLog(folder: string, statements: readonly string[] = inserts(COMMITS)): { file: string; log: Buffer } {
  const [used, file] = [join(folder, 'used.db'), join(folder, 'test.db')];
  using database = new DatabaseSync(used);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE a (x); CREATE TABLE b (x)');
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  for (const statement of statements) database.exec(statement);
  for (const part of ['', '-wal']) copyFileSync(used + part, file + part);
  return { file, log: readFileSync(`${file}-wal`) };
}

function inserts(count: number, value = '1'): string[] {
  return Array.from({ length: count }, () => `INSERT INTO a VALUES (${value})`);
}

/** Where the frame of a number begins. */
function frameAt(frame: number): number {
  return HEADER_BYTES + frame * FRAME_BYTES;
}

/** The frames that end a transaction. */
function commitsIn(log: Buffer): number[] {
  const frames = [...Array((log.length - HEADER_BYTES) / FRAME_BYTES).keys()];
  return frames.filter((frame) => log.readUInt32BE(frameAt(frame) + 4) !== 0);
}

function flipped(log: Buffer, at: number, bit = 1): Buffer {
  const damaged = Buffer.from(log);
  damaged[at] = (damaged[at] ?? 0) ^ bit;
  return damaged;
}

test('damage to any part of a frame is distinguished from the end of the log if a commit follows', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  assert.equal(log.length, frameAt(COMMITS));
  assert.equal(findDamage(file), undefined);
  for (let frame = 0; frame < COMMITS; frame += 1) {
    for (const offset of [2, 9, 18, 24 + 1_000]) {
      const found = findDamage(file, { read: () => flipped(log, frameAt(frame) + offset) });
      const isLast = frame === COMMITS - 1;
      assert.equal(found, isLast ? undefined : `its log is damaged at byte ${frameAt(frame)}`, `${frame} ${offset}`);
    }
  }
});

test('a log that a crash cut off or tore in its last transaction is not damaged, and one before it is', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path, inserts(3, 'zeroblob(20000)'));
  const commits = commitsIn(log);
  assert.equal(commits.length, 3);
  for (const bytes of [0, 20, HEADER_BYTES, HEADER_BYTES + 10, log.length - FRAME_BYTES, log.length - 1_000])
    assert.equal(findDamage(file, { read: () => log.subarray(0, bytes) }), undefined, `${bytes} bytes`);
  for (let frame = 0; frame <= (commits[2] ?? 0); frame += 1) {
    const damage = findDamage(file, { read: () => flipped(log, frameAt(frame) + 100) });
    assert.equal(damage !== undefined, frame <= (commits[1] ?? 0), `frame ${frame}`);
  }
});

test('a finding counts once a second reading of the same round agrees, of five at most', () => {
  using folder = temporaryFolder();
  using another = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  const damagedAt = (frame: number, of = log) => flipped(of, frameAt(frame) + 100);
  const otherRound = damagedAt(1, writtenLog(another.path).log);
  for (const [logs, readings, isDamaged] of [
    [[log], 1, false],
    [[damagedAt(2), damagedAt(2)], 2, true],
    [[damagedAt(1), log], 2, false],
    [[damagedAt(1), damagedAt(2), damagedAt(2)], 3, true],
    [[damagedAt(1), otherRound, log], 3, false],
    [[damagedAt(1), damagedAt(2), damagedAt(1), damagedAt(2), damagedAt(1), damagedAt(1)], 5, false],
  ] as const) {
    let count = 0;
    const damage = findDamage(file, { read: () => logs[Math.min(count++, logs.length - 1)] ?? log });
    assert.deepEqual([count, damage !== undefined], [readings, isDamaged]);
  }
});

test('a damaged header hides the whole log', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  assert.equal(findDamage(file, { read: () => flipped(log, 3, 4) }), 'its log has no valid header');
  for (const at of [17, 25, 29])
    assert.equal(findDamage(file, { read: () => flipped(log, at) }), 'the header of its log is damaged', `byte ${at}`);
});

test('what an earlier round left behind the end of the log is no damage', () => {
  using folder = temporaryFolder();
  const again = ['PRAGMA wal_checkpoint(RESTART)', 'INSERT INTO a VALUES (7)'];
  const { file, log } = writtenLog(folder.path, [...inserts(COMMITS), ...again]);
  assert.equal(log.length, frameAt(COMMITS));
  assert.equal(findDamage(file), undefined);
  assert.equal(findDamage(file, { read: () => flipped(log, frameAt(0) + 9) }), undefined, 'a damaged salt at its end');
});

test('a page that only a torn transaction has is missing', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path, [...inserts(1), 'INSERT INTO b VALUES (zeroblob(20000))']);
  truncateSync(file, 2 * 4_096);
  assert.equal(findDamage(file), undefined, 'the log has the third page');
  truncateSync(`${file}-wal`, log.length - FRAME_BYTES);
  assert.equal(findDamage(file), `it has ${2 * 4_096} bytes, and should have ${3 * 4_096}`);
});
