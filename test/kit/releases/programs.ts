import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute } from '../client/package.ts';
import { contextFiles, linkInstalled } from '../deploy/containerfile.ts';
import { VERSIONS } from './database.ts';

/** Programs of other releases than the one that is checked out. Each runs as a process of its own. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMMAND = 'bin/pet-catalog.js';
/** Where the list of migrations ends. */
const LAST_MIGRATION = /\n\};\n\n(?=\/\*\* The names under which)/;

export interface Program {
  readonly version: string;
  /** The words that its command line begins with. */
  readonly command: readonly [node: string, script: string];
}

/** A migration of a later release. */
export interface TestMigration {
  readonly name: string;
  readonly statements: readonly string[];
}

/** A later release: the present code, which has more migrations. */
export function laterRelease(folder: string, version: string, migrations: readonly TestMigration[]): Program {
  const place = mkdtempSync(join(folder, 'later-'));
  for (const name of ['bin', 'src']) cpSync(join(ROOT, name), join(place, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(place, 'package.json'), JSON.stringify({ ...manifest, version }));
  const file = join(place, 'src/storage/migrate.ts');
  const code = readFileSync(file, 'utf8');
  assert.match(code, LAST_MIGRATION);
  const added = migrations.map(({ name, statements }) => {
    const runs = statements.map((statement) => `await db.run(sql([${JSON.stringify(statement)}]));`);
    return `'${name}': async () => async (db) => { ${runs.join(' ')} },`;
  });
  writeFileSync(
    file,
    code.replace(LAST_MIGRATION, (end) => `\n${added.join('\n')}${end}`),
  );
  return { version, command: [process.execPath, join(place, COMMAND)] };
}

/**
 * The release before, packed as it is published; what it depends on is linked from the checkout. It is the newest of
 * `test/releases/` that has a tag, or what is checked out until there is one.
 */
export async function releaseBefore(folder: string): Promise<Program> {
  const place = mkdtempSync(join(folder, 'before-'));
  const [checkout, installed] = [join(place, 'checkout'), join(place, 'installed')];
  for (const name of [checkout, installed]) mkdirSync(name);
  const git = (...args: string[]) => spawnSync('git', args, { cwd: ROOT, maxBuffer: 100_000_000 });
  const tags = git('tag', '--list').stdout?.toString().split('\n') ?? [];
  const tag = VERSIONS.map((version) => `v${version}`).findLast((name) => tags.includes(name));
  if (tag) {
    const { status, stdout } = git('archive', tag);
    assert.equal(status, 0, `git archive ${tag}`);
    assert.equal(spawnSync('tar', ['-x', '-C', checkout], { input: stdout }).status, 0);
  } else {
    for (const file of contextFiles(ROOT, readFileSync(join(ROOT, 'deploy/Containerfile.dockerignore'), 'utf8'))) {
      mkdirSync(dirname(join(checkout, file)), { recursive: true });
      cpSync(join(ROOT, file), join(checkout, file));
    }
  }
  linkInstalled(ROOT, checkout);
  const packed = await execute('npm', ['pack', '--silent', '--pack-destination', place], { cwd: checkout, folder });
  await execute('tar', ['-xzf', join(place, packed.trim().split('\n').at(-1) ?? ''), '-C', installed], {
    cwd: place,
    folder,
  });
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  const { version } = JSON.parse(readFileSync(join(installed, 'package/package.json'), 'utf8'));
  return { version, command: [process.execPath, join(installed, 'package', COMMAND)] };
}
