import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config, DatabaseAddress } from '../config.ts';
import { type Clock, systemClock } from '../stdx/clock.ts';
import { openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { type Invocation, tellOfDamage, UsageError } from './invocation.ts';

const IN_MEMORY = ':memory:';
const PRIVATE_MODE = 0o600;

/** Throws `UsageError` unless the embedded database exists: opening it would create an empty one. */
export function requireDatabase(database: DatabaseAddress): void {
  if (database.engine !== 'sqlite' || database.file === IN_MEMORY || existsSync(database.file)) return;
  throw new UsageError(
    `There is no database ${resolve(database.file)}; run this in the folder of the service, or name its database with DATABASE_URL or --database-url`,
    1,
  );
}

/** A command's database, and the time of its service, which is turned if the database was used in rehearsal. */
export interface CommandDatabase extends AsyncDisposable {
  readonly storage: SqlStorage;
  readonly clock: Clock;
  /** The clock of sessions, login links and tokens, which is never turned. */
  readonly machineClock: Clock;
}

/** Opens the database of a command, and migrates its tables. Throws `DatabaseNotOpened`. */
export async function openDatabase(
  { database, categoriesMax, categoriesBytesMax }: Config,
  invocation: Invocation,
): Promise<CommandDatabase> {
  const machineClock = systemClock();
  let clock = machineClock;
  const options = { clock: () => clock(), categoriesMax, categoriesBytesMax, events: tellOfDamage(invocation) };
  const storage = await openStorage(database, options);
  const turnedBy = await storage.turnedBy();
  if (turnedBy) {
    const { TurnedClock } = await import('../rehearsal/clock.ts');
    clock = new TurnedClock(machineClock, turnedBy).now;
  }
  return { storage, clock, machineClock, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() };
}

/**
 * Writes the operator listener's address beside an embedded database until disposed of, so that commands find it: flags
 * and free ports are known to the service alone. After a crash it stays, and the next start replaces it.
 */
export function noteOperatorUrl(database: DatabaseAddress, url: string): Disposable {
  const file = noteOf(database);
  const remove = () => file !== undefined && rmSync(file, { force: true });
  try {
    if (file !== undefined) writeFileSync(file, `${url}\n`, { mode: PRIVATE_MODE });
  } catch {
    // A full disk must not prevent the start; commands then use the settings.
    remove();
  }
  return { [Symbol.dispose]: remove };
}

/** The operator listener's address that the running service noted, if it did. */
export function findOperatorUrl(database: DatabaseAddress): string | undefined {
  const file = noteOf(database);
  return file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').trim() || undefined : undefined;
}

function noteOf(database: DatabaseAddress): string | undefined {
  return database.engine === 'sqlite' && database.file !== IN_MEMORY ? `${database.file}.operator` : undefined;
}
