import { existsSync, readFileSync } from 'node:fs';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC_BIG_ENDIAN = 0x377f0683;
const MAGIC_LITTLE_ENDIAN = 0x377f0682;
/** A log that changes at every reading is in use, and then what looks wrong is being written. */
const READINGS_MAX = 5;

type Checksum = readonly [number, number];

/** What the write-ahead log of a database file holds. */
export interface LogState {
  /** What is wrong with it, if anything is. */
  readonly damage?: string;
  /** Its transactions that are whole, from the beginning up to the damage, and the bytes that they end at. */
  readonly commits: number;
  readonly intactBytes: number;
  /** Transactions with frames after the damage; SQLite would drop them. */
  readonly behind: number;
}

interface Reading extends LogState {
  /** Tells one round of the log from another: a checkpoint begins it anew. */
  readonly salt: string;
}

/** The log's magic number says in which byte order its checksums add. */
type ReadWord = (at: number) => number;

/**
 * Looks for damage in the write-ahead log of a database file (sqlite.org/fileformat2.html, section 4), through the file
 * system alone. SQLite treats a frame with a wrong checksum as the end of the log. That is right after a crash, but if
 * the frame was damaged later it silently loses every commit behind it. A crash can only tear the last transaction, so
 * a bad frame with another transaction behind it is damage; damage to the very last transaction looks like a torn one
 * and passes.
 *
 * Another process may write while the log is read, so a finding counts only if a second reading of the same round
 * agrees.
 */
export function inspectLog(databaseFile: string, read: (file: string) => Buffer = readFileSync): LogState {
  const file = `${databaseFile}-wal`;
  let last = readLog(file, read);
  for (let readings = 1; last.damage !== undefined && readings < READINGS_MAX; readings += 1) {
    const again = readLog(file, read);
    if (again.damage === last.damage && again.salt === last.salt) return again;
    last = again;
  }
  const { commits, intactBytes } = last;
  return { commits, intactBytes, behind: 0 };
}

function readLog(file: string, read: (file: string) => Buffer): Reading {
  const empty = { commits: 0, intactBytes: 0, behind: 0, salt: '' };
  if (!existsSync(file)) return empty;
  const log = read(file);
  if (log.length <= HEADER_BYTES) return empty;

  const magic = log.readUInt32BE(0);
  if (magic !== MAGIC_BIG_ENDIAN && magic !== MAGIC_LITTLE_ENDIAN) {
    return { ...empty, damage: 'its log has no valid header' };
  }
  const readWord: ReadWord = magic === MAGIC_BIG_ENDIAN ? (at) => log.readUInt32BE(at) : (at) => log.readUInt32LE(at);
  const header = checksum([0, 0], 0, HEADER_BYTES - 8, readWord);
  if (!isStored(log, HEADER_BYTES - 8, header)) return { ...empty, damage: 'the header of its log is damaged' };
  return readFrames(log, header, readWord);
}

function readFrames(log: Buffer, header: Checksum, readWord: ReadWord): Reading {
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  const hasSalt = (at: number) => salt.equals(log.subarray(at + 8, at + 16));
  let [commits, intactBytes] = [0, HEADER_BYTES];
  let sum = header;
  let at = HEADER_BYTES;
  let isSaltDamaged = false;
  for (; at + frameBytes <= log.length; at += frameBytes) {
    const page = checksum(sum, at, 8, readWord);
    const next = checksum(page, at + FRAME_HEADER_BYTES, frameBytes - FRAME_HEADER_BYTES, readWord);
    const isContinued = isStored(log, at + 16, next);
    // The checksums leave out the salt: where they go on, the frame is of this round whatever its salt says.
    isSaltDamaged = isContinued && !hasSalt(at);
    if (!isContinued || isSaltDamaged) break;
    sum = next;
    if (!isCommit(log, at)) continue;
    commits += 1;
    intactBytes = at + frameBytes;
  }
  let behind = 0;
  let isOpen = false;
  for (let frame = at; frame + frameBytes <= log.length; frame += frameBytes) {
    if (!hasSalt(frame) && !(isSaltDamaged && frame === at)) continue;
    if (!isOpen) behind += 1;
    isOpen = !isCommit(log, frame);
  }
  const state = { commits, intactBytes, behind, salt: salt.toString('hex') };
  return behind > 1 ? { ...state, damage: `its log is damaged at byte ${at}` } : state;
}

/** Whether a frame ends a transaction: it says how many pages the database then has. */
function isCommit(log: Buffer, at: number): boolean {
  return log.readUInt32BE(at + 4) !== 0;
}

function checksum([first, second]: Checksum, start: number, length: number, readWord: ReadWord): Checksum {
  let [a, b] = [first, second];
  for (let at = start; at < start + length; at += 8) {
    a = (a + readWord(at) + b) >>> 0;
    b = (b + readWord(at + 4) + a) >>> 0;
  }
  return [a, b];
}

function isStored(log: Buffer, at: number, [first, second]: Checksum): boolean {
  return log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second;
}
