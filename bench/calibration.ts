import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Machine } from './machine.ts';
import { pinned } from './servers.ts';
import { type Spread, spread } from './statistics.ts';

const CORES = [0, 1];
/** Above any cache that a core has to itself. */
const WORDS = 4 * 1024 * 1024;
const STRIDE = 16;
const HASHES = 4;
/** What a quiet machine stays below: others take the cores, or their caches and their clock. */
const TAKEN_MAX = 1.05;
const SLOWER_MAX = 1.15;
const APART_MAX = 25;
const COMPARISONS = 5;

/** One run of the fixed work on a core. */
export interface Timed {
  readonly wallMs: number;
  readonly processorMs: number;
}

/** What the fixed work, timed before every round and at the end, says of the machine. */
export interface Calibration {
  readonly ms: Spread;
  /** Time that passed for each that the work had a core. */
  readonly taken: Spread;
  /** The time on both cores at once for that on one: 1 if they share nothing, 2 if they are one core. */
  readonly together: Spread;
  /** How far the rounds of a contender are apart, in percent of their median. */
  readonly apart: Spread;
  readonly isBusy: boolean;
}

/** Does a fixed piece of work on each of the two cores at once, or of some, while the servers are idle. */
export async function calibrate(machine: Machine, cores: readonly number[] = CORES): Promise<Timed[]> {
  const file = fileURLToPath(import.meta.url);
  return Promise.all(
    cores.slice(0, machine.cores).map(async (core) => {
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

/** Times the work on both cores at once, as a multiple of that on one alone. */
export async function compareCores(machine: Machine): Promise<number[]> {
  const multiples: number[] = [];
  while (multiples.length < COMPARISONS) {
    const [one] = await calibrate(machine, CORES.slice(0, 1));
    const [both] = await calibrate(machine);
    if (one && both) multiples.push(both.wallMs / one.wallMs);
  }
  return multiples;
}

/** Judges whether the machine was busy with something else. */
export function judge(timed: readonly Timed[], multiples: readonly number[], rounds: readonly Spread[]): Calibration {
  const ms = spread(timed.map(({ wallMs }) => wallMs));
  const taken = spread(timed.map(({ wallMs, processorMs }) => wallMs / processorMs));
  const apart = spread(rounds.map(({ median, min, max }) => ((max - min) / median) * 100));
  return {
    ms,
    taken,
    together: spread(multiples),
    apart,
    isBusy: taken.median > TAKEN_MAX || ms.median > SLOWER_MAX * ms.min || apart.median > APART_MAX,
  };
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
