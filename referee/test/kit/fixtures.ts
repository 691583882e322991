import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Invocation } from '../../src/cli/invocation.ts';
import { runCommand } from '../../src/cli/program.ts';

/** Far above any promise: it ends a test that hangs, and times nothing. */
const UNTIL_MS_MAX = 30_000;
export const COMMAND = fileURLToPath(new URL('../../bin/api-referee.js', import.meta.url));

/** What each command and API of a test has; to compile a program again takes half of the time that it runs. */
export const ENV = {
  PATH: process.env.PATH ?? '',
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../node_modules/.cache/programs', import.meta.url)),
};

/** A folder that is removed with the test. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'referee-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Polls until the condition holds, however busy the machine is. */
export async function untilTrue(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    assert.ok(performance.now() - startedMs < UNTIL_MS_MAX, `this did not come true within 30 s: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** True while a process runs; one that has ended may still be listed until it is waited for. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Why tests that need programs are skipped, or false; on CI a missing one is a failure instead. */
export function missingPrograms(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  if (missing.length === 0) return false;
  assert.notEqual(process.env.CI, 'true', `${missing} is not installed, and CI=true forbids leaving tests out`);
  return `${missing} is not installed: these tests are left out`;
}

/** Runs the command line to its end, as a process of its own. */
export async function runReferee(args: readonly string[], { cwd = tmpdir(), env = {} } = {}) {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd,
    env: { ...ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

/** Runs a program of a folder to its end; a test runner that finds itself in another one's environment reports to that. */
export async function runIn(cwd: string, [program = '', ...args]: readonly string[], more: Record<string, string>) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(program, args, { cwd, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Runs a command to its end in this process, which takes a tenth of the time of a process of its own. */
export async function run(args: readonly string[], invocation: Partial<Invocation> = {}) {
  const output = { stdout: '', stderr: '' };
  const code = await runCommand(
    {
      env: ENV,
      print: (text) => {
        output.stdout += `${text}\n`;
      },
      tell: (text) => {
        output.stderr += `${text}\n`;
      },
      hasColours: () => false,
      progress: () => {},
      stop: new AbortController().signal,
      ...invocation,
    },
    args,
  );
  return { code, ...output };
}
