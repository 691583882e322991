import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Config, DatabaseAddress } from '../config.ts';
import { systemTime, type Time } from '../stdx/time.ts';
import type { Purpose } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { IN_MEMORY } from '../storage/sqlite/disk.ts';
import { type Invocation, tellOfDamage } from './invocation.ts';

const PRIVATE_MODE = 0o600;

/** A command's database, and the time of its service, which is turned if the database was used in rehearsal. */
export interface CommandDatabase extends AsyncDisposable {
  readonly storage: SqlStorage;
  readonly time: Time;
}

/** Opens the database of a command for a purpose. Throws `DatabaseNotOpened`. */
export async function openDatabase(
  { database, categoriesMax, categoriesBytesMax }: Config,
  invocation: Invocation,
  purpose: Purpose,
): Promise<CommandDatabase> {
  const machine = systemTime();
  let time = machine;
  const options = {
    time: { ...machine, now: () => time.now() },
    categoriesMax,
    categoriesBytesMax,
    events: tellOfDamage(invocation),
  };
  const storage = await openStorage(database, options, purpose);
  const turnedBy = await storage.turnedBy();
  if (turnedBy) {
    const { TurnedTime } = await import('../rehearsal/turned-time.ts');
    time = new TurnedTime(machine, turnedBy);
  }
  return { storage, time, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() };
}

/** A running service's operator listener, and the secret that signs logins to it. */
interface NotedOperator {
  readonly url: string;
  readonly loginSecret: string;
}

/**
 * Writes the operator listener's address beside an embedded database until disposed of, so that commands find it: flags
 * and free ports are known to the service alone. After a crash it stays, and the next start replaces it.
 */
export function noteOperator(database: DatabaseAddress, { url, loginSecret }: NotedOperator): Disposable {
  const file = noteOf(database);
  const remove = () => file !== undefined && rmSync(file, { force: true });
  try {
    if (file !== undefined) writeFileSync(file, `${url}\n${loginSecret}\n`, { mode: PRIVATE_MODE });
  } catch {
    // A full disk must not prevent the start; commands then use the settings.
    remove();
  }
  return { [Symbol.dispose]: remove };
}

/** Finds what the running service noted, if it did. */
export function findOperator(database: DatabaseAddress): Partial<NotedOperator> {
  const file = noteOf(database);
  const [url, loginSecret] = file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return { ...(url && { url }), ...(loginSecret && { loginSecret }) };
}

function noteOf(database: DatabaseAddress): string | undefined {
  return database.engine === 'sqlite' && database.file !== IN_MEMORY ? `${database.file}.operator` : undefined;
}
