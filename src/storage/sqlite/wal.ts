import { readFileSync, statSync } from 'node:fs';

export const HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
/** Marks a log whose checksums add little-endian words: SQLite writes those of its machine. */
export const MAGIC = 0x377f0682;
/** The header of the index of a log (sqlite.org/walformat.html, section 2.1). */
const INDEX_HEADER_BYTES = 48;
const INDEX_BYTES_MIN = 2 * INDEX_HEADER_BYTES + 4;
/** A log that changes at every reading is in use, and then what looks wrong is being written. */
const READINGS_MAX = 5;
/** The byte whose page is never used (sqlite.org/fileformat2.html, section 1.4). */
const LOCK_BYTE = 0x40000000;

type Checksum = readonly [number, number];

interface Log {
  readonly damage?: string;
  /** The transactions that are whole, from the beginning up to the damage, and their frames. */
  readonly commits: number;
  readonly frames: number;
  /** The pages in those frames, and how many the database has after the last of them. */
  readonly pages: ReadonlySet<number>;
  readonly pageCount: number;
  readonly pageBytes: number;
  /** Where the last whole transaction ends. */
  readonly intactBytes: number;
  /** Tells one round of the log from another: a checkpoint begins it anew. */
  readonly salt: string;
}

interface InspectOptions {
  /** True if no service has the database open: only then is the index of the log read. */
  readonly isAtRest?: boolean;
  readonly read?: (file: string) => Buffer;
}

/**
 * Looks for damage in the write-ahead log of a database file (sqlite.org/fileformat2.html, section 4), through the file
 * system alone. SQLite treats a frame with a wrong checksum as the end of the log. That is right after a crash, but if
 * the frame was damaged later it silently loses every commit behind it. A crash can only tear the last transaction, so
 * a bad frame with another transaction behind it is damage. The index that a killed process left tells of damage to the
 * very last transaction, too: it counts frames only once they are synced. Without one, such damage looks like a torn
 * transaction and passes. A log with transactions beside a file that is missing or empty is damage as well.
 *
 * A file that is shorter than its log says is damage too: SQLite would fill the gap with empty pages.
 *
 * Another process may write meanwhile, so a finding counts only if a second reading of the same round agrees. The
 * process that has the database open must not read the index: closing it would release SQLite's locks.
 */
export function findDamage(databaseFile: string, options: InspectOptions = {}): string | undefined {
  let last = inspect(databaseFile, options);
  for (let readings = 1; last.damage !== undefined && readings < READINGS_MAX; readings += 1) {
    const again = inspect(databaseFile, options);
    if (again.damage === last.damage && again.salt === last.salt) return again.damage;
    last = again;
  }
  return undefined;
}

function inspect(databaseFile: string, { isAtRest = false, read = readFileSync }: InspectOptions) {
  // Before the log, which only grows meanwhile unless a checkpoint begins a new round.
  const index = isAtRest ? readIndex(`${databaseFile}-shm`) : undefined;
  const log = readLog(`${databaseFile}-wal`, read);
  return { salt: log.salt, damage: log.damage ?? findLost(log, index) ?? findGap(databaseFile, log) };
}

/** Transactions that the index counts and the log has no more. */
function findLost(log: Log, index: Index | undefined): string | undefined {
  if (index && log.salt === '' && index.frames > index.moved) {
    return 'its log is missing, and the index of the log counts transactions that were only there';
  }
  return index && log.salt === index.salt && index.frames > log.frames ? damagedAt(log.intactBytes) : undefined;
}

/**
 * Pages that are neither in the file nor in the log. A file without commits in its log SQLite itself compares with its
 * header. The file is not opened here: closing it would release the locks of this process on it.
 */
function findGap(file: string, log: Log): string | undefined {
  if (log.commits === 0) return undefined;
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return `it is missing or empty, while its log holds transactions (${log.commits})`;
  const needed = log.pageCount * log.pageBytes;
  const locked = Math.floor(LOCK_BYTE / log.pageBytes) + 1;
  for (let page = Math.floor(bytes / log.pageBytes) + 1; page <= log.pageCount; page += 1) {
    if (!log.pages.has(page) && page !== locked) return `it has ${bytes} bytes, and should have ${needed}`;
  }
  return undefined;
}

type Index = NonNullable<ReturnType<typeof readIndex>>;

