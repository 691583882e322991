import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { LOAD_CORE } from './load.ts';
import type { Machine } from './machine.ts';
import { pinned } from './servers.ts';

/** Above any cache that a core has to itself. */
const BYTES = 64 * 1024 * 1024;
/** Of a line of the cache. */
const LINE_BYTES = 64;
/** So that it ends by itself, should the benchmark be killed. */
const LOOP_MS_MAX = 60_000;

/** Starts a process on the load's core that leaves nothing of others in the caches; disposing ends it. */
export async function startNeighbour(machine: Machine): Promise<AsyncDisposable> {
  const [command = '', ...args] = pinned(machine, LOAD_CORE, [process.execPath, fileURLToPath(import.meta.url)]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  // The load takes the core whenever it has something to send, or the load would be what is measured.
  setPriority(child.pid ?? 0, constants.priority.PRIORITY_LOW);
  await Promise.race([once(child.stdout, 'data'), ended]);
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function thrash(): void {
  const bytes = new Uint8Array(BYTES);
  process.stdout.write('running\n');
  const startedMs = performance.now();
  while (performance.now() - startedMs < LOOP_MS_MAX) {
    for (let at = 0; at < BYTES; at += LINE_BYTES) bytes[at] = (bytes[at] ?? 0) + 1;
  }
}

// Once the line is written, which a pipe takes in a later turn.
if (import.meta.main) setImmediate(thrash);
