#!/usr/bin/env node
// Plain JavaScript that every Node parses, so that an outdated one can report itself.
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

// As in `engines`: the first releases of Node.js 25 have an SQLite that two writers can corrupt, and 25 has ended.
if (major < 26 && (major !== 24 || minor < 21)) {
  process.stderr.write(
    `pet-catalog needs Node.js 24.21 or later, but not 25, and this is ${process.versions.node}: run \`npm ci\` in a checkout, which installs its own, or install another Node.js.\n`,
  );
  process.exitCode = 1;
} else {
  // Cached compiled code makes later starts a third faster.
  const folder = cacheFolder();
  if (folder !== undefined) module.enableCompileCache(folder);
  const source = new URL('../src/main.ts', import.meta.url);
  await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
}

/**
 * The folder for compiled code: `pet-catalog` in `$XDG_CACHE_HOME`, or in `~/.cache`. What lies there is executed, so
 * it must belong to the user alone, and no other user may be able to put another in its place. Undefined if there is
 * no such folder: the service then compiles at every start.
 */
function cacheFolder() {
  // Windows has neither owners nor modes to look at.
  const user = process.getuid ? process.getuid() : undefined;
  if (user === undefined) return undefined;
  try {
    const wished = process.env.XDG_CACHE_HOME || '';
    const caches = isAbsolute(wished) ? wished : join(homedir(), '.cache');
    mkdirSync(caches, { recursive: true, mode: 0o700 });
    const folder = join(realpathSync(caches), 'pet-catalog');
    for (let above = dirname(folder); ; above = dirname(above)) {
      const { uid, mode } = lstatSync(above);
      // In a sticky folder, such as /tmp, only its owner may rename or remove an entry.
      const isOthers = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
      if ((uid !== user && uid !== 0) || isOthers) return undefined;
      if (above === dirname(above)) break;
    }
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    const found = lstatSync(folder);
    const isOwn = found.isDirectory() && found.uid === user && (found.mode & 0o077) === 0;
    return isOwn ? folder : undefined;
  } catch {
    // A home that cannot be written to, as containers have.
    return undefined;
  }
}
