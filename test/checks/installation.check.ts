import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The block size of a file system that rounds each file up to it. */
const BLOCK_BYTES = 4096;
/** A tenth above the size of all packages that every installation has. */
const INSTALLED_MEBIBYTES_MAX = 34;

interface Locked {
  readonly dev?: true;
  readonly optional?: true;
  readonly devOptional?: true;
  readonly link?: true;
}

test('what an installation brings takes no more of the disk than it did', () => {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
  );
  const production = Object.entries(packages).filter(
    ([path, { dev, devOptional, link }]) => path.includes('node_modules/') && !dev && !devOptional && !link,
  );
  // The Node.js of the checkout is optional, and not in the package.
  const folders = production.flatMap(([path, { optional }]) => (optional ? [] : join(ROOT, path)));
  assert.ok(folders.length >= 20);
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
  );
  const blocks = files.map(({ parentPath, name }) => Math.ceil(statSync(join(parentPath, name)).size / BLOCK_BYTES));
  const mebibytes = (blocks.reduce((sum, some) => sum + some, 0) * BLOCK_BYTES) / 1024 ** 2;
  assert.ok(mebibytes <= INSTALLED_MEBIBYTES_MAX, `${mebibytes.toFixed(1)} MiB`);
});
