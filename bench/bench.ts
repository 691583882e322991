import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { distinctKeysFigures, type Figure, startFigures } from './figures.ts';
import { BENCH, machine } from './machine.ts';
import { type Result, type Run, report, targets } from './report.ts';
import { runWorkload, type Scale } from './rounds.ts';
import { WORKLOADS } from './workloads.ts';
import type { Workshop } from './workshop.ts';

/** More keys than the service remembers of either kind; `--distinct-keys 1000000` takes minutes more. */
const FULL = { rounds: 5, seconds: 1, warmUpSeconds: 4, starts: 7, distinctKeys: 250_000 };
const QUICK = { rounds: 2, seconds: 1, warmUpSeconds: 2, starts: 3, distinctKeys: 0 };

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.setMaxListeners(100);

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    'distinct-keys': { type: 'string' },
  },
});
await bench({ isQuick: values.quick, only: values.only });

interface Options {
  readonly isQuick: boolean;
  readonly only: string[] | undefined;
}

/**
 * Runs the workloads, all or those named, and writes the results; with names it only prints.
 */
async function bench({ isQuick, only }: Options): Promise<void> {
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
  try {
    for (const workload of chosen) {
      tell(`${workload.name} …`);
      await using started = new AsyncDisposableStack();
      const shop: Workshop = { machine: here, folder, started, skipped: [] };
      workloads.push({ workload, series: await runWorkload(workload, shop, scale) });
      for (const line of shop.skipped) if (!skipped.includes(line)) skipped.push(line);
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
  const markdown = report(run);
  process.stdout.write(`${markdown}\n## Targets\n\n${targets(run)}\n`);
  // Part of a run would take the place of the figures of a whole one.
  if (!isWhole) return;
  writeFileSync(join(BENCH, 'results.md'), markdown);
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
