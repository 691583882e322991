import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
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
 * Makes sure that the log and the pages of a database file are sound, and changes neither. Throws `DatabaseNotOpened`.
 */
export function assertSound(file: string): void {
  if (!existsSync(file)) return;
  assertLogSound(file);
  const damage = findPageDamage(file);
  if (damage !== undefined) throw damaged(file, damage);
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

/** Whether a log with something in it stands beside a database file. */
export function hasLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