/** The committed frames by the index, and how many a checkpoint moved; undefined for none or one that is torn. */
function readIndex(file: string) {
  const index = readIfThere(file, readFileSync);
  if (!index || index.length < INDEX_BYTES_MIN) return undefined;
  const header = index.subarray(0, INDEX_HEADER_BYTES);
  if (!header.equals(index.subarray(INDEX_HEADER_BYTES, 2 * INDEX_HEADER_BYTES))) return undefined;
  const [first, second] = checksum([0, 0], header.subarray(0, -8));
  if (header.readUInt32LE(INDEX_HEADER_BYTES - 8) !== first) return undefined;
  if (header.readUInt32LE(INDEX_HEADER_BYTES - 4) !== second) return undefined;
  const moved = index.readUInt32LE(2 * INDEX_HEADER_BYTES);
  return { salt: header.toString('hex', 32, 40), frames: header.readUInt32LE(16), moved };
}

/** The last process that closes a database removes its log and index, at any moment. */
function readIfThere(file: string, read: (file: string) => Buffer): Buffer | undefined {
  try {
    return read(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function damagedAt(at: number): string {
  return `its log is damaged at byte ${at}`;
}

function readLog(file: string, read: (file: string) => Buffer): Log {
  const empty = {
    commits: 0,
    frames: 0,
    pages: new Set<number>(),
    pageCount: 0,
    pageBytes: 0,
    intactBytes: 0,
    salt: '',
  };
  const log = readIfThere(file, read);
  if (!log || log.length <= HEADER_BYTES) return empty;
  if (log.readUInt32BE(0) !== MAGIC) return { ...empty, damage: 'its log has no valid header' };
  const header = checksum([0, 0], log.subarray(0, HEADER_BYTES - 8));
  if (!isStored(log, HEADER_BYTES - 8, header)) return { ...empty, damage: 'the header of its log is damaged' };
  return readFrames(log, header);
}

function readFrames(log: Buffer, header: Checksum): Log {
  const pageBytes = log.readUInt32BE(8);
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const salt = log.subarray(16, 24);
  const hasSalt = (at: number) => salt.equals(log.subarray(at + 8, at + 16));
  /** The checksum of a frame, which goes on from that of the frame before it. */
  const sumOf = (at: number, before: Checksum) =>
    checksum(checksum(before, log.subarray(at, at + 8)), log.subarray(at + FRAME_HEADER_BYTES, at + frameBytes));
  const pages = new Set<number>();
  let [commits, intactBytes, pageCount] = [0, HEADER_BYTES, 0];
  let sum = header;
  let at = HEADER_BYTES;
  /** The pages of a transaction that has no end yet. */
  const written: number[] = [];
  let isSaltDamaged = false;
  for (; at + frameBytes <= log.length; at += frameBytes) {
    const next = sumOf(at, sum);
    const isContinued = isStored(log, at + 16, next);
    // The checksums leave out the salt: where they go on, the frame is of this round whatever its salt says.
    isSaltDamaged = isContinued && !hasSalt(at);
    if (!isContinued || isSaltDamaged) break;
    sum = next;
    written.push(log.readUInt32BE(at));
    if (!isCommit(log, at)) continue;
    for (const page of written.splice(0)) pages.add(page);
    commits += 1;
    intactBytes = at + frameBytes;
    pageCount = log.readUInt32BE(at + 4);
  }
  let behind = 0;
  for (let frame = at; frame + frameBytes <= log.length; frame += frameBytes)
    if ((hasSalt(frame) || (isSaltDamaged && frame === at)) && isCommit(log, frame)) behind += 1;
  const frames = (intactBytes - HEADER_BYTES) / frameBytes;
  const found = { commits, frames, pages, pageCount, pageBytes, intactBytes, salt: salt.toString('hex') };
  return behind > 1 ? { ...found, damage: damagedAt(at) } : found;
}

/** True if a frame ends a transaction: it says how many pages the database then has. */
function isCommit(log: Buffer, at: number): boolean {
  return log.readUInt32BE(at + 4) !== 0;
}

function checksum([first, second]: Checksum, bytes: Buffer): Checksum {
  let [a, b] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + bytes.readUInt32LE(at) + b) >>> 0;
    b = (b + bytes.readUInt32LE(at + 4) + a) >>> 0;
  }
  return [a, b];
}

function isStored(log: Buffer, at: number, [first, second]: Checksum): boolean {
  return log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second;
}
