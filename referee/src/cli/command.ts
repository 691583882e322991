import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { addAbortListener, once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { CommandEnd } from '../client/note.ts';
import { Mistake } from '../mistake.ts';

/** The time that a process that is asked to stop has for it. */
const GRACE_MS = 2_000;
const TAIL_CHARACTERS = 4_000;
const START_MS_MAX = 60_000;
/** So long an address may come in a line that says that the API is ready. */
const BETTER_LINE_MS = 1_000;
const POLL_MS = 50;
const ADDRESS = /https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1?\]|0\.0\.0\.0)(?::\d+)?[^\s"'<>,;)\]]*/;
const READY = /listening|ready|started|running/i;

export interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Aborted to end the command. */
  readonly stop: AbortSignal;
}

/** How a command ended, and the end of what it wrote. */
export interface Ended extends CommandEnd {
  readonly tail: string;
}

/**
 * Runs a command to its end, in a process group of its own, of which nothing is left afterwards. Throws `Mistake` if it
 * cannot be started.
 */
export async function runToEnd(words: readonly string[], options: CommandOptions): Promise<Ended> {
  const { timeoutMs, stop, env } = options;
  await using group = await openGroup(words, { env });
  const timeout = AbortSignal.timeout(timeoutMs);
  using _ending = addAbortListener(AbortSignal.any([stop, timeout]), group.end);
  const [exit] = (await group.ended) as [number | null];
  return { exit, timedOut: timeout.aborted, tail: group.tail() };
}

export interface StartOptions extends Omit<CommandOptions, 'timeoutMs'> {
  /** The address of the API, where it is known. */
  readonly upstream: string | undefined;
}

/** Starts an API by the shell, and waits until it is ready. Throws `Mistake` if it never is. */
export async function startApi(command: string, { env, stop, upstream }: StartOptions) {
  const group = await openGroup([command], { env, shell: true });
  try {
    const url = await ready(group, { upstream, stop });
    return { url, [Symbol.asyncDispose]: group[Symbol.asyncDispose] };
  } catch (error) {
    await group[Symbol.asyncDispose]();
    throw error;
  }
}

type Group = Awaited<ReturnType<typeof openGroup>>;

async function ready(group: Group, { upstream, stop }: Pick<StartOptions, 'upstream' | 'stop'>): Promise<string> {
  const startedMs = performance.now();
  let foundMs: number | undefined;
  while (performance.now() - startedMs < START_MS_MAX && !group.hasEnded() && !stop.aborted) {
    const lines = group.tail().split('\n');
    const told = lines.find((line) => READY.test(line) && ADDRESS.test(line));
    const first = told ?? lines.find((line) => ADDRESS.test(line));
    if (first !== undefined) foundMs ??= performance.now();
    const isSettled = told !== undefined || performance.now() - (foundMs ?? startedMs) > BETTER_LINE_MS;
    const address = upstream ?? (isSettled && first ? ADDRESS.exec(first)?.[0] : undefined);
    const url = address?.replace(/[.:]+$/, '').replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1');
    if (url !== undefined && (await accepts(url))) return url;
    await wait(POLL_MS);
  }
  const how = group.hasEnded()
    ? 'ended before it was ready'
    : 'named no address of this machine that accepts connections';
  const wrote = group.tail().trimEnd();
  const what = wrote === '' ? `${how}, and wrote nothing` : `${how}:\n${wrote}`;
  throw new Mistake(stop.aborted ? 'Interrupted' : `The command of --start ${what}`);
}

async function accepts(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const socket = connect(Number(port || (protocol === 'https:' ? 443 : 80)), hostname.replace(/^\[|\]$/g, ''));
  const connected = await once(socket, 'connect').catch(() => undefined);
  socket.destroy();
  return connected !== undefined;
}

/** Starts a process in a group of its own. Throws `Mistake` if it cannot be started. */
async function openGroup(words: readonly string[], options: Pick<SpawnOptions, 'env' | 'shell'>) {
  const [program = '', ...args] = words;
  let child: ChildProcess;
  try {
    // Throws some failures, such as a path through a file, and emits others.
    child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    await once(child, 'spawn');
  } catch (error) {
    throw new Mistake(`The command ${program} could not be started: ${(error as Error).message}`);
  }
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-TAIL_CHARACTERS);
    });
  }
  const ended = once(child, 'exit');
  const closed = once(child, 'close');
  let killing: NodeJS.Timeout | undefined;
  const kill = () => signal(child, 'SIGKILL');
  const end = () => {
    signal(child, 'SIGTERM');
    killing ??= setTimeout(kill, GRACE_MS);
  };
  // A second signal ends this process at once.
  process.once('exit', kill);
  return {
    ended,
    end,
    tail: () => tail,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) end();
      await ended;
      // A shell ends at once, and what it started may still stop in an orderly way.
      if (killing) await Promise.race([closed, wait(GRACE_MS, undefined, { ref: false })]);
      clearTimeout(killing);
      process.off('exit', kill);
      kill();
      for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    },
  };
}

function signal({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // Nothing of it is left.
  }
}
