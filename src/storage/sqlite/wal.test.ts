import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { inspectLog } from './wal.ts';

const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + 4_096;
const COMMITS = 6;

/** The file and the bytes of a log of some commits of one frame each, beside which its index may stay. */
function writtenLog(folder: string, commits = COMMITS, parts = ['', '-wal']): { file: string; log: Buffer } {
  const [used, file] = [join(folder, 'used.db'), join(folder, 'test.db')];
  using database = new DatabaseSync(used);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number)');
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  for (let commit = 0; commit < commits; commit += 1) database.exec(`INSERT INTO numbers VALUES (${commit})`);
  for (const part of parts) copyFileSync(used + part, file + part);
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
      const found = inspectLog(file, { read: () => damaged });
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
    const { damage, behind } = inspectLog(file, { read: () => torn });
    assert.deepEqual([damage === undefined, behind], whole === 2 ? [true, 0] : [false, 3 - whole], `frame ${frame}`);
  }
});

test('a commit record that was lost is damage if pages show that another transaction follows, and a torn one is not', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.db');
  using database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE a (x); CREATE TABLE b (x); PRAGMA wal_checkpoint(TRUNCATE)');
  const both = (text: string) =>
    database.exec(`BEGIN; INSERT INTO a VALUES (${text}); INSERT INTO b VALUES (1); COMMIT`);
  both('1');
  both('2');
  both('3');
  // One transaction of many pages, each after the other.
  both('zeroblob(100000)');
  const log = readFileSync(`${file}-wal`);
  const frames = (log.length - HEADER_BYTES) / FRAME_BYTES;
  const commits = [...Array(frames).keys()].filter(
    (frame) => log.readUInt32BE(HEADER_BYTES + frame * FRAME_BYTES + 4) !== 0,
  );
  assert.deepEqual([commits.length, commits[1]], [4, 3]);
  const without = (frame: number, end = frames) => {
    const damaged = Buffer.from(log.subarray(0, HEADER_BYTES + end * FRAME_BYTES));
    damaged.fill(0, HEADER_BYTES + frame * FRAME_BYTES + 4, HEADER_BYTES + frame * FRAME_BYTES + 8);
    const { damage, behind } = inspectLog(file, { read: () => damaged });
    return [damage, behind];
  };
  for (const [frame, end] of [
    [1, 4],
    [3, 6],
    [5, frames],
  ] as const) {
    assert.deepEqual(without(frame, end), [`its log is damaged at byte ${HEADER_BYTES + frame * FRAME_BYTES}`, 2]);
    assert.deepEqual(without(end - 1, end), [undefined, 0], 'the last one may be torn');
  }
  for (let frame = 7; frame < frames; frame += 1) assert.deepEqual(without(frame), [undefined, 0], `frame ${frame}`);
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
    return inspectLog(file, { read: () => logs[Math.min(readings++, logs.length - 1)] ?? log }).damage;
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
    const found = inspectLog(file, { read: () => log.subarray(0, bytes) });
    assert.equal(found.damage, undefined, `${bytes} bytes`);
    assert.equal(found.commits, Math.max(0, Math.floor((bytes - HEADER_BYTES) / FRAME_BYTES)), `${bytes} bytes`);
    if (bytes <= HEADER_BYTES) assert.equal(found.intactBytes, 0, `${bytes} bytes`);
  }
});

test('a damaged header hides the whole log, and a missing file is an empty log', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  for (const [at, damage] of [
    [3, 'its log has no valid header'],
    [17, 'the header of its log is damaged'],
    [25, 'the header of its log is damaged'],
    [29, 'the header of its log is damaged'],
  ] as const) {
    const damaged = Buffer.from(log);
    damaged[at] = (damaged[at] ?? 0) ^ 4;
    const found = inspectLog(file, { read: () => damaged });
    assert.deepEqual(found, { commits: 0, intactBytes: 0, behind: 0, damage }, `byte ${at}`);
  }
  assert.deepEqual(inspectLog(join(folder.path, 'missing.db')), { commits: 0, intactBytes: 0, behind: 0 });
});

