import type { Metrics } from '../../telemetry/metrics.ts';

const DURATIONS = 'pet_catalog_request_duration_seconds';
const SAMPLE_INTERVAL_MS = 5_000;
/** Rates are those of the last seconds, durations those of the last minute. */
const RATE_MS = 10_000;
const DURATION_MS = 60_000;
const SAMPLES_MAX = DURATION_MS / SAMPLE_INTERVAL_MS + 2;
/** What operators and probes ask for says nothing of how callers are served. */
const OWN_ROUTES = /^\/(console|metrics|livez|readyz|docs)/;

/** What was counted until a moment, by status and by duration (cumulative, by its upper bound in seconds). */
interface Sample {
  readonly atMs: number;
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  readonly byDuration: ReadonlyMap<number, number>;
}

/** One number of the metric, as the metrics' reader has it. */
interface Counted {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** How this instance is doing. Rates are per second; durations, in seconds, are undefined where there was no request. */
export interface VitalSigns {
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** Reads the metrics every few seconds, so that how they change can be told. Costs requests nothing. */
export class Vitals implements Disposable {
  readonly #registry: Metrics['registry'];
  readonly #nowMs: () => number;
  readonly #timer: NodeJS.Timeout;
  #samples: Sample[] = [];

  constructor({ registry }: Metrics, nowMs = () => performance.now()) {
    this.#registry = registry;
    this.#nowMs = nowMs;
    this.#timer = setInterval(() => this.sample(), SAMPLE_INTERVAL_MS).unref();
    this.sample();
  }

  /** Remembers what was counted until now. */
  async sample(): Promise<void> {
    this.#samples = [...this.#samples, await this.#read()].slice(-SAMPLES_MAX);
  }

  async signs(): Promise<VitalSigns> {
    const now = await this.#read();
    const before = (ms: number) =>
      this.#samples.findLast(({ atMs }) => atMs <= now.atMs - ms) ?? this.#samples[0] ?? now;
    const recent = before(RATE_MS);
    const seconds = Math.max(now.atMs - recent.atMs, 1_000) / 1_000;
    const counts = durationsSince(before(DURATION_MS), now);
    return {
      requests: (now.requests - recent.requests) / seconds,
      refused: (now.refused - recent.refused) / seconds,
      failed: (now.failed - recent.failed) / seconds,
      p50: quantile(counts, 0.5),
      p99: quantile(counts, 0.99),
    };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<Sample> {
    const byDuration = new Map<number, number>();
    let [requests, refused, failed] = [0, 0, 0];
    const { values = [] } = (await this.#registry.getSingleMetric(DURATIONS)?.get()) ?? {};
    for (const { metricName, labels, value } of values as Counted[]) {
      if (OWN_ROUTES.test(String(labels.route ?? ''))) continue;
      if (metricName?.endsWith('_bucket')) {
        const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
        byDuration.set(bound, (byDuration.get(bound) ?? 0) + value);
      } else if (metricName?.endsWith('_count')) {
        const status = Number(labels.status);
        requests += value;
        if (status === 429) refused += value;
        if (status >= 500) failed += value;
      }
    }
    return { atMs: this.#nowMs(), requests, refused, failed, byDuration };
  }
}

/** How many requests took how long at most between two samples; cumulative, the durations rising. */
function durationsSince(before: Sample, now: Sample): [bound: number, count: number][] {
  return [...now.byDuration]
    .map(([bound, count]): [number, number] => [bound, count - (before.byDuration.get(bound) ?? 0)])
    .sort(([one], [other]) => one - other);
}

/** Within the bucket that holds it, by proportion; of the last bucket, which has no end, its beginning. */
function quantile(counts: readonly [bound: number, count: number][], share: number): number | undefined {
  const total = counts.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const rank = share * total;
  let [low, below] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= rank) return Number.isFinite(bound) ? low + ((bound - low) * (rank - below)) / (count - below) : low;
    [low, below] = [bound, count];
  }
  return low;
}
