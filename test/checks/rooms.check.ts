import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Imports between the rooms of `src` and between files, and the diagrams of ARCHITECTURE.md that show them. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORT = /^(?:import|export)\s(?:type\s)?(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm;

const production = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
const client = globSync('client/src/**/*.ts', { cwd: ROOT });
const referee = globSync('referee/**/*.ts', { cwd: ROOT }).filter((file) => !file.includes('node_modules'));

/** What each room may import: prefixes of files below src, or packages. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  systemd: ['node:child_process'],
  stdx: ['stdx/', 'node:fs', 'node:net', 'node:path', 'node:timers/promises'],
  catalog: [
    'catalog/',
    'stdx/',
    'typebox',
    'ajv',
    'csv-parse',
    'csv-stringify',
    'node:assert/strict',
    'node:buffer',
    'node:crypto',
    'node:module',
    'node:timers/promises',
    'node:zlib',
  ],
  telemetry: [
    'telemetry/',
    'catalog/',
    'stdx/',
    'pino',
    'prom-client',
    '@opentelemetry/api',
    'node:crypto',
    'node:fs',
    'node:module',
    'node:os',
    'node:timers/promises',
    'node:util',
  ],
  limits: [
    'limits/',
    'catalog/',
    'stdx/',
    'telemetry/',
    'config',
    '@redis/client',
    'node:crypto',
    'node:timers/promises',
  ],
  storage: ['storage/', 'catalog/', 'stdx/', 'telemetry/', 'config', 'shipped', 'sql-template-tag', 'pg', 'node:'],
  http: [
    'http/',
    'catalog/',
    'stdx/',
    'telemetry/',
    'limits/limiter',
    'shipped',
    'typebox',
    'find-my-way',
    'marked',
    'yaml',
    'node:',
  ],
  operator: [
    'operator/',
    'http/',
    'catalog/',
    'stdx/',
    'telemetry/',
    'limits/limiter',
    'commander',
    'typebox',
    'node:',
  ],
  cli: ['', 'node:', 'commander', 'yaml'],
};

/** The few files below src itself. */
const MAY_IMPORT_AT_THE_TOP: Record<string, readonly string[]> = {
  'config.ts': ['catalog/', 'stdx/', 'telemetry/', 'setting-lists', 'node:fs'],
  'env-file.ts': ['config', 'node:buffer', 'node:fs', 'node:util'],
  'follow.ts': ['catalog/', 'stdx/', 'telemetry/', 'limits/limiter', 'http/authenticate'],
  'main.ts': ['', 'node:'],
  'service.ts': [
    'catalog/',
    'stdx/',
    'telemetry/',
    'limits/limiter',
    'limits/open',
    'storage/',
    'http/',
    'operator/',
    'config',
    'follow',
    'version',
    'node:fs',
  ],
  'setting-lists.ts': ['catalog/', 'stdx/'],
  'shipped.ts': ['node:events', 'node:fs', 'node:path', 'node:sea', 'node:url', 'node:worker_threads'],
  'worker.ts': ['config', 'storage/sqlite/page-check', 'node:sqlite', 'node:worker_threads'],
  'version.ts': ['shipped'],
};

test('rooms import only what they may', () => {
  assert.ok(production.flatMap(importsOf).length >= 1_000, 'the import pattern finds nothing');
  const broken = production.flatMap((file) => {
    const inside = relative('src', file);
    const room = inside.includes('/') ? (inside.split('/')[0] ?? '') : '';
    const allowed = room ? MAY_IMPORT[room] : MAY_IMPORT_AT_THE_TOP[inside];
    assert.ok(allowed, `${file} is in no room that has rules`);
    return importsOf(file)
      .filter((imported) => !allowed.some((prefix) => allows(prefix, imported)))
      .map((imported) => `${file} imports ${imported}`);
  });
  assert.deepEqual(broken, []);
});

test('the client imports nothing but itself; the referee nothing of the service and the client, nor they of it', () => {
  assert.ok(client.length >= 5 && referee.length >= 40, `only ${client.length} and ${referee.length} files`);
  const broken = [
    ...client.filter((file) => importsOf(file).some((imported) => !imported.startsWith('src:../client/src/'))),
    ...referee.filter((file) => importsOf(file).some((imported) => /^src:(?!\.\.)|^src:\.\.\/client\//.test(imported))),
    ...production.filter((file) => importsOf(file).some((imported) => /referee/.test(imported))),
  ];
  assert.deepEqual(broken, []);
});

test('inside the operator room the API knows no client, and the clients list and change by its operations alone', () => {
  const operator = production.filter((file) => file.startsWith('src/operator/'));
  const reaches = (from: string, to: RegExp) =>
    operator
      .filter((file) => file.startsWith(`src/operator/${from}/`))
      .flatMap((file) => importsOf(file).map((imported) => `${file} imports ${imported}`))
      .filter((line) => to.test(line));
  assert.ok(reaches('console', /src:operator\/api\//).length >= 20, 'the console calls operations');
  assert.deepEqual(reaches('api', /src:operator\/(console|command)\//), []);
  assert.deepEqual(reaches('command', /src:operator\/(console|session)\/|catalog\/storage/), []);
  // A page by hand may read; a list, a form and a command have no storage.
  const byOperations = ['list-pages', 'form-pages', 'fields', 'key-forms', 'access'].map((name) => `console/${name}`);
  const changes = /\.(insert|update|revoke\w*|rotate|pause|lift|rename|delete|endGraces|impose)\(/;
  for (const file of [...byOperations, 'command/commands', 'command/members'])
    assert.doesNotMatch(read(`src/operator/${file}.ts`), /storage\.\w+\.(list|find|page)\(/, file);
  for (const file of operator.filter((each) => each.startsWith('src/operator/console/')))
    assert.doesNotMatch(read(file), new RegExp(`storage\\.\\w+${changes.source}`), file);
});

test('the arithmetic of the limits knows counts, the plan, moments and durations, and nothing else', () => {
  assert.deepEqual(importsOf('src/limits/window.ts').sort(), [
    'src:catalog/plan.ts',
    'src:catalog/window-counts.ts',
    'src:stdx/duration.ts',
    'src:stdx/time.ts',
  ]);
});

test('a command loads no server: one on settings nothing of HTTP, one of operators no listener and no router', () => {
  const loadedWith = (names: readonly string[]) => {
    const loaded = new Set(['src/main.ts', ...names.map((name) => `src/cli/${name}.ts`)]);
    // A set yields what is added while it is read.
    for (const file of loaded) for (const next of loadedBy(file)) loaded.add(next);
    assert.ok(loaded.size >= 40, `only ${loaded.size} modules`);
    return [...loaded];
  };
  const served = (pattern: RegExp, names: readonly string[]) => loadedWith(names).filter((file) => pattern.test(file));
  // The table that a command prints is the operator's.
  assert.deepEqual(served(/^src\/(http|operator|service\.ts)/, ['database', 'doctor']), [
    'src/operator/command/table.ts',
  ]);
  assert.deepEqual(
    served(/^src\/(service|http\/(app|pages|transport\/(listener|connection)))/, ['operator', 'categories']),
    [],
  );
});

test('the service imports only types from development dependencies', () => {
  const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
  const run = production.flatMap((file) =>
    [...read(file).matchAll(/^import (?!type )[^'"]*['"]([^'"]+)['"]/gm)]
      .filter(([, imported = '']) => Object.keys(devDependencies).some((name) => allows(name, imported)))
      .map(([statement]) => `${file}: ${statement}`),
  );
  assert.deepEqual(run, []);
});

test('no file imports itself by way of others, types included', () => {
  const files = globSync('{src,client/src,referee/src,bench,test,collections}/**/*.ts', { cwd: ROOT });
  const graph = new Map(files.map((file) => [file, importsOf(file).map((path) => posix.join('src', path.slice(4)))]));
  assert.deepEqual(circleIn(graph), []);
  const circle = new Map([
    ['a', ['b']],
    ['b', ['c', 'd']],
    ['c', []],
    ['d', ['b']],
  ]);
  assert.deepEqual(circleIn(circle), ['b', 'd', 'b'], 'it finds one');
});

test('the diagram of the rooms has the imports that rooms may have', () => {
  const [rooms = ''] = diagrams();
  const drawn = [...rooms.matchAll(/^ {2}(\w+) --> (.*)$/gm)].map(([, room, others = '']) => [
    room,
    others.split(' & ').sort(),
  ]);
  const may = Object.entries(MAY_IMPORT).map(([room, prefixes]): [string, string[]] => [
    room,
    Object.keys(MAY_IMPORT)
      .filter((other) => other !== room && prefixes.some((prefix) => prefix.startsWith(`${other}/`)))
      .sort(),
  ]);
  assert.deepEqual(
    drawn,
    may.filter(([, { length }]) => length > 0),
  );
});

test('the diagrams of a create and a revocation name files, and in each of them what is called there', () => {
  const [, ...ways] = diagrams();
  assert.equal(ways.length, 2);
  for (const way of ways) {
    const steps = [...way.matchAll(/\["([\w/.-]+)<br>(\w+)"\]/g)];
    assert.ok(steps.length >= 8, `only ${steps.length} steps`);
    for (const [, file = '', name = ''] of steps) assert.match(read(`src/${file}`), new RegExp(`\\b${name}\\b`), file);
  }
});

/** The diagrams of ARCHITECTURE.md, in their order. */
function diagrams(): string[] {
  return [...read('ARCHITECTURE.md').matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
}

/** The first circle found; empty without one. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const search = (file: string, way: readonly string[]): readonly string[] => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return [];
    const found = (imports.get(file) ?? [])
      .map((next) => search(next, [...way, file]))
      .find(({ length }) => length > 0);
    done.add(file);
    return found ?? [];
  };
  return [...imports.keys()].map((file) => search(file, [])).find(({ length }) => length > 0) ?? [];
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** What a file imports: `src:…` for files of ours, the bare name for packages. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(IMPORT)].map(([, target = '']) => {
    if (!target.startsWith('.')) return target;
    return `src:${posix.relative('src', posix.join(posix.dirname(file), target))}`;
  });
}

/** Files of ours that the start of a file loads: not for types alone, nor by a later `import()`. */
function loadedBy(file: string): string[] {
  return [...read(file).matchAll(/^import (?!type )[^'";]*['"](\.[^'"]+)['"]/gm)].map(([, target = '']) =>
    posix.join(posix.dirname(file), target),
  );
}

/** A prefix allows files of ours by their path, with or without the ending, and packages by name. */
function allows(prefix: string, imported: string): boolean {
  if (imported.startsWith('src:')) {
    if (prefix.endsWith(':') || prefix === '') return prefix === '';
    const file = imported.slice('src:'.length);
    return prefix.endsWith('/') ? file.startsWith(prefix) : file === `${prefix}.ts`;
  }
  if (prefix.endsWith(':')) return imported.startsWith(prefix);
  return imported === prefix || imported.startsWith(`${prefix}/`) ? prefix !== '' : false;
}
