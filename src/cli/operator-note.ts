import { hash } from 'node:crypto';
import {
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type DatabaseAddress, withoutPassword } from '../config.ts';
import { LOCK_BYTES } from '../storage/sqlite/claim.ts';
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
 * Notes the operator listener's address and the secret until disposed of, so that commands find them: flags and free
 * ports are known to the service alone. After a crash the note stays, and the next start replaces it.
 */
export function noteOperator(database: DatabaseAddress, { url, loginSecret }: NotedOperator): Disposable {
  const text = `${url}\n${loginSecret}\n`;
  try {
    return database.engine === 'sqlite' ? noteInLock(database.file, text) : noteInFile(noteOf(database.url), text);
  } catch {
    // A full disk must not prevent the start; commands then use the settings.
    return { [Symbol.dispose]() {} };
  }
}

/** Writes behind the lock of an embedded database, which this process holds. */
function noteInLock(file: string, text: string): Disposable {
  if (file === IN_MEMORY) return { [Symbol.dispose]() {} };
  // It stays open: a close would end the claim, which is a lock of this process on the file (fcntl(2)).
  const lock = openSync(`${file}.lock`, 'r+');
  const remove = () => ftruncateSync(lock, Math.min(fstatSync(lock).size, LOCK_BYTES));
  remove();
  if (fstatSync(lock).size === LOCK_BYTES) writeSync(lock, text, LOCK_BYTES);
  return { [Symbol.dispose]: remove };
}

function noteInFile(file: string, text: string): Disposable {
  const remove = () => rmSync(file, { force: true });
  try {
    writeFileSync(file, text, { mode: PRIVATE_MODE });
  } catch (error) {
    remove();
    throw error;
  }
  return { [Symbol.dispose]: remove };
}

/** Finds what the running service noted, if it did. */
export function findOperator(database: DatabaseAddress): Partial<NotedOperator> {
  const file = database.engine === 'sqlite' ? `${database.file}.lock` : noteOf(database.url);
  if (!existsSync(file)) return {};
  const [url, loginSecret] = readFileSync(file)
    .subarray(database.engine === 'sqlite' ? LOCK_BYTES : 0)
    .toString()
    .split('\n');
  return { ...(url && { url }), ...(loginSecret && { loginSecret }) };
}

/** The note on a server, named after it, where commands are run. */
function noteOf(url: string): string {
  const name = hash('sha256', withoutPassword(url)).slice(0, NAME_CHARACTERS);
  return join(existsSync(DATA_FOLDER) ? DATA_FOLDER : '.', `postgres-${name}.operator`);
}
