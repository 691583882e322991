import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { sizeOf } from './files.ts';
import { FRAME_HEADER_BYTES, HEADER_BYTES, MAGIC } from './wal.ts';

const SALT_AT = 16;
const SALT_BYTES = 8;
/** A checkpoint writes the file before it counts the frames: what was written lately may be explained soon. */
const EXPLAINED_AFTER_MS = 500;
/** With less room a checkpoint may have failed. */
const ROOM_BYTES = 16 * 1024 * 1024;

/** The frames in a log, and how many of them checkpoints have moved into the file, as its index counts them. */
export interface LogIndex {
  readonly frames: number;
  readonly moved: number;
}

interface Seen extends LogIndex {
  /** Tells one round of the log from another. */
  readonly salt: string;
  readonly writtenAtMs: number;
}

/**
 * The bytes of a database file and its log under a running service: notices that another program cut or overwrote one
 * of them in place. SQLite would fill the gap with zeros, and fold what is left into the file. The log has every frame
 * that its index counts; the file changes only by checkpoints, of this process or another one.
 */
export class Integrity {
  readonly #file: string;
  /** A connection of its own: one in a transaction cannot be asked for the index. */
  readonly #database: DatabaseSync;
  readonly #statement: StatementSync;
  #seen: Seen | undefined;
  /** False after a look that found otherwise. */
  isWhole = true;

  constructor(file: string) {
    this.#file = file;
    this.#database = new DatabaseSync(file, { readOnly: true });
    // Its file must not be opened here: see `findDamage`.
    this.#statement = this.#database.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  /** The index of the log; undefined while the file cannot be read. */
  index(): LogIndex | undefined {
    try {
      const { log, checkpointed } = this.#statement.get() as { log: number; checkpointed: number };
      return { frames: log, moved: checkpointed };
    } catch {
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  /** Looks at file and log. A change of the file within the last half second is left to the next look. */
  look(): boolean {
    const found = this.#compare();
    const isSettled = found === 'overwritten' || (found === 'unexplained' && this.#isSettled());
    if (isSettled) this.isWhole = found === 'unexplained' && sizeOf(this.#file).diskFreeBytes < ROOM_BYTES;
    if (found === 'whole') this.isWhole = true;
    return this.isWhole;
  }

  /** True if file and log may be folded together now. */
  mayCheckpoint(): boolean {
    return this.isWhole && ['whole', 'unknown'].includes(this.#compare());
  }

  #compare(): 'whole' | 'overwritten' | 'unexplained' | 'unknown' {
    const index = this.index();
    if (!index) return 'unknown';
    try {
      const salt = this.#saltOf(index);
      if (salt === undefined) {
        // Another process may have begun the log anew between the two readings.
        const again = this.index();
        const isSame = again?.frames === index.frames && again.moved === index.moved;
        return isSame && this.#saltOf(index) === undefined ? 'overwritten' : 'unknown';
      }
      // After the index: a checkpoint between the two is explained by the next look.
      const { mtimeMs: writtenAtMs } = statSync(this.#file);
      const seen = this.#seen;
      const isMoved = index.moved !== seen?.moved || salt !== seen.salt;
      if (writtenAtMs !== seen?.writtenAtMs && !isMoved) return 'unexplained';
      this.#seen = { ...index, salt, writtenAtMs };
      return 'whole';
    } catch {
      // A file that is gone, or without a descriptor to spare, is for others to tell.
      return 'unknown';
    }
  }

  #isSettled(): boolean {
    return Date.now() - (statSync(this.#file, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= EXPLAINED_AFTER_MS;
  }

  /** The salt of the log if it has the last frame, and the last of an earlier look; undefined if one is missing. */
  #saltOf({ frames }: LogIndex): string | undefined {
    if (frames === 0) return '';
    const log = openSync(`${this.#file}-wal`, 'r');
    try {
      const header = Buffer.alloc(HEADER_BYTES);
      readSync(log, header, 0, HEADER_BYTES, 0);
      if (header.readUInt32BE(0) !== MAGIC) return undefined;
      const salt = header.toString('hex', SALT_AT, SALT_AT + SALT_BYTES);
      const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
      const seen = this.#seen?.salt === salt ? [this.#seen.frames] : [];
      const isThere = [...seen, frames].every((frame) => {
        const found = Buffer.alloc(SALT_BYTES);
        readSync(log, found, 0, SALT_BYTES, HEADER_BYTES + (frame - 1) * frameBytes + 8);
        return found.toString('hex') === salt;
      });
      return isThere ? salt : undefined;
    } finally {
      closeSync(log);
    }
  }
}
