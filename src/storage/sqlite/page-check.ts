import type { DatabaseSync } from 'node:sqlite';
import { startThread } from '../../shipped.ts';

/** The damage that SQLite finds in the pages of a database, read as a whole; undefined for none. */
export function checkPages(database: DatabaseSync): string | undefined {
  const result = `${Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0]}`;
  return result === 'ok' ? undefined : result.replaceAll(/[\s*]+/g, ' ').trim();
}

/** The same in a thread of its own, beside other work. Rejects if the file cannot be read. */
export function checkPagesInThread(file: string): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const thread = startThread('checkPages', file);
  thread.unref();
  thread.on('message', resolve);
  thread.on('error', reject);
  return promise;
}
