import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Invocation } from '../../src/cli/invocation.ts';
import { runCommand } from '../../src/cli/program.ts';

export const COMMAND = fileURLToPath(new URL('../../bin/api-referee.js', import.meta.url));

const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
/** What each command and API of a test has. */
export const ENV = { PATH, NODE_COMPILE_CACHE };

/** True while a process runs; one that has ended may still be listed until it is waited for. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Runs the command line to its end, as a process of its own. */
export const runReferee = (args: readonly string[], { cwd = tmpdir() } = {}) =>
  ended(spawn(process.execPath, [COMMAND, ...args], { cwd, env: ENV, stdio: ['ignore', 'pipe', 'pipe'] }));

/** Runs a program of a folder to its end; a test runner that finds itself in another one's environment reports to that. */
export async function runIn(cwd: string, [program = '', ...args]: readonly string[], more: Record<string, string>) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(program, args, { cwd, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  const { code, stdout, stderr } = await ended(child);
  return { code, output: stdout + stderr };
}

/** What a program has written by its end. */
async function ended(child: ChildProcessByStdio<null, Readable, Readable>) {
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, stdout, stderr };
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
