import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Bill, billOfMaterials } from '../build/bill-of-materials.ts';
import { temporaryFolder } from './kit/folder.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Licences that ask for no more than their notice. Another one is a decision, not an entry in this list. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT'];

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly devOptional?: true;
  readonly link?: true;
  readonly hasInstallScript?: true;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const lockfile: { lockfileVersion: number; packages: Record<string, Locked> } = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
);
const foreign = Object.entries(lockfile.packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);
const production = foreign.filter(([, { dev, devOptional }]) => !dev && !devOptional);
/** Installed where traces are sent. */
const tracing = foreign.filter(([path]) => path.startsWith('node_modules/@opentelemetry/'));

test('every package that runs in production has a licence of the list', () => {
  const others = [...production, ...tracing].filter(([, { license }]) => !license || !ALLOWED.includes(license));
  assert.deepEqual(
    others.map(([path, { license }]) => `${path}: ${license}`),
    [],
  );
});

test('what traces need is optional, and has the one scope by which the executable finds its licences', () => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const names = Object.keys(peerDependencies);
  assert.deepEqual(Object.keys(peerDependenciesMeta), names);
  assert.ok(names.length > 0 && names.every((name) => peerDependenciesMeta[name].optional));
  const needed = [...names, ...tracing.flatMap(([, { dependencies = {} }]) => Object.keys(dependencies))];
  assert.deepEqual(
    needed.filter((name) => !name.startsWith('@opentelemetry/')),
    [],
  );
  assert.match(readFileSync(join(ROOT, 'build/licenses.ts'), 'utf8'), /name\.startsWith\('@opentelemetry\/'\)/);
});

test('the licences in the lockfile match the installed packages', () => {
  const installed = production.filter(([path]) => existsSync(join(ROOT, path, 'package.json')));
  assert.ok(installed.length >= 20 && installed.length < foreign.length, `${installed.length} packages in production`);
  for (const [path, { license, version }] of installed) {
    const own = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
    assert.deepEqual([own.license, own.version], [license, version], path);
  }
});

test('every package is pinned by version and hash, but for binaries that SECURITY.md names, and runs no script', () => {
  const [, line = ''] =
    /\*\*Development tools[^*]*\*\*([^*]*)/.exec(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')) ?? [];
  const named = [...line.matchAll(/`(@[^`]+)`/g)].map(([, name]) => `node_modules/${name}`);
  const hashless = foreign.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path);
  for (const name of named)
    assert.ok(
      hashless.some((path) => path.startsWith(name)),
      `${name} has hashes now`,
    );
  for (const [path, { version, integrity, optional, dev, hasInstallScript }] of foreign) {
    // So that `npm ci --ignore-scripts` misses nothing.
    assert.ok(!hasInstallScript, `${path} wants to run a script when it is installed`);
    assert.match(version ?? '', /^\d+\.\d+\.\d+/, path);
    const isNamed = dev && optional && named.some((name) => path.startsWith(name));
    if (integrity === undefined) assert.ok(isNamed, `${path} has no hash, and SECURITY.md does not say so`);
    else assert.match(integrity, /^sha512-/, path);
  }
});

test('no dependency comes from anywhere but the registry', () => {
  for (const [path, { dependencies = {}, devDependencies = {} }] of Object.entries(lockfile.packages)) {
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
      assert.doesNotMatch(range, /^(git|https?|file|github):|^[\w-]+\/[\w-]+/, `${path} wants ${name} from ${range}`);
  }
});

test('the bill of materials lists every package that runs in production, and is the same in each folder', () => {
  using folder = temporaryFolder();
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(ROOT, file), join(folder.path, file));
  const committed = new Date('2026-11-26T12:00:00+02:00');
  const text = billOfMaterials(folder.path, committed);
  assert.equal(text, billOfMaterials(ROOT, committed));
  const bill: Bill = JSON.parse(text);
  assert.equal(bill.bomFormat, 'CycloneDX');
  assert.equal(bill.metadata.timestamp, '2026-11-26T10:00:00.000Z');
  const listed = new Set(bill.components.map(({ name, version }) => `${name}@${version}`));
  const missing = production
    .filter(([, { optional }]) => !optional)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
    .filter((name) => !listed.has(name));
  assert.deepEqual(missing, []);
  assert.ok(!listed.has(`typescript@${lockfile.packages['node_modules/typescript']?.version}`));
  assert.ok(bill.components.every(({ licenses = [] }) => licenses.length > 0));
});

test('the command refuses every Node.js that `engines` does not allow, in one line', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  assert.equal(engines.node, '^24.21 || >=26');
  const command = join(ROOT, 'bin/pet-catalog.js');
  const started = (version: string) => {
    const pretended = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
    return spawnSync(process.execPath, [`--import=data:text/javascript,${pretended}`, command, 'version'], {
      encoding: 'utf8',
    });
  };
  for (const version of ['24.21.0', '26.0.0', '30.1.0']) assert.equal(started(version).status, 0, version);
  for (const version of ['20.99.0', '24.20.9', '25.99.0']) {
    const { status, stdout, stderr } = started(version);
    assert.deepEqual([status, stdout], [1, ''], version);
    assert.match(stderr, new RegExp(`^pet-catalog needs Node\\.js 24\\.21 .*, and this is ${version}: .*\\n$`));
  }
});
