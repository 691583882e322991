import { open, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

/** About what SQLite itself lets the log grow to before a commit checkpoints it. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** A text instead of a file, so that the packed service needs no second entry. */
const CHECKPOINT = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(require('node:worker_threads').workerData);
  database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  database.close();
`;

/**
 * Writes the log of a database to the disk without holding up the event loop, if it is large, so that the commit that
 * follows has little left to write. Returns whether it is.
 */
export async function syncLargeLog(databaseFile: string): Promise<boolean> {
  const file = `${databaseFile}-wal`;
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size < LARGE_BYTES) return false;
  await using log = await open(file, 'r+');
  await log.datasync();
  return true;
}

/** Checkpoints a database in a thread of its own. A failure is left to the next checkpoint. */
export function checkpointInThread(databaseFile: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const thread = new Worker(CHECKPOINT, { eval: true, workerData: databaseFile });
  thread.on('error', () => {});
  thread.on('exit', () => resolve());
  return promise;
}
