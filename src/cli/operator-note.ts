import { hash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DatabaseAddress, withoutPassword } from '../config.ts';
import { IN_MEMORY } from '../storage/sqlite/files.ts';

const PRIVATE_MODE = 0o600;
/** The one folder below the working folder that a service writes to as it is installed. */
const DATA_FOLDER = 'data';
const NAME_CHARACTERS = 16;

/** A running service's operator listener, and the secret that signs logins to it. */
interface NotedOperator {
  readonly url: string;
  readonly loginSecret: string;
}

/**
 * Writes the operator listener's address and the secret to a file until disposed of, so that commands find it: flags
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

/** Beside an embedded database; for a server, named after it, where commands are run. */
function noteOf(database: DatabaseAddress): string | undefined {
  if (database.engine === 'sqlite') return database.file === IN_MEMORY ? undefined : `${database.file}.operator`;
  const name = hash('sha256', withoutPassword(database.url)).slice(0, NAME_CHARACTERS);
  return join(existsSync(DATA_FOLDER) ? DATA_FOLDER : '.', `postgres-${name}.operator`);
}
