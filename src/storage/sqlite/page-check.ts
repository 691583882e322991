import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** A text instead of a file, so that the packed service needs no second entry. */
const CHECK = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData } = require('node:worker_threads');
  const database = new DatabaseSync(workerData, { readOnly: true });
  try {
    parentPort.postMessage(Object.values(database.prepare('PRAGMA quick_check(1)').get())[0]);
  } finally {
    database.close();
  }
`;

/** The damage that SQLite finds in the pages of a database, read as a whole; undefined for none. */
export function checkPages(database: DatabaseSync): string | undefined {
  return damageIn(`${Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0]}`);
}

/** The same in a thread of its own, beside other work. Rejects if the file cannot be read. */
export function checkPagesInThread(file: string): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const thread = new Worker(CHECK, { eval: true, workerData: file });
  thread.unref();
  thread.on('message', (result: string) => resolve(damageIn(result)));
  thread.on('error', reject);
  return promise;
}

function damageIn(result: string): string | undefined {
  return result === 'ok' ? undefined : result.replaceAll(/[\s*]+/g, ' ').trim();
}