test('a log is read again until two reads agree, five times at most', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  const damagedAt = (frame: number) => {
    const damaged = Buffer.from(log);
    damaged[HEADER_BYTES + frame * FRAME_BYTES + 100] = 0xa5;
    return damaged;
  };
  const readings = (frameOf: (reading: number) => number | undefined) => {
    let count = 0;
    const found = inspectLog(file, {
      read: () => {
        const frame = frameOf(++count);
        return frame === undefined ? log : damagedAt(frame);
      },
    });
    return [count, found.commits, found.behind, found.damage === undefined];
  };
  assert.deepEqual(
    readings(() => undefined),
    [1, COMMITS, 0, true],
  );
  assert.deepEqual(
    readings(() => 2),
    [2, 2, COMMITS - 2, false],
  );
  assert.deepEqual(
    readings((reading) => (reading < 4 ? reading % 2 : 3)),
    [5, 3, COMMITS - 3, false],
  );
  assert.deepEqual(
    readings((reading) => reading % 2),
    [5, 1, 0, true],
  );
});

test('at rest, what the index counts and the log lacks is damage, were it one frame', () => {
  for (const commits of [1, COMMITS]) {
    using folder = temporaryFolder();
    const { file, log } = writtenLog(folder.path, commits, ['', '-wal', '-shm']);
    const found = () => inspectLog(file, { isAtRest: true });
    assert.deepEqual([found().commits, found().damage], [commits, undefined]);
    const at = log.length - FRAME_BYTES;
    writeFileSync(`${file}-wal`, log.subarray(0, at));
    const lost = 'its log is missing, and the index of the log counts transactions that were only there';
    const damage = commits === 1 ? lost : `its log is damaged at byte ${at}`;
    assert.deepEqual([found().commits, found().damage], [commits - 1, damage]);
    assert.equal(inspectLog(file).damage, undefined, 'in use, only the log is looked at');
    rmSync(`${file}-wal`);
    assert.equal(found().damage, lost);
  }
});

test('a log with transactions beside a file that is empty or missing is damage', () => {
  using folder = temporaryFolder();
  const { file } = writtenLog(folder.path);
  const damage = `it is missing or empty, while its log holds transactions (${COMMITS})`;
  writeFileSync(file, '');
  assert.equal(inspectLog(file).damage, damage);
  rmSync(file);
  assert.equal(inspectLog(file).damage, damage);
});

test('what an earlier round left behind the end of the log is no damage', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.db');
  using database = new DatabaseSync(file);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE numbers (number)');
  for (let commit = 0; commit < COMMITS; commit += 1) database.exec(`INSERT INTO numbers VALUES (${commit})`);
  database.exec('PRAGMA wal_checkpoint(RESTART); INSERT INTO numbers VALUES (7)');
  assert.ok(readFileSync(`${file}-wal`).length > HEADER_BYTES + COMMITS * FRAME_BYTES);
  const { commits, intactBytes, behind, damage } = inspectLog(file);
  assert.deepEqual([commits, intactBytes, behind, damage], [1, HEADER_BYTES + FRAME_BYTES, 0, undefined]);
  const torn = readFileSync(`${file}-wal`);
  torn[HEADER_BYTES + 9] = (torn[HEADER_BYTES + 9] ?? 0) ^ 1;
  const found = inspectLog(file, { read: () => torn });
  assert.deepEqual([found.commits, found.damage], [0, undefined], 'nor behind a last frame with a damaged salt');
});

test('checksums are added in the byte order that the header names', () => {
  using folder = temporaryFolder();
  const { file, log } = writtenLog(folder.path);
  const other = Buffer.from(log);
  const isLittleEndian = log.readUInt32BE(0) === 0x377f0682;
  other.writeUInt32BE(isLittleEndian ? 0x377f0683 : 0x377f0682, 0);
  let [a, b] = [0, 0];
  const add = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += 8) {
      const [first, second] = [at, at + 4].map((word) =>
        isLittleEndian ? bytes.readUInt32BE(word) : bytes.readUInt32LE(word),
      );
      a = (a + (first ?? 0) + b) >>> 0;
      b = (b + (second ?? 0) + a) >>> 0;
    }
  };
  const store = (at: number) => other.writeUInt32BE(b, other.writeUInt32BE(a, at));
  add(other.subarray(0, 24));
  store(24);
  for (let at = HEADER_BYTES; at < other.length; at += FRAME_BYTES) {
    add(other.subarray(at, at + 8));
    add(other.subarray(at + 24, at + FRAME_BYTES));
    store(at + 16);
  }
  const found = inspectLog(file, { read: () => other });
  assert.deepEqual([found.damage, found.commits, found.intactBytes], [undefined, COMMITS, other.length]);
});
