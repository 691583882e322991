import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Builds dist/, or the folder that is named: the declarations with their comments, and the modules joined to one file, without comments and
 * indentation. So a browser fetches one file, and what is shipped is as small as can be without changing a name.
 */

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DIST = process.argv[2] ?? join(HERE, 'dist');
const ENTRY = 'pet-catalog.js';
const IMPORT = /^import .* from '\.\/(.+)';\n/gm;

const modules = mkdtempSync(join(tmpdir(), 'pet-catalog-client-'));
try {
  rmSync(DIST, { recursive: true, force: true });
  compile('--declaration', '--emitDeclarationOnly', '--outDir', DIST);
  for (const file of readdirSync(DIST)) {
    const declarations = readFileSync(join(DIST, file), 'utf8');
    writeFileSync(join(DIST, file), declarations.replace(/( from '\.\/.*)\.ts';$/gm, "$1.js';"));
  }
  compile('--removeComments', '--outDir', modules);
  writeFileSync(join(DIST, ENTRY), joined());
} finally {
  rmSync(modules, { recursive: true, force: true });
}

function compile(...args: string[]): void {
  execFileSync('tsc', ['-p', HERE, ...args], { stdio: 'inherit' });
}

/** Each module after those that it imports; only the entry exports. A name that two of them declare is a syntax error. */
function joined(): string {
  const order = new Set<string>();
  const visit = (module: string) => {
    for (const [, imported = ''] of read(module).matchAll(IMPORT)) visit(imported);
    order.add(module);
  };
  visit(ENTRY);
  const code = [...order].map((module) => {
    const own = read(module).replace(IMPORT, '');
    return module === ENTRY ? own.replace(/^(export \{.*\}) from .*;$/gm, '$1;') : own.replace(/^export /gm, '');
  });
  return code.join('').replace(/^ +/gm, '');
}

function read(module: string): string {
  return readFileSync(join(modules, module), 'utf8');
}
