import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Machine } from './machine.ts';
import { pinned } from './servers.ts';
import { number, type Spread, spread } from './statistics.ts';

const CORES = [0, 1];
/** Above any cache that a core has to itself. */
const WORDS = 4 * 1024 * 1024;
const STRIDE = 16;
const HASHES = 4;
/** What a quiet machine stays below: others take the cores, or their caches and their clock. */
const TAKEN_MAX = 1.1;
const SLOWER_MAX = 1.3;
const APART_MAX = 30;
const QUIET_IN_A_ROW = 5;
const LOOK_AGAIN_MS = 10_000;

/** One run of the fixed work on a core. */
export interface Timed {
  readonly wallMs: number;
  readonly processorMs: number;
}

/** What the fixed work, timed before every round of a workload and after the last, says of the machine. */
export interface Calibration {
  readonly ms: Spread;
  /** Time that passed for each that the work had a core. */
  readonly taken: Spread;
  /** How far the rounds of a contender are apart, but for the fastest and the slowest, in percent of their median. */
  readonly apart: Spread;
  /** The reason why the figures are not worth much; undefined on a quiet machine. */
  readonly busy: string | undefined;
}

/** Does a fixed piece of work on both cores at once, while the servers are idle. */
export async function calibrate(machine: Machine): Promise<Timed[]> {
  const file = fileURLToPath(import.meta.url);
  return Promise.all(
    CORES.slice(0, machine.cores).map(async (core) => {
      const [command = '', ...args] = pinned(machine, core, [process.execPath, file]);
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      await once(child, 'close');
      return JSON.parse(output) as Timed;
    }),
  );
}

/** Waits until the fixed work is done undisturbed, or a moment is reached. */
export async function untilQuiet(machine: Machine, endMs: number): Promise<void> {
  let best = Number.POSITIVE_INFINITY;
  while (performance.now() < endMs) {
    const timed: Timed[] = [];
    while (timed.length < QUIET_IN_A_ROW * CORES.length) timed.push(...(await calibrate(machine)));
    best = Math.min(best, ...timed.map(({ wallMs }) => wallMs));
    if (!judge(timed, [], best).busy) return;
    await wait(LOOK_AGAIN_MS);
  }
}

/**
 * Judges whether the machine was busy with something else while one workload ran. `bestMs` is what the fixed work took
 * at best in the whole run. One disturbed moment is enough: a median would hide it.
 */
export function judge(timed: readonly Timed[], rounds: readonly Spread[], bestMs: number): Calibration {
  const ms = spread(timed.map(({ wallMs }) => wallMs));
  const taken = spread(timed.map(({ wallMs, processorMs }) => wallMs / processorMs));
  const apart = spread(rounds.map(({ median, min, max }) => ((max - min) / median) * 100));
  const said = [
    taken.max > TAKEN_MAX && `a fixed piece of work took ${number(taken.max)} times the processor time that it got`,
    ms.max > SLOWER_MAX * bestMs && `a fixed piece of work took ${number(ms.max)} ms, and ${number(bestMs)} at best`,
    apart.median > APART_MAX && `the rounds of a contender were ${number(apart.median)} % apart`,
  ];
  return { ms, taken, apart, busy: said.filter(Boolean).join(', ') || undefined };
}

/** The fixed work: hashing, which needs a core, and reading here and there, which needs its caches. */
function work(): Timed {
  const words = new Uint32Array(WORDS).fill(1);
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  let sum = 0;
  for (let i = 0; i < HASHES; i += 1) {
    sum += createHash('sha256').update(words).digest()[0] ?? 0;
    for (let at = 0; at < WORDS; at += STRIDE) sum += words[at] ?? 0;
  }
  if (sum === 0) throw new Error('The work was left out');
  const { user, system } = process.cpuUsage(before);
  return { wallMs: performance.now() - startedMs, processorMs: (user + system) / 1000 };
}

if (import.meta.main) process.stdout.write(JSON.stringify(work()));
