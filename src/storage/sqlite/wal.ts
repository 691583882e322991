import { existsSync, readFileSync } from 'node:fs';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC_BIG_ENDIAN = 0x377f0683;
const MAGIC_LITTLE_ENDIAN = 0x377f0682;

type Checksum = readonly [number, number];

/**
 * Looks for damage in the write-ahead log of a database file that is not open (sqlite.org/fileformat2.html, section 4).
 * SQLite treats a frame with a wrong checksum as the end of the log. That is right after a crash, but if the frame was
 * damaged later it silently loses every commit behind it. A crash can only tear the last transaction, so a bad frame
 * with another transaction behind it is damage. Returns what is wrong, or undefined; damage to the very last
 * transaction looks like a torn one and passes.
 */
export function findWalDamage(databaseFile: string): string | undefined {
  const file = `${databaseFile}-wal`;
  if (!existsSync(file)) return undefined;
  const log = readFileSync(file);
  if (log.length <= HEADER_BYTES) return undefined;

  const magic = log.readUInt32BE(0);
  if (magic !== MAGIC_BIG_ENDIAN && magic !== MAGIC_LITTLE_ENDIAN) return 'its log has no valid header';
  const readWord =
    magic === MAGIC_BIG_ENDIAN ? (at: number) => log.readUInt32BE(at) : (at: number) => log.readUInt32LE(at);
  const header = checksum([0, 0], 0, HEADER_BYTES - 8, readWord);
  if (!isStored(log, HEADER_BYTES - 8, header)) return 'the header of its log is damaged';

  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let sum = header;
  let at = HEADER_BYTES;
  for (; at + frameBytes <= log.length; at += frameBytes) {
    const next = checksum(
      checksum(sum, at, 8, readWord),
      at + FRAME_HEADER_BYTES,
      frameBytes - FRAME_HEADER_BYTES,
      readWord,
    );
    if (!salt.equals(log.subarray(at + 8, at + 16)) || !isStored(log, at + 16, next)) break;
    sum = next;
  }
  return transactionsFrom(log, at, frameBytes, salt) > 1 ? `its log is damaged at byte ${at}` : undefined;
}

/** Counts the transactions, whole or torn, with frames of the log's current salt from `start` on. */
function transactionsFrom(log: Buffer, start: number, frameBytes: number, salt: Buffer): number {
  let transactions = 0;
  let isOpen = false;
  for (let at = start; at + frameBytes <= log.length; at += frameBytes) {
    if (!salt.equals(log.subarray(at + 8, at + 16))) continue;
    if (!isOpen) transactions += 1;
    isOpen = log.readUInt32BE(at + 4) === 0;
  }
  return transactions;
}

function checksum(
  [first, second]: Checksum,
  start: number,
  length: number,
  readWord: (at: number) => number,
): Checksum {
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
