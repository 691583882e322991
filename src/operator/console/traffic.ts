import type { Time } from '../../stdx/time.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { durationWithin } from '../../telemetry/request-metrics.ts';

/** The requests since a look are those of the last minute at most. */
const WINDOW_MS = 60_000;
/** Looks that follow each other sooner are one. */
const LOOK_INTERVAL_MS = 1_000;

/**
 * Makes a function that compares what is counted with earlier looks at it: the requests to the API of the last seconds,
 * and the seconds within which that many out of a hundred were answered; undefined at the first look.
 */
export function createTraffic({ requests }: Pick<Metrics, 'requests'>, time: Time) {
  let looks: ReturnType<typeof lookAt>[] = [];
  return () => {
    const now = lookAt(requests, time.steadyMs());
    looks = looks.filter(({ atMs }) => atMs >= now.atMs - WINDOW_MS);
    const [first] = looks;
    const last = looks.at(-1);
    if (!last || now.atMs - last.atMs >= LOOK_INTERVAL_MS) looks.push(now);
    if (!first || first.atMs === now.atMs) return undefined;
    const durations = now.durations.map((count, index) => count - (first.durations[index] ?? 0));
    return {
      seconds: (now.atMs - first.atMs) / 1_000,
      requests: durations.reduce((sum, count) => sum + count, 0),
      p50: durationWithin(durations, 0.5),
      p99: durationWithin(durations, 0.99),
    };
  };
}

/** The requests to the API until now, by class of `DURATION_BOUNDS`. */
function lookAt(requests: Metrics['requests'], atMs: number) {
  const durations: number[] = [];
  for (const series of requests.series()) {
    if (series.labels.api === 'false') continue;
    for (const [index, count] of series.counts.entries()) durations[index] = (durations[index] ?? 0) + count;
  }
  return { atMs, durations };
}
