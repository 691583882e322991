import { type ChildProcess, spawn } from 'node:child_process';
import { addAbortListener, once } from 'node:events';
import type { CommandEnd } from '../client/note.ts';
import { Mistake } from '../mistake.ts';

const STDERR = 2;
/** The time that a command that is asked to stop has for it. */
const GRACE_MS = 2_000;

export interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Aborted to end the command. */
  readonly stop: AbortSignal;
}

/**
 * Runs a command to its end, with stdout and stderr on our stderr. It has its own process group, of which nothing
 * is left afterwards. Throws `Mistake` if it cannot be started.
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
    throw new Mistake(`The command ${program} could not be started: ${(error as Error).message}`);
  }
  const ended = once(child, 'exit');
  const timeout = AbortSignal.timeout(timeoutMs);
  let killing: NodeJS.Timeout | undefined;
  const kill = () => signal(child, 'SIGKILL');
  const end = () => {
    signal(child, 'SIGTERM');
    killing ??= setTimeout(kill, GRACE_MS);
  };
  using _ending = addAbortListener(AbortSignal.any([stop, timeout]), end);
  // A second signal exits at once.
  process.once('exit', kill);
  try {
    const [exit] = (await ended) as [number | null];
    return { exit, timedOut: timeout.aborted };
  } finally {
    clearTimeout(killing);
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
