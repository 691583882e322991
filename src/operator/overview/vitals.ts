import type { Metrics } from '../../telemetry/metrics.ts';

const DURATIONS = 'pet_catalog_request_duration_seconds';
const SAMPLE_INTERVAL_MS = 5_000;
/** Rates cover the last 10 s, durations the last minute. */
const RATE_MS = 10_000;
const DURATION_MS = 60_000;
const SAMPLES_MAX = DURATION_MS / SAMPLE_INTERVAL_MS + 2;
/** Routes of operators and probes, left out of the vitals. */
const OWN_ROUTES = /^\/(console|metrics|livez|readyz|docs)/;

/** The counters at one time. `byDuration` is cumulative, keyed by the bucket's upper bound in seconds. */
interface Sample {
  readonly atMs: number;
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  readonly byDuration: ReadonlyMap<number, number>;
}

/** One value of the metric, as prom-client returns it. */
interface Counted {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
}

/** The vital signs of this instance. Rates are per second; percentiles are in seconds, undefined without requests. */
export interface VitalSigns {
  readonly requests: number;
  readonly refused: number;
  readonly failed: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** Samples the metrics every few seconds to derive rates. Adds no cost to requests. */
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

  /** Takes a sample of the counters. */
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

/** The cumulative histogram of the requests between two samples, in ascending order of duration. */
function durationsSince(before: Sample, now: Sample): [bound: number, count: number][] {
  return [...now.byDuration]
    .map(([bound, count]): [number, number] => [bound, count - (before.byDuration.get(bound) ?? 0)])
    .sort(([one], [other]) => one - other);
}

/** Interpolates linearly within the bucket; for the last bucket, which is open, returns its lower bound. */
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
