import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseNotOpened } from '../engine.ts';
import { sizeOf } from './files.ts';

/** Result codes of SQLite (sqlite.org/rescode.html). On a full disk the shared memory of the log fails with IOERR. */
const FULL = 13;
const IOERR = 10;
const [CORRUPT, NOTADB, SHORT_READ] = [11, 26, 522];
/** SQLite needs at least the 32 KiB of that memory. */
const FREE_BYTES_MIN = 64 * 1024;
const MOUNTS = '/proc/self/mountinfo';

/** The content of a file is damaged. Only this error advises to put a backup in its place. */
export class DatabaseDamaged extends DatabaseNotOpened {
  readonly damage: string;

  constructor(file: string, damage: string) {
    super(`The database ${file} is damaged: ${damage}; put a backup in its place with \`pet-catalog restore BACKUP\``);
    this.damage = damage;
  }
}

/** True if SQLite found that a file is damaged, or that it is no database. */
export function isDamage(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: number };
  return errcode !== undefined && ([CORRUPT, NOTADB].includes(errcode & 0xff) || errcode === SHORT_READ);
}

/** The error that says why a file could not be opened, and what to do; `name` is what the operator calls the file. */
export function notOpened(file: string, error: unknown, name = file): DatabaseNotOpened {
  if (error instanceof DatabaseNotOpened) return error;
  if (isDamage(error)) return new DatabaseDamaged(name, (error as Error).message);
  const mount = findReadOnlyMount(file);
  const why = mount
    ? `${mount.finding}: ${mount.advice}`
    : `Cannot open the database ${name}: ${failureOf(file, error)}`;
  return new DatabaseNotOpened(why, { cause: error });
}

/**
 * Says why a file cannot be used, for operators: SQLite calls a full disk an I/O error, tells nothing of what keeps it
 * from opening a file, and the system's errors end in the files that the service works with, which the operator did not
 * name.
 */
export function failureOf(file: string, error: unknown): string {
  if (isDiskFull(file, error)) return 'its disk is full; make room';
  const obstacle = findObstacle(file);
  return obstacle ? `${obstacle.finding}: ${obstacle.advice}` : (error as Error).message.replace(/, \w+ '.*$/, '');
}

/** True if work on a file failed because its disk is full. */
function isDiskFull(file: string, error: unknown): boolean {
  const { errcode = 0, code } = error as { readonly errcode?: number; readonly code?: string };
  const primary = errcode & 0xff;
  return primary === FULL || code === 'ENOSPC' || (primary === IOERR && sizeOf(file).diskFreeBytes < FREE_BYTES_MIN);
}

/** The reason why a database cannot be opened, though nothing is known to be damaged, and what to do about it. */
export interface Obstacle {
  readonly finding: string;
  readonly advice: string;
}

/** The reason that keeps this process from writing to a database file, its log, its lock or their folder. */
export function findObstacle(file: string): Obstacle | undefined {
  try {
    closeSync(openSync(process.execPath, 'r'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EMFILE' || code === 'ENFILE') {
      return { finding: 'too many files are open', advice: 'raise the limit of the process (ulimit -n)' };
    }
  }
  for (const path of [dirname(resolve(file)), file, `${file}-wal`, `${file}-shm`, `${file}.lock`]) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EACCES' || code === 'EPERM') return denied(path);
    }
  }
  return undefined;
}

/** The finding that a database file is itself a mount point: its log and lock would lie in another folder. */
export function findFileMount(file: string): Obstacle | undefined {
  const path = resolve(file);
  const mounts = existsSync(MOUNTS) ? readFileSync(MOUNTS, 'utf8') : '';
  // Fields are separated by blanks; blanks in a path are octal (proc_pid_mountinfo(5)).
  const points = mounts
    .split('\n')
    .map((line) =>
      line.split(' ')[4]?.replaceAll(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8))),
    );
  if (!points.includes(path)) return undefined;
  return {
    finding: `The file of the database ${path} is itself a mount point, so that its log would be lost beside it`,
    advice: `mount its folder ${dirname(path)} instead`,
  };
}

/** Which file beside a database its owner could not write to, as one that root made: root itself may write to all. */
export function findOtherOwner(file: string): Obstacle | undefined {
  const { uid: owner } = statSync(file);
  for (const path of [file, `${file}-wal`, `${file}-shm`, `${file}.lock`]) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats || (stats.uid === owner && (stats.mode & constants.S_IWUSR) !== 0)) continue;
    const finding = `The owner of the database ${file} (uid ${owner}) may not write to ${path} (uid ${stats.uid}, mode ${(stats.mode & 0o777).toString(8)})`;
    return { finding, advice: `run \`chown ${owner} ${path} && chmod u+rw ${path}\`` };
  }
  return undefined;
}

function denied(path: string): Obstacle {
  let owner = '';
  try {
    const { uid, mode } = statSync(path);
    owner = `, which belongs to uid ${uid} and has mode ${(mode & 0o777).toString(8)}`;
  } catch {
    // What is above it may not be looked at either.
  }
  const finding = `uid ${process.getuid?.()} has no permission for ${path}${owner}`;
  return { finding, advice: 'run this as the user of the service, or give that user the file (chown)' };
}

/**
 * True if the file system is mounted read-only, as the system itself does after an error of the disk. Nothing is known
 * to be damaged then, and a backup could not be put there.
 */
export function findReadOnlyMount(file: string): Obstacle | undefined {
  let folder = dirname(resolve(file));
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EROFS') {
      return {
        finding: `The file system of the database ${file} is mounted read-only`,
        advice: "find the reason in the system's log (dmesg), and mount it for writing again",
      };
    }
  }
  return undefined;
}
