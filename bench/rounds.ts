import { setTimeout as wait } from 'node:timers/promises';
import { measure } from './load.ts';
import { processorSeconds, residentMb } from './servers.ts';
import { type Spread, spread } from './statistics.ts';
import type { Workload } from './workload.ts';
import type { Contender, Workshop } from './workshop.ts';

const BYTES_PER_MB = 1e6;
/** How often to look whether servers still work, such as on counts to store; and how long at most. */
const LOOK_MS = 250;
const LOOKS_MAX = 40;
/** Of one core: what servers at rest stay below, together. */
const IDLE_SHARE = 0.05;

/** The sizes of a run. */
export interface Scale {
  readonly rounds: number;
  readonly seconds: number;
  /** V8 compiles what runs often in the background, on the same core, for seconds. */
  readonly warmUpSeconds: number;
}

/** The results of one contender in each round. */
export interface Series {
  readonly name: string;
  readonly perSecond: number[];
  readonly mbPerSecond: number[];
  readonly p99Ms: number[];
  /** Processor time of the server for each answer, which a busy machine disturbs less than the rate. */
  readonly processorMicros: number[];
  /** The memory of its server after the last round. */
  residentMb: number;
}

/**
 * Measures the contenders in turn, round by round: A B C, C B A, so that a drift takes no side. Throws if an answer is not
 * what it should be.
 */
export async function runWorkload(
  workload: Workload,
  shop: Workshop,
  { rounds, seconds, warmUpSeconds }: Scale,
): Promise<Series[]> {
  const contenders = await workload.contenders(shop);
  const series = contenders.map(({ name }): Series => {
    return { name, perSecond: [], mbPerSecond: [], p99Ms: [], processorMicros: [], residentMb: Number.NaN };
  });
  for (const contender of contenders) await round(shop, contender, warmUpSeconds);
  for (let i = 0; i < rounds; i += 1) {
    await untilIdle(contenders);
    const inTurn = [...contenders.entries()];
    for (const [index, contender] of i % 2 === 0 ? inTurn : inTurn.reverse()) {
      const measured = await round(shop, contender, workload.seconds ?? seconds);
      const kept = series[index];
      kept?.perSecond.push(measured.requests / measured.seconds);
      kept?.mbPerSecond.push(measured.bytes / BYTES_PER_MB / measured.seconds);
      kept?.p99Ms.push(measured.p99Ms);
      kept?.processorMicros.push((measured.processorSeconds * 1e6) / measured.requests);
    }
  }
  for (const [index, { server }] of contenders.entries()) {
    const measured = series[index];
    if (measured) measured.residentMb = residentMb(server.pid);
  }
  return series;
}

/** The ratio of a measure of two contenders in each round; undefined if one of them was not there. */
export function ratio(
  series: readonly Series[],
  of: string,
  against: string,
  measure: 'perSecond' | 'mbPerSecond' | 'p99Ms',
): Spread | undefined {
  const values = (name: string) => series.find((each) => each.name === name)?.[measure];
  const [upper, lower] = [values(of), values(against)];
  if (!upper || !lower) return undefined;
  return spread(upper.map((value, index) => value / (lower[index] ?? Number.NaN)));
}

/** Waits until the servers have done what they had left to do, which would count in the next round. */
async function untilIdle(contenders: readonly Contender[]): Promise<void> {
  const sum = () => contenders.reduce((seconds, { server }) => seconds + processorSeconds(server.pid), 0);
  let before = sum();
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    await wait(LOOK_MS);
    const now = sum();
    if (now - before <= (IDLE_SHARE * LOOK_MS) / 1000) return;
    before = now;
  }
}

async function round({ machine }: Workshop, { name, server, load, status }: Contender, seconds: number) {
  const before = processorSeconds(server.pid);
  const measured = await measure(machine, { ...load, seconds });
  const wrong = status < 400 ? measured.refused : measured.requests - measured.refused;
  if (wrong > 0) throw new Error(`${name}: ${wrong} of ${measured.requests} answers were not a ${status}`);
  if (measured.requests === 0) throw new Error(`${name} answered nothing`);
  return { ...measured, processorSeconds: processorSeconds(server.pid) - before };
}
