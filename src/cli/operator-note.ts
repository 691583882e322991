import { hash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Config, type DatabaseAddress, withoutPassword } from '../config.ts';
import { IN_MEMORY } from '../storage/sqlite/files.ts';

const PRIVATE_MODE = 0o600;
/** The one folder below the working folder that a service writes to as it is installed. */
const DATA_FOLDER = 'data';
const NAME_CHARACTERS = 16;
const CONNECT_MS = 2_000;

/** A running service's operator listener, and the secret with which commands sign their requests to it. */
export interface OperatorNote {
  readonly url: string;
  readonly secret: string;
}

export type Noted = Pick<Config, 'database' | 'operatorPort'>;

/**
 * Writes the note of a running service until disposed of, for its own user alone. After a crash it stays, and the next
 * start replaces it. Throws if it cannot be written.
 */
export function noteOperator(database: DatabaseAddress, { url, secret }: OperatorNote): Disposable {
  if (database.engine === 'sqlite' && database.file === IN_MEMORY) return { [Symbol.dispose]() {} };
  const file = fileOf(database, new URL(url).port);
  const remove = () => rmSync(file, { force: true });
  // Made anew, so that no file of others, and no link, gets the secret.
  remove();
  writeFileSync(file, `${url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')}\n${secret}\n`, {
    mode: PRIVATE_MODE,
    flag: 'wx',
  });
  return { [Symbol.dispose]: remove };
}

/** Finds the service that runs here on the database; of several, that of the operator port which is set, else any. */
export async function findOperator(noted: Noted): Promise<OperatorNote | undefined> {
  for (const note of operatorNotes(noted)) if (await isListening(note.url)) return note;
  return undefined;
}

/** The notes of services on the database, also of those that were killed. */
export function operatorNotes({ database, operatorPort }: Noted): OperatorNote[] {
  const wanted = fileOf(database, `${operatorPort}`);
  const others = database.engine === 'sqlite' ? [] : globSync(fileOf(database, '*'));
  const files = [...new Set([wanted, ...others])].filter((file) => existsSync(file));
  return files.map((file) => {
    const [url = '', secret = ''] = readFileSync(file, 'utf8').split('\n');
    return { url, secret };
  });
}

/** Beside an embedded database; else named after the server and the port, where the service is run. */
function fileOf(database: DatabaseAddress, port: string): string {
  if (database.engine === 'sqlite') return `${database.file}.operator`;
  const name = hash('sha256', withoutPassword(database.url)).slice(0, NAME_CHARACTERS);
  return join(existsSync(DATA_FOLDER) ? DATA_FOLDER : '.', `postgres-${name}-${port}.operator`);
}

/** True if a connection is taken, which the system does for a service however busy it is. */
export async function isListening(address: string): Promise<boolean> {
  const { hostname = '', port } = URL.parse(address) ?? {};
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
  const connected = await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) }).catch(() => undefined);
  socket.destroy();
  return connected !== undefined;
}
