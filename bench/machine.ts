import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const BENCH = fileURLToPath(new URL('.', import.meta.url));
/** The cores of the load and of the servers, where commands can be pinned. */
export const LOAD_CORE = 0;
export const SERVER_CORE = 1;
const LOOK_MS = 500;
/** The share of all cores that a quiet machine uses at most. */
const QUIET_SHARE = 0.05;
const pins = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** A command that runs on one core, where that can be arranged. */
export function pinned(core: number, command: readonly string[]): readonly string[] {
  return pins ? ['taskset', '-c', `${core}`, ...command] : command;
}

/** Waits until the machine does nothing else, or until a moment (`performance.now`). Returns the share that it used. */
export async function untilQuiet(untilMs: number): Promise<number> {
  for (;;) {
    const before = processorTimes();
    await wait(LOOK_MS);
    const after = processorTimes();
    const share = (after.busy - before.busy) / Math.max(1, after.all - before.all);
    if (share <= QUIET_SHARE || performance.now() > untilMs) return share;
  }
}

function processorTimes(): { busy: number; all: number } {
  const sums = { busy: 0, all: 0 };
  for (const { times } of cpus()) {
    const all = times.user + times.nice + times.sys + times.irq + times.idle;
    sums.all += all;
    sums.busy += all - times.idle;
  }
  return sums;
}

/** The machine and the programs, as a line each of the results. */
export function described(): readonly (readonly [string, string])[] {
  const [processor] = cpus();
  return [
    ['machine', `${processor?.model.trim()}, ${availableParallelism()} cores, ${process.platform} ${process.arch}`],
    ['service', revisionOf(join(BENCH, '..'))],
    ['Node.js', process.versions.node],
    ['peers', ['fastify', 'express'].map(versionsOf).join('; ')],
    ['date', new Date().toISOString().slice(0, 10)],
  ];
}

/** The commit of a checkout. */
export function revisionOf(folder: string): string {
  return spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).stdout.trim();
}

/** The versions that a peer's lockfile pins for what it depends on. */
function versionsOf(peer: string): string {
  const read = (file: string) => JSON.parse(readFileSync(join(BENCH, 'peers', peer, file), 'utf8'));
  const { packages } = read('package-lock.json');
  return Object.keys(read('package.json').dependencies)
    .map((name) => `${name} ${packages[`node_modules/${name}`]?.version}`)
    .join(', ');
}
