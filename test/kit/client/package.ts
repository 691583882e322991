import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CLIENT = join(ROOT, 'client');
/** Commands of the checkout come first; npm finds no registry and writes into the folder of the test. */
const environment = (folder: string) => ({
  PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
  HOME: folder,
  npm_config_cache: join(folder, 'npm-cache'),
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
});

/** Runs a program; resolves with what it printed. Rejects, with all its output, when it fails. */
export async function execute(
  command: string,
  args: readonly string[],
  { cwd, folder, env = {} }: { cwd: string; folder: string; env?: Record<string, string> },
): Promise<string> {
  try {
    const options = { cwd, env: { ...environment(folder), ...env } };
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')} failed: ${stdout}${stderr}`, { cause: error });
  }
}

/** Builds the client into the folder, as it is published. */
export async function buildClient(folder: string): Promise<void> {
  await execute('node', [join(CLIENT, 'build.ts'), folder], { cwd: CLIENT, folder });
}

/** Packs a copy of the client as `npm publish` would; resolves with the path of the tarball. */
export async function packClient(folder: string): Promise<string> {
  const copy = join(folder, 'copy/client');
  mkdirSync(copy, { recursive: true });
  cpSync(join(ROOT, 'tsconfig.json'), join(folder, 'copy/tsconfig.json'));
  for (const entry of readdirSync(CLIENT)) {
    if (entry !== 'dist' && entry !== 'node_modules')
      cpSync(join(CLIENT, entry), join(copy, entry), { recursive: true });
  }
  await execute('npm', ['pack', '--pack-destination', folder], { cwd: copy, folder });
  const tarball = readdirSync(folder).find((file) => file.endsWith('.tgz'));
  if (!tarball) throw new Error('npm pack made no tarball');
  return join(folder, tarball);
}
