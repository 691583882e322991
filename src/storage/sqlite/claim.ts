import { existsSync, truncateSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { failureOf, findFileMount, findReadOnlyMount, isDamage } from './failure.ts';
import { createPrivately, IN_MEMORY } from './files.ts';

const SQLITE_BUSY = 5;
/** `isClaimed` in another process holds the lock briefly. */
const CLAIM_WAIT_MS = 100;

/**
 * Keeps other services away from a database file until disposed of. The claim is SQLite's lock on a file beside the
 * database, which the operating system releases even after a crash. Commands that may run beside the service need none.
 * Throws `DatabaseNotOpened` if a service runs on the file.
 */
export function claimFile(file: string): Disposable {
  if (file === IN_MEMORY) return { [Symbol.dispose]() {} };
  const lock = `${file}.lock`;
  const mount = findFileMount(file) ?? findReadOnlyMount(file);
  if (mount) throw new DatabaseNotOpened(`${mount.finding}: ${mount.advice}`);
  try {
    createPrivately(lock);
    const claim = new DatabaseSync(lock, { timeout: CLAIM_WAIT_MS });
    lockExclusively(claim, lock);
    return { [Symbol.dispose]: () => claim.close() };
  } catch (error) {
    throw new DatabaseNotOpened(
      isBusy(error)
        ? `Another service runs on the database ${file}: stop it, or set DATABASE_URL to another file`
        : `Cannot use the folder of the database ${file}: ${failureOf(file, error)}, or set DATABASE_URL to a writable place`,
      { cause: error },
    );
  }
}

/** Takes the lock, an empty database, to which nothing is written: its journal is no file. */
function lockExclusively(claim: DatabaseSync, lock: string): void {
  const take = () => claim.exec('PRAGMA journal_mode = memory; BEGIN EXCLUSIVE');
  try {
    take();
  } catch (error) {
    if (!isDamage(error)) throw error;
    // The lock of release 0.3.0 had a page, which a power cut may have left without its bytes.
    truncateSync(lock);
    take();
  }
}

/** True if a service holds the claim of a database file. Throws `DatabaseNotOpened`. */
export function isClaimed(file: string): boolean {
  const lock = `${file}.lock`;
  if (file === IN_MEMORY || !existsSync(lock)) return false;
  try {
    using asked = new DatabaseSync(lock, { readOnly: true, timeout: 0 });
    asked.prepare('SELECT count(*) FROM sqlite_schema').all();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw new DatabaseNotOpened(`Cannot read ${lock}: ${failureOf(file, error)}`, { cause: error });
  }
}

/** True if a service ran on a database file, and none does now; false where that cannot be told. */
export function isAtRest(file: string): boolean {
  try {
    return existsSync(`${file}.lock`) && !isClaimed(file);
  } catch {
    return false;
  }
}

/** True if SQLite gave up because of a lock of another process. */
export function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY;
}
