import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** The files that ship with the program: beside its modules, or as assets within the executable. */

/** Starts the program again: the executable alone, or Node.js with the command. */
export const OWN_COMMAND: readonly [program: string, ...args: string[]] = isSea()
  ? [process.execPath]
  : [process.execPath, fileURLToPath(new URL('../bin/pet-catalog.js', import.meta.url))];

/** Reads a shipped file by its path from `src`. Throws if it is missing. */
export function shippedFile(path: string): Buffer {
  // Its bytes are the executable's own, which are never written to.
  return isSea() ? Buffer.from(getRawAsset(path)) : readFileSync(new URL(path, import.meta.url));
}

/**
 * Runs a job of `worker.ts` in a thread of its own, which keeps no process alive, and gives its result. Rejects with
 * what the job throws.
 */
export async function runInThread<Result>(job: string, input: unknown): Promise<Result> {
  const name = `worker${extname(import.meta.url)}`;
  const url = isSea()
    ? new URL(`data:text/javascript;base64,${shippedFile('worker.js').toString('base64')}`)
    : new URL(name, import.meta.url);
  await using thread = new Worker(url, { workerData: { job, input } });
  thread.unref();
  const ended = once(thread, 'exit').then(() => Promise.reject(new Error(`The thread of ${job} broke off`)));
  const [result] = await Promise.race([once(thread, 'message'), ended]);
  return result;
}
