import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
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

/**
 * Copies what the client needs of a fresh checkout, after its `npm ci`: nothing is built yet. Resolves with the path.
 */
export function copyCheckout(folder: string): string {
  const checkout = join(folder, 'pet-catalog');
  const modules = join(checkout, 'node_modules');
  mkdirSync(join(modules, '@pet-catalog'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/.bin'), join(modules, '.bin'));
  symlinkSync('../../client', join(modules, '@pet-catalog/client'));
  for (const file of ['package.json', 'tsconfig.json', 'runtime']) {
    cpSync(join(ROOT, file), join(checkout, file), { recursive: true });
  }
  const isSource = (path: string) => !/[/\\]client[/\\](dist|node_modules)$/.test(path);
  cpSync(CLIENT, join(checkout, 'client'), { recursive: true, filter: isSource });
  return checkout;
}
