import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Invocation } from '../../src/cli/invocation.ts';
import { noteOperator } from '../../src/cli/operator-note.ts';
import { runCommand } from '../../src/cli/program.ts';
import { readEnvFile } from '../../src/env-file.ts';
import { systemTime } from '../../src/stdx/time.ts';
import type { Finding } from '../../src/telemetry/finding.ts';
import { untilTrue } from './clock.ts';
import { temporaryFolder } from './folder.ts';
import type { TestService } from './service.ts';

export const COMMAND = fileURLToPath(new URL('../../bin/pet-catalog.js', import.meta.url));
/** Ends a test that hangs, and times nothing. */
const READY_MS_MAX = 30_000;

/** The variables of `faketime`: under a shifted clock a process has that of its test. */
const FOREIGN_CLOCK = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name === 'LD_PRELOAD' || name.startsWith('FAKETIME')),
);

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Record<string, string>;
  /** What runs the command line in a process of its own, if not this Node.js and the checkout. */
  readonly command?: readonly [program: string, ...args: string[]];
}

/** What a command that runs in the process of the test may have instead of what a process has. */
export interface RunHereOptions extends RunOptions {
  /** Parts of the invocation, in place of those of a pipe. */
  readonly invocation?: Partial<Invocation>;
}

let lastCommand: Promise<unknown> = Promise.resolve();

/**
 * Runs a command to its end in this process, which takes a tenth of the time of a process of its own. `serve`, which
 * takes its process over, gets one unless it is given an invocation; `runProcess` is for tests of the process itself.
 */
export function run(args: readonly string[], options: RunHereOptions): Promise<Finished> {
  if (args[0] === 'serve' && !options.invocation) return runProcess(args, options);
  // One at a time: a process has one working folder, and two commands would wait for each other's lock on a database.
  const finished = lastCommand.then(() => runHere(args, options));
  lastCommand = finished.catch(() => {});
  return finished;
}

/** What `doctor` finds, in a folder of its own unless told otherwise. */
export async function findingsOf(env: Record<string, string>, cwd?: string): Promise<Finding[]> {
  using folder = temporaryFolder();
  const { stdout } = await run(['doctor', '--json'], { cwd: cwd ?? folder.path, env });
  return JSON.parse(stdout);
}

async function runHere(args: readonly string[], { cwd, env = {}, invocation }: RunHereOptions): Promise<Finished> {
  const output = { stdout: '', stderr: '' };
  const before = process.cwd();
  process.chdir(cwd);
  try {
    const code = await runCommand(
      {
        time: systemTime(),
        env: { PATH: process.env.PATH ?? '', ...(args[0] === 'doctor' && { PORT: '0' }), ...env },
        envFile: () => readEnvFile('.env'),
        input: async () => new Uint8Array(),
        print: (text) => {
          output.stdout += `${text}\n`;
        },
        tell: (text) => {
          output.stderr += `${text}\n`;
        },
        progress: () => {},
        stop: new AbortController().signal,
        stopsGracefully: false,
        ...invocation,
      },
      args,
    );
    return { code, ...output };
  } finally {
    process.chdir(before);
  }
}

/** The words of a command line; quotes hold what has spaces. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word);
}

/** Runs command lines on the database of a service, at its time. */
export function commandsOn({ config: { database }, clock }: TestService): (line: string) => Promise<Finished> {
  const isFile = database.engine === 'sqlite';
  const cwd = isFile ? dirname(database.file) : tmpdir();
  const env = { DATABASE_URL: isFile ? `sqlite:${database.file}` : database.url };
  return (line) => run(wordsOf(line), { cwd, env, invocation: { time: clock } });
}

/** Has commands find a service, as `serve` does. */
export function noteForCommands({ config: { database }, operatorUrl: url, localSecret: secret }: TestService): void {
  noteOperator(database, { url, secret });
}

/** The options of a test whose commands find the service beside its database. */
export const BESIDE_SQLITE = {
  skip: process.env.TEST_ON?.includes('postgres') ? 'about the note beside an embedded database' : false,
};

/** Runs the command line to its end, as a process of its own. */
export async function runProcess(args: readonly string[], options: RunOptions): Promise<Finished> {
  const { child, output } = launch(args, options);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

export interface ServiceProcess extends AsyncDisposable {
  readonly url: string;
  readonly output: { stdout: string; stderr: string };
  readonly pid: number;
  /** The address of the operator listener, which the log has shortly after the service is ready. */
  operatorUrl(): Promise<string>;
  /** The exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  /** Sends a signal and waits for the end; fulfilled with the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Runs `serve` as a process of its own, on free ports, and waits until it is ready. */
export async function serveProcess(args: readonly string[], options: RunOptions): Promise<ServiceProcess> {
  const { child, output } = launch(['serve', ...args], { ...options, env: { PORT: '0', ...options.env } });
  const closed = once(child, 'close').then(([code]) => code as number | null);
  const ready = readyLine(child, output);
  // The line comes after the first key, but by another pipe: on a busy machine it may be read before that.
  const told = args.includes('--bootstrap') ? ready.then((url) => untilTold(child, output).then(() => url)) : ready;
  const url = await Promise.race([told, closed.then(() => undefined)]);
  assert.ok(url, `the service did not start: ${output.stderr}`);
  const end = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return closed;
  };
  return {
    url,
    output,
    pid: child.pid ?? 0,
    async operatorUrl() {
      await untilTrue(() => output.stderr.includes('"operatorUrl"'), 'the line of the start');
      return /"operatorUrl":"([^"]+)"/.exec(output.stderr)?.[1] ?? '';
    },
    ended: closed,
    end,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
    },
  };
}

/** Starts the command line, or another command, and keeps what it writes. */
export function launch(args: readonly string[], { cwd, env = {}, command = [process.execPath, COMMAND] }: RunOptions) {
  const [program, ...first] = command;
  const child = spawn(program, [...first, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...FOREIGN_CLOCK, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return { child, output };
}

async function untilTold({ stdout }: ChildProcess, output: { stdout: string }): Promise<void> {
  if (output.stdout === '' && stdout) await once(stdout, 'data');
}

function readyLine(child: ChildProcess, output: { stderr: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`not ready in time: ${output.stderr}`));
    }, READY_MS_MAX);
    const look = () => {
      const url = /^listening on (\S+)$/m.exec(output.stderr)?.[1];
      if (!url) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stderr?.on('data', look);
    child.once('close', () => clearTimeout(timer));
  });
}
