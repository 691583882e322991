import { readFileSync } from 'node:fs';
import { getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

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

/** The address by which a thread imports a separate entry module. */
export function shippedModule(path: string, url: string): string {
  return isSea() ? `data:text/javascript;base64,${shippedFile(path).toString('base64')}` : url;
}
