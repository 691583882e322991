import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { context } from '../kit/deploy/host.ts';
import type { RunOptions } from '../kit/process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKED = ['package.json', 'README.md', 'LICENSE', 'openapi.json', 'bin', 'src', 'client', 'runtime'];
const BUILT_BY = [
  'tsconfig.json',
  'tsconfig.build.json',
  'build/copy-assets.ts',
  'build/licenses.ts',
  'package-lock.json',
];
const QUIET = { npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false', npm_config_loglevel: 'error' };

/** A folder in which both packages are installed, as they are published. */
export interface Installation {
  readonly path: string;
  /** What runs the installed command line under a Node.js, in a new folder below the installation. */
  under(node: string): Required<RunOptions>;
  /** Runs a program there. Throws, with all its output, when it fails. */
  run(program: string, args: readonly string[]): string;
}

/** Packs service and client, and installs them from the registry in an empty folder below another one. */
export function installPackages(folder: string): Installation {
  const [checkout, path] = [join(folder, 'checkout'), join(folder, 'installation')];
  for (const file of [...PACKED, ...BUILT_BY]) cpSync(join(ROOT, file), join(checkout, file), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  mkdirSync(path);
  writeFileSync(join(path, 'package.json'), '{"private":true,"type":"module"}');
  const env = (node: string) => ({ ...context(), ...QUIET, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` });
  const runIn = (cwd: string, program: string, args: readonly string[]) =>
    execFileSync(program, args, { cwd, env: env(process.execPath), encoding: 'utf8' }).trim();
  const pack = (...more: string[]) =>
    runIn(checkout, 'npm', ['pack', '--silent', '--pack-destination', folder, ...more]);
  const packages = [pack().split('\n').at(-1), pack('--workspace', 'client').split('\n').at(-1)];
  runIn(path, 'npm', ['install', '--omit=dev', ...packages.map((file) => join(folder, `${file}`))]);
  return {
    path,
    under: (node) => ({
      cwd: mkdtempSync(join(path, 'data-')),
      env: env(node),
      command: [node, join(path, 'node_modules/pet-catalog/bin/pet-catalog.js')],
    }),
    run: (program, args) => runIn(path, program, args),
  };
}

/** Installs a version of Node.js from the registry below a folder, and returns its program. */
export function installNode(folder: string, version: string): string {
  const path = join(folder, `node-${version}`);
  mkdirSync(path);
  writeFileSync(join(path, 'package.json'), '{"private":true}');
  const name = `node-${process.platform}-${process.arch}`;
  const args = ['install', '--ignore-scripts', `${name}@${version}`];
  execFileSync('npm', args, { cwd: path, env: { ...context(), ...QUIET }, stdio: 'pipe' });
  return join(path, 'node_modules', name, 'bin/node');
}
