import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Client from '../../client/src/pet-catalog.ts';
import { VERSIONS } from '../kit/releases/database.ts';

/** Programs of other releases than the one that is checked out. Each runs as a process of its own. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COMMAND = 'bin/pet-catalog.js';

export interface Program {
  readonly version: string;
  /** The words that its command line begins with. */
  readonly command: readonly [node: string, script: string];
}

/** What is checked out. */
export function presentRelease(): Program {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return { version, command: [process.execPath, join(ROOT, COMMAND)] };
}

/**
 * The newest release in `test/releases/`, from the package that was published. What it depends on is linked from the
 * checkout; fails where that has it no more.
 */
export function releaseBefore(folder: string): Program {
  const { version, path } = unpackedBefore(folder, 'pet-catalog');
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  for (const dependency of Object.keys(manifest.dependencies)) {
    const isHere = existsSync(join(ROOT, 'node_modules', dependency));
    assert.ok(isHere, `${version} needs ${dependency}, which is not installed here`);
  }
  return { version, command: [process.execPath, join(path, COMMAND)] };
}

/** The client of the newest release in `test/releases/`, as far as the present one has its exports. */
export async function clientBefore(folder: string): Promise<{ version: string; client: typeof Client }> {
  const { version, path } = unpackedBefore(folder, 'pet-catalog-client');
  return { version, client: await import(join(path, 'dist/pet-catalog.js')) };
}

/** Unpacks a package of the newest release in `test/releases/` that has its digest. */
function unpackedBefore(folder: string, packed: string): { version: string; path: string } {
  const version = VERSIONS.at(-1) ?? '';
  const place = mkdtempSync(join(folder, 'before-'));
  const kept = join(ROOT, 'test/releases', version);
  const name = `${packed}-${version}.tgz`;
  const digest = createHash('sha256')
    .update(readFileSync(join(kept, name)))
    .digest('hex');
  assert.ok(readFileSync(join(kept, 'SHA256SUMS'), 'utf8').includes(`${digest}  ${name}\n`), name);
  const { status, stderr } = spawnSync('tar', ['-xzf', join(kept, name), '-C', place], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const path = join(place, 'package');
  assert.equal(JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version, version);
  return { version, path };
}
