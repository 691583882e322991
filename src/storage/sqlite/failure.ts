import { statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Result codes of SQLite (sqlite.org/rescode.html). On a full disk the shared memory of the log fails with IOERR. */
const FULL = 13;
const IOERR = 10;
/** SQLite needs at least the 32 KiB of that memory. */
const FREE_BYTES_MIN = 64 * 1024;

/**
 * Says why a file cannot be used, for operators: SQLite calls a full disk an I/O error, and the system's errors end in
 * the files that the service works with, which the operator did not name.
 */
export function failureOf(file: string, error: unknown): string {
  return isDiskFull(file, error) ? 'its disk is full; make room' : (error as Error).message.replace(/, \w+ '.*$/, '');
}

/** Whether work on a file failed because its disk is full. */
export function isDiskFull(file: string, error: unknown): boolean {
  const { errcode = 0, code } = error as { readonly errcode?: number; readonly code?: string };
  const primary = errcode & 0xff;
  return primary === FULL || code === 'ENOSPC' || (primary === IOERR && freeBytes(file) < FREE_BYTES_MIN);
}

function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(resolve(file)));
  return bavail * bsize;
}
