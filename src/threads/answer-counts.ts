import type { AnswerSinks } from '../telemetry/events.ts';
import { type RefusalSeries, Refusals, RequestDurations, type RequestSeries } from '../telemetry/request-metrics.ts';

/** How a thread's answers add to the metrics. */
export interface CountedAnswers {
  readonly requests: readonly Readonly<RequestSeries>[];
  readonly refusals: readonly RefusalSeries[];
  /** By reason. */
  readonly failedAuthentications: ReadonlyMap<string, number>;
}

/** Counts the answers of a thread until they are taken, so that an answer itself sends nothing to the main thread. */
export class AnswerCounts {
  requests = new RequestDurations();
  refusals = new Refusals();
  #failed = new Map<string, number>();
  readonly failedAuthentications = {
    inc: ({ reason }: { reason: string }) => {
      this.#failed.set(reason, (this.#failed.get(reason) ?? 0) + 1);
    },
  };

  /** What was counted since the last call; undefined if that is nothing. */
  take(): CountedAnswers | undefined {
    const requests = [...this.requests.series()];
    if (requests.length === 0) return undefined;
    const refusals = this.refusals.series.filter(({ value }) => value > 0);
    const taken = { requests, refusals, failedAuthentications: this.#failed };
    this.requests = new RequestDurations();
    this.refusals = new Refusals();
    this.#failed = new Map();
    return taken;
  }
}

/** Adds the answers of a thread to the metrics. */
export function addAnswers(
  metrics: AnswerSinks['metrics'] & { failedAuthentications: { inc(labels: { reason: string }, by: number): void } },
  { requests, refusals, failedAuthentications }: CountedAnswers,
): void {
  for (const series of requests) metrics.requests.add(series);
  for (const { labels, value } of refusals) metrics.refusals.inc(labels.plan, labels.reason, value);
  for (const [reason, count] of failedAuthentications) metrics.failedAuthentications.inc({ reason }, count);
}
