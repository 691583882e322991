import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseNotOpened } from '../engine.ts';
import { claimFile } from './claim.ts';

const PREFIX = 'pet-catalog-ephemeral-';

/**
 * Makes a temporary folder for a database, and claims it for one service until disposed of, which removes the folder.
 * The system removes what a killed one left. Throws `DatabaseNotOpened`.
 */
export function claimEphemeral() {
  const folder = makeFolder();
  const file = join(folder, 'pet-catalog.db');
  const claim = claimFile(file);
  const release = async () => {
    rmSync(folder, { recursive: true, force: true });
    claim[Symbol.dispose]();
  };
  const database = { engine: 'sqlite', file } as const;
  return { database, [Symbol.asyncDispose]: release };
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), PREFIX));
  } catch (error) {
    const why = `Cannot make a folder in ${tmpdir()}: ${(error as Error).message}; set TMPDIR to a writable place`;
    throw new DatabaseNotOpened(why, { cause: error });
  }
}
