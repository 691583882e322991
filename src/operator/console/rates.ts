import { NO_USAGE, type Outcome, outcomeOf, type UsageCounts } from '../../catalog/usage.ts';
import type { Time, Timer } from '../../stdx/time.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { durationWithin } from '../../telemetry/request-metrics.ts';

const SAMPLE_INTERVAL_MS = 5_000;
/** Rates cover the last 10 s, durations the last minute. */
const RATE_MS = 10_000;
const DURATION_MS = 60_000;
const SAMPLES_MAX = DURATION_MS / SAMPLE_INTERVAL_MS + 2;

interface Sample {
  readonly atMs: number;
  readonly counts: UsageCounts;
  /** By class of `DURATION_BOUNDS`. */
  readonly durations: readonly number[];
}

/** Samples the metrics every few seconds to derive rates. Adds no cost to requests. */
export class Rates implements Disposable {
  readonly #requests: Metrics['requests'];
  readonly #time: Time;
  readonly #timer: Timer;
  #samples: Sample[] = [];

  constructor({ requests }: Metrics, time: Time) {
    this.#requests = requests;
    this.#time = time;
    this.#timer = time.setInterval(() => this.sample(), SAMPLE_INTERVAL_MS).unref();
    this.sample();
  }

  sample(): void {
    this.#samples = [...this.#samples, this.#read()].slice(-SAMPLES_MAX);
  }

  /** The rates and durations of late. */
  recent() {
    const now = this.#read();
    const before = (ms: number) =>
      this.#samples.findLast(({ atMs }) => atMs <= now.atMs - ms) ?? this.#samples[0] ?? now;
    const recent = before(RATE_MS);
    const seconds = Math.max(now.atMs - recent.atMs, 1_000) / 1_000;
    const perSecond = (outcome: keyof UsageCounts) => (now.counts[outcome] - recent.counts[outcome]) / seconds;
    const minuteAgo = before(DURATION_MS).durations;
    const durations = now.durations.map((count, index) => count - (minuteAgo[index] ?? 0));
    return {
      served: perSecond('served'),
      clientErrors: perSecond('clientErrors'),
      refused: perSecond('refused'),
      serverErrors: perSecond('serverErrors'),
      p50: durationWithin(durations, 0.5),
      p99: durationWithin(durations, 0.99),
    };
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #read(): Sample {
    const counts: Record<Outcome, number> = { ...NO_USAGE };
    const durations: number[] = [];
    for (const series of this.#requests.series()) {
      if (series.labels.api === 'false') continue;
      for (const [index, count] of series.counts.entries()) {
        durations[index] = (durations[index] ?? 0) + count;
        counts[outcomeOf(series.labels.status)] += count;
      }
    }
    return { atMs: this.#time.steadyMs(), counts, durations };
  }
}
