import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestService } from '../../kit/service.ts';

export const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url));
export const CONTRACT = join(CHECKOUT, 'openapi.json');
/** One run of one tester. */
const RUN_MS_MAX = 150_000;

/** A tester of APIs, and how to run it. */
export interface Tester {
  readonly name: string;
  /** What npm installs; the first one has the version. None for what the checkout has. */
  readonly packages: readonly string[];
  /** Programs that it needs besides. */
  readonly programs?: readonly string[];
  /** How it is run, for the page. */
  readonly command: string;
  /** How many services it can test at once without slowing itself down. */
  readonly atOnce?: number;
  /** Tests a service, and returns what it reports, without anything that differs from run to run. */
  run(target: Target): Promise<readonly string[]>;
}

/** A service to test. */
export interface Target {
  readonly service: TestService;
  /** A valid key of the business plan. */
  readonly key: string;
  /** Where npm installed. */
  readonly installed: string;
  /** An empty folder for this run. */
  readonly folder: string;
}

export interface Tool {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts an installed command with the Node.js of this process; `end` ends all that it started. */
export function startTool(
  { installed, folder }: Pick<Target, 'installed' | 'folder'>,
  { name, args, env = {} }: Tool,
  output: 'pipe' | number = 'pipe',
) {
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  const tool = spawn(join(installed, 'node_modules/.bin', name), args, {
    cwd: folder,
    env: { ...process.env, PATH: path, NO_COLOR: '1', ...env },
    stdio: ['ignore', output, output === 'pipe' ? 'ignore' : output],
    detached: true,
  });
  const exited = once(tool, 'exit');
  const end = async () => {
    try {
      if (tool.pid !== undefined) process.kill(-tool.pid, 'SIGKILL');
    } catch {
      // All of the group have ended.
    }
    await exited;
  };
  return { output: tool.stdout, exited, end };
}

/** Runs an installed command to its end, and returns all that it printed, without colours. Rejects if it takes long. */
export async function runTool(target: Pick<Target, 'installed' | 'folder'>, tool: Tool): Promise<string> {
  const file = join(target.folder, `${tool.name}.txt`);
  // A file and no pipe: some exit before a pipe has taken all that they print.
  const output = openSync(file, 'w');
  const running = startTool(target, tool, output);
  closeSync(output);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void running.end();
  }, RUN_MS_MAX);
  await running.exited.finally(() => clearTimeout(timer));
  if (isLate) throw new Error(`${tool.name} did not end within ${RUN_MS_MAX / 1_000} s`);
  await running.end();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: some colour whatever they are told
  return readFileSync(file, 'utf8').replaceAll(/\x1b\[[0-9;]*m/g, '');
}
