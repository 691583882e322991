import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { judge, untilQuiet } from './calibration.ts';
import { distinctKeysFigures, type Figure, startFigures } from './figures.ts';
import { BENCH, machine } from './machine.ts';
import { type Result, type Run, report, targets } from './report.ts';
import { runWorkload, type Scale } from './rounds.ts';
import { inner, spread } from './statistics.ts';
import type { Workload } from './workload.ts';
import { WORKLOADS } from './workloads.ts';
import type { Workshop } from './workshop.ts';

/** More keys than the service remembers of either kind; `--distinct-keys 1000000` takes minutes more. */
const FULL = { rounds: 5, seconds: 1, warmUpSeconds: 4, starts: 7, distinctKeys: 250_000 };
const QUICK = { rounds: 2, seconds: 1, warmUpSeconds: 2, starts: 3, distinctKeys: 0 };
/** Of a workload that finds the machine busy. */
const TRIES_MAX = 3;
/** How long `--wait` tries again, from the start of the run. */
const WAIT_MS_MAX = 3_600_000;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.setMaxListeners(100);

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    wait: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    'distinct-keys': { type: 'string' },
  },
});
await bench({ isQuick: values.quick, waits: values.wait, only: values.only });

interface Options {
  readonly isQuick: boolean;
  readonly waits: boolean;
  readonly only: string[] | undefined;
}

/**
 * Runs the workloads, all or those named, and writes the results and plots; with names it only prints. On a busy machine
 * it does neither, and says what was busy.
 */
async function bench({ isQuick, waits, only }: Options): Promise<void> {
  const startedMs = performance.now();
  const scale: Scale & typeof FULL = isQuick ? QUICK : FULL;
  const distinctKeys = Number(values['distinct-keys'] ?? scale.distinctKeys);
  const unknown = only?.find((each) => each !== 'figures' && WORKLOADS.every(({ name }) => name !== each));
  if (unknown !== undefined)
    throw new Error(
      `There is no workload ${unknown}; there are ${WORKLOADS.map(({ name }) => name).join(', ')} and figures`,
    );
  const chosen = WORKLOADS.filter(({ name, quick }) => only?.includes(name) ?? (quick || !isQuick));
  const here = machine();
  const skipped: string[] = [];
  const workloads: Result[] = [];
  const figures: Figure[] = [];
  // A real disk, which a temporary folder may not be: a create waits for its fsync.
  const data = join(BENCH, 'data');
  mkdirSync(data, { recursive: true });
  const folder = mkdtempSync(join(data, 'run-'));
  const clear = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', clear);
  let bestMs = Number.POSITIVE_INFINITY;

  const measure = async (workload: Workload): Promise<Result> => {
    await using started = new AsyncDisposableStack();
    const shop: Workshop = { machine: here, folder, started, skipped: [] };
    const { series, timed, repeated, bestMs: best } = await runWorkload(workload, shop, scale, bestMs);
    bestMs = best;
    const rounds = series.map(({ perSecond }) => spread(inner(perSecond)));
    for (const line of shop.skipped) if (!skipped.includes(line)) skipped.push(line);
    return { workload, series, repeated, calibration: judge(timed, rounds, bestMs) };
  };

  try {
    for (const workload of chosen) {
      tell(`${workload.name} …`);
      let result = await measure(workload);
      for (let tries = 1; result.calibration.busy; tries += 1) {
        tell(`  the machine was busy, ${result.repeated} rounds repeated: ${result.calibration.busy}`);
        const isOver = performance.now() - startedMs > WAIT_MS_MAX;
        if (waits ? isOver : tries === TRIES_MAX) {
          tell('Nothing is written. Try again on a quiet machine, or with --wait.');
          process.exitCode = 1;
          return;
        }
        if (waits) await untilQuiet(here, startedMs + WAIT_MS_MAX);
        result = await measure(workload);
      }
      workloads.push(result);
    }
    if (!only || only.includes('figures')) {
      await using started = new AsyncDisposableStack();
      const shop: Workshop = { machine: here, folder, started, skipped };
      tell('figures …');
      figures.push(...(await startFigures(shop, scale.starts)));
      if (distinctKeys > 0) figures.push(...(await distinctKeysFigures(shop, distinctKeys)));
    }
  } finally {
    clear();
    process.off('exit', clear);
  }
  const tookSeconds = (performance.now() - startedMs) / 1000;
  write({ machine: here, scale, isQuick, workloads, figures, skipped, tookSeconds }, only === undefined);
}

function write(run: Run, isWhole: boolean): void {
  const { markdown, plots } = report(run);
  process.stdout.write(`${markdown}\n## Targets\n\n${targets(run)}\n`);
  // Part of a run would take the place of the figures of a whole one.
  if (!isWhole) return;
  mkdirSync(join(BENCH, 'plots'), { recursive: true });
  for (const [name, svg] of plots) writeFileSync(join(BENCH, 'plots', name), svg);
  writeFileSync(join(BENCH, 'results.md'), markdown);
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
