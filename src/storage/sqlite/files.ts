import {
  chownSync,
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The database that SQLite keeps in memory, which has no file. */
export const IN_MEMORY = ':memory:';
/** Only the user that runs the service may read its data. */
export const PRIVATE_FILE_MODE = 0o600;
export const PRIVATE_FOLDER_MODE = 0o700;

/** True if there is a file; unlike `existsSync` it throws where that may not be looked at. */
export function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** True if a database file has a log that is not empty. */
export function hasLog(file: string): boolean {
  return sizeOf(file).logBytes > 0;
}

/** The bytes of a database file and its log, and those free on their disk; 0 for what is not there. */
export function sizeOf(file: string) {
  const bytesOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const { bavail, bsize } = statfsSync(dirname(resolve(file)));
  return { databaseBytes: bytesOf(file), logBytes: bytesOf(`${file}-wal`), diskFreeBytes: bavail * bsize };
}

/**
 * Makes an empty file with mode 0600 whatever the umask, and the folders above it with 0700, unless the file is there.
 * What root makes gets the owner of the database or folder that is there. SQLite gives log and index the mode and owner
 * of the database. Throws what the system says.
 */
export function createPrivately(file: string): void {
  if (existsSync(file)) return;
  // Throws if the working folder was deleted; with `recursive`, mkdir would never return then.
  realpathSync.native('.');
  let like = resolve(file.replace(/\.(lock|restoring)$/, ''));
  while (!existsSync(like)) like = dirname(like);
  const { uid, gid } = statSync(like);
  const isRoot = process.getuid?.() === 0;
  const isNew = mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE }) !== undefined;
  if (isRoot && isNew) chownSync(dirname(file), uid, gid);
  const descriptor = openSync(file, 'a', PRIVATE_FILE_MODE);
  fchmodSync(descriptor, PRIVATE_FILE_MODE);
  if (isRoot) fchownSync(descriptor, uid, gid);
  closeSync(descriptor);
}

/** Syncs a file and renames it into place, so that a power cut leaves either the old file or the new one. */
export function putInPlace(unfinished: string, file: string): void {
  syncToDisk(unfinished);
  renameSync(unfinished, file);
  syncToDisk(dirname(file));
}

/** Syncs a file, or the names in a folder. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
