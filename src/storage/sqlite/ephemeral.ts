import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseAddress } from '../../config.ts';
import { DatabaseNotOpened } from '../engine.ts';
import { claimFile } from './claim.ts';

const PREFIX = 'pet-catalog-ephemeral-';
const NAME = 'pet-catalog.db';
const CLAIMS_MAX = 10;

/** A database that is gone afterwards. */
export interface EphemeralDatabase extends AsyncDisposable {
  readonly database: DatabaseAddress & { readonly engine: 'sqlite' };
}

/**
 * Makes a temporary folder for a database, and claims it for one service until disposed of, which removes the folder.
 * Removes those that killed services left. Throws `DatabaseNotOpened`.
 */
export function claimEphemeral(): EphemeralDatabase {
  removeLeftOver();
  for (let claims = 0; claims < CLAIMS_MAX; claims += 1) {
    const folder = makeFolder();
    const file = join(folder, NAME);
    const claim = claimFile(file);
    const release = async () => {
      rmSync(folder, { recursive: true, force: true });
      claim[Symbol.dispose]();
    };
    // Another start may have taken the folder for one that was left, before it was claimed.
    if (existsSync(`${file}.lock`)) return { database: { engine: 'sqlite', file }, [Symbol.asyncDispose]: release };
    claim[Symbol.dispose]();
  }
  throw new DatabaseNotOpened(`Temporary folders in ${tmpdir()} are removed by others at once; set TMPDIR`);
}

function makeFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), PREFIX));
  } catch (error) {
    const why = `Cannot make a folder in ${tmpdir()}: ${(error as Error).message}; set TMPDIR to a writable place`;
    throw new DatabaseNotOpened(why, { cause: error });
  }
}

/** Removes the folders of this user whose claim is free. */
function removeLeftOver(): void {
  // A place that is not there is reported when the folder is made.
  const names = existsSync(tmpdir()) ? readdirSync(tmpdir()) : [];
  for (const name of names.filter((each) => each.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    try {
      const { uid } = lstatSync(folder);
      if (!lstatSync(folder).isDirectory() || uid !== process.getuid?.()) continue;
      using _claim = claimFile(join(folder, NAME));
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // A service runs there, or another start removes it.
    }
  }
}
