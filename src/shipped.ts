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

/** Starts a thread on a job of `worker.ts`, which posts its result. */
export function startThread(job: string, input: unknown): Worker {
  const name = `worker${extname(import.meta.url)}`;
  const url = isSea()
    ? new URL(`data:text/javascript;base64,${shippedFile('worker.js').toString('base64')}`)
    : new URL(name, import.meta.url);
  return new Worker(url, { workerData: { job, input } });
}
