import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { DatabaseNotOpened } from '../engine.ts';
import { isAtRest } from './claim.ts';
import { DatabaseDamaged, notOpened } from './failure.ts';
import { hasLog, isThere } from './files.ts';
import { inspectLog } from './wal.ts';

/** The time that reading waits for other processes that open the same file. */
const OPEN_TIMEOUT_MS = 5_000;

/** A database file that is open for reading. */
export interface Reader extends Disposable {
  readonly database: DatabaseSync;
}

interface ReadOptions {
  /** The operator's name for the file. */
  readonly name?: string;
  /** True if no service has the file open, if the caller knows. */
  readonly isAtRest?: boolean;
}

/**
 * Opens a database file for reading, after a check of its log and its pages. Changes no byte of it, and leaves no file.
 * Throws `DatabaseDamaged` or `DatabaseNotOpened`.
 */
export function openToRead(file: string, { name = file, ...known }: ReadOptions = {}): Reader {
  const found = logAndIndex(file);
  try {
    const { damage } = inspectLog(file, { isAtRest: known.isAtRest ?? isAtRest(file) });
    if (damage !== undefined) throw new DatabaseDamaged(name, damage);
    if (!isThere(file)) throw missing(name);
    const reader = openUnchanged(file);
    try {
      const [found] = reader.database.prepare('PRAGMA quick_check(1)').all();
      const result = `${Object.values(found ?? {})[0]}`;
      if (result !== 'ok') throw new DatabaseDamaged(name, result.replaceAll(/[\s*]+/g, ' ').trim());
      return reader;
    } catch (error) {
      reader[Symbol.dispose]();
      throw error;
    }
  } catch (error) {
    // The last process that had it open removed both, or the first one made them, after the way to read was chosen.
    if (logAndIndex(file) !== found) return openToRead(file, { name, ...known });
    throw notOpened(file, error, name);
  }
}

/** A text that is another one when log or index were made or removed. Writing to them leaves it as it is. */
function logAndIndex(file: string): string {
  const files = ['-wal', '-shm'].map((part) => statSync(file + part, { bigint: true, throwIfNoEntry: false }));
  return files.map((stats) => stats && `${stats.ino} ${stats.birthtimeNs}`).join();
}

/** The damage of the log or the pages of a file, if it is there. Throws `DatabaseNotOpened` where it cannot be read. */
export function findDamage(file: string, options: ReadOptions = {}): string | undefined {
  if (!isThere(file) && !hasLog(file)) return undefined;
  try {
    openToRead(file, options)[Symbol.dispose]();
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseDamaged) return error.damage;
    throw error;
  }
}

/** The error that names a database file that is not there. */
export function missing(file: string): DatabaseNotOpened {
  return new DatabaseNotOpened(
    `There is no database ${resolve(file)}; run this in the folder of the service, or name its database with DATABASE_URL or --database-url`,
  );
}

/**
 * Opens a file, unchecked, in the way that leaves it and its folder as they are. Where a log and its index are there,
 * SQLite takes the index as it is while another process has the file open, and otherwise makes its own in memory. A log
 * without an index is read from a copy: SQLite would make the index, which could not be removed safely. A file without
 * either is `immutable`: even reading would otherwise leave an empty log.
 */
export function openUnchanged(file: string): Reader {
  if (existsSync(`${file}-wal`) && existsSync(`${file}-shm`)) return open(file, 'readonly_shm=1');
  if (!hasLog(file)) return open(file, 'immutable=1');
  const folder = mkdtempSync(join(tmpdir(), 'pet-catalog-read-'));
  const remove = () => rmSync(folder, { recursive: true });
  try {
    const copy = join(folder, 'copy.db');
    for (const part of ['', '-wal']) copyFileSync(file + part, copy + part);
    const database = new DatabaseSync(copy, { readOnly: true });
    const close = () => {
      database[Symbol.dispose]();
      remove();
    };
    return { database, [Symbol.dispose]: close };
  } catch (error) {
    remove();
    throw error;
  }
}

function open(file: string, how: string): Reader {
  const url = pathToFileURL(file);
  url.search = how;
  const database = new DatabaseSync(url, { readOnly: true, timeout: OPEN_TIMEOUT_MS });
  return { database, [Symbol.dispose]: () => database[Symbol.dispose]() };
}
