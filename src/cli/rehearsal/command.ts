import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { CommandEnd } from '../../rehearsal/verdict/note.ts';

const STDERR = 2;
/** The time that a command that is asked to stop has for it. */
const GRACE_MS = 2_000;

export interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Aborted to end the command. */
  readonly stop: AbortSignal;
}

/** A command that could not be started; the message says why. */
export class CommandNotStarted extends Error {}

/**
 * Runs a command to its end, with stdout and stderr on our stderr. It has its own process group, of which nothing
 * is left afterwards. Throws `CommandNotStarted`.
 */
export async function runToEnd(words: readonly string[], options: CommandOptions): Promise<CommandEnd> {
  const [program = '', ...args] = words;
  const { env, timeoutMs, stop } = options;
  let child: ChildProcess;
  try {
    // Throws some failures, such as a path through a file, and emits others.
    child = spawn(program, args, { env: { ...env }, stdio: ['ignore', STDERR, STDERR], detached: true });
    await once(child, 'spawn');
  } catch (error) {
    throw new CommandNotStarted(`The command ${program} could not be started: ${(error as Error).message}`);
  }
  const ended = once(child, 'exit');
  let timedOut = false;
  let killing: NodeJS.Timeout | undefined;
  const kill = () => signal(child, 'SIGKILL');
  const end = () => {
    signal(child, 'SIGTERM');
    killing ??= setTimeout(kill, GRACE_MS);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, timeoutMs);
  stop.addEventListener('abort', end);
  // A second signal exits at once.
  process.once('exit', kill);
  if (stop.aborted) end();
  try {
    const [exit] = (await ended) as [number | null];
    return { exit, timedOut };
  } finally {
    clearTimeout(timer);
    clearTimeout(killing);
    stop.removeEventListener('abort', end);
    process.off('exit', kill);
    kill();
  }
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // Nothing of it is left.
  }
}
