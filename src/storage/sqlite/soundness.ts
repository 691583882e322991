import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { CHECKED_TABLES, isIntact, nameOf } from '../sql/checksum.ts';
import { inspectLog } from './wal.ts';

/**
 * Makes sure that SQLite loses nothing by opening a database file: it would drop what is behind damage in the log.
 * Reads the log and touches nothing. Throws `DatabaseNotOpened`.
 */
export function assertLogSound(file: string): void {
  const { damage } = inspectLog(file);
  if (damage !== undefined) throw damaged(file, damage);
}

/**
 * Makes sure that the log and the pages of a database file are sound, and changes neither. Throws `DatabaseNotOpened`,
 * which calls the file by a name that the operator knows.
 */
export function assertSound(file: string, name = file): void {
  const damage = findDamage(file);
  if (damage !== undefined) throw damaged(name, damage);
}

/** What is wrong with the log or the pages of a file, if it is there. */
export function findDamage(file: string): string | undefined {
  return existsSync(file) ? (inspectLog(file).damage ?? findPageDamage(file)) : undefined;
}

function damaged(file: string, damage: string): DatabaseNotOpened {
  return new DatabaseNotOpened(
    `The database ${file} is damaged: ${damage}; see what it still holds with \`pet-catalog doctor --repair\`, or put a backup in its place with \`pet-catalog restore BACKUP\``,
  );
}

/**
 * What SQLite finds wrong with the pages of a file. A file without a log is opened for writing, which leaves nothing.
 */
export function findPageDamage(file: string): string | undefined {
  try {
    // Closing would move the log into the file, on top of the damage; and reading alone would leave an empty log
    // behind.
    using database = new DatabaseSync(file, { timeout: 0, readOnly: hasLog(file) });
    const result = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
    return result === 'ok'
      ? undefined
      : String(result)
          .replaceAll(/[\s*]+/g, ' ')
          .trim();
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * The rows that are not as they were written, each by its table and id. Reads every row of the tables with checksums.
 */
export function findDamagedRows(database: DatabaseSync): string[] {
  const damaged: string[] = [];
  for (const table of CHECKED_TABLES) {
    const hasChecksums = database.prepare(`SELECT 1 FROM pragma_table_info(?) WHERE name = 'checksum'`).get(table);
    if (!hasChecksums) continue;
    const every = database.prepare(`SELECT * FROM ${table}`);
    // A number that is damaged may be greater than one of JavaScript's.
    every.setReadBigInts(true);
    for (const row of every.iterate()) {
      const checksum = row.checksum === null ? null : Number(row.checksum);
      if (!isIntact(table, { ...row, checksum })) damaged.push(`${table} ${nameOf(table, row)}`);
    }
  }
  return damaged;
}

/** Whether a database file has a log that is not empty. */
export function hasLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** What is wrong with where the database is, and what to do about it. */
export interface ReadOnlyMount {
  readonly finding: string;
  readonly advice: string;
}

/**
 * Whether the file system is mounted read-only, as the system itself does after an error of the disk. Nothing is known
 * to be damaged then, and a backup could not be put there.
 */
export function findReadOnlyMount(file: string): ReadOnlyMount | undefined {
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

/** Throws the `DatabaseNotOpened` that says so if the file system is mounted read-only. */
export function assertMountedForWriting(file: string): void {
  const mount = findReadOnlyMount(file);
  if (mount) throw new DatabaseNotOpened(`${mount.finding}: ${mount.advice}`);
}
