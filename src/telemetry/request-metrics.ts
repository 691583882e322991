import type { MetricValueWithName } from 'prom-client';

/** Methods with a label of their own. Callers may send many others, and each would stay for ever. */
export const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Upper bounds of the buckets of the histogram, in seconds; a further one holds what took longer. */
export const DURATION_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const;

/**
 * The duration within which a share of the requests was answered, in seconds, from the requests in each bucket.
 * Interpolates linearly within the bucket; for the last, which is open, returns its lower bound. Undefined without
 * requests.
 */
export function durationWithin(buckets: readonly number[], share: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = share * total;
  let below = 0;
  for (const [index, bound] of DURATION_BOUNDS.entries()) {
    const count = buckets[index] ?? 0;
    const low = DURATION_BOUNDS[index - 1] ?? 0;
    if (count > 0 && below + count >= rank) return low + ((bound - low) * (rank - below)) / count;
    below += count;
  }
  return DURATION_BOUNDS.at(-1);
}

/** The listener that answered a request, and whether its path was under `/v1` there. */
export interface Side {
  readonly listener: 'public' | 'operator';
  readonly api: 'true' | 'false';
}

export const API_SIDE = { listener: 'public', api: 'true' } as const satisfies Side;

export interface RequestSeries {
  readonly labels: Side & { readonly method: string; readonly route: string; readonly status: number };
  /** Requests per bucket, not cumulative; the last is +Inf. */
  readonly counts: number[];
  secondsSum: number;
}

/**
 * A histogram of request durations. prom-client's own builds a string of all labels at every observation, which costs
 * 5 % of a short request; this one builds none.
 */
export class RequestDurations {
  readonly name = 'pet_catalog_request_duration_seconds';
  readonly help = 'From the head of a request to its response; the count is the number of requests';
  /** By route; each has a handful of series. */
  readonly #series = new Map<string, RequestSeries[]>();

  observe(labels: RequestSeries['labels'], seconds: number): void {
    const series = this.#find(labels);
    let bucket = 0;
    while (seconds > (DURATION_BOUNDS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.secondsSum += seconds;
  }

  /** Every series at this moment; counting continues. */
  *series(): Generator<Readonly<RequestSeries>> {
    for (const ofRoute of this.#series.values()) yield* ofRoute;
  }

  declare(labels: RequestSeries['labels']): void {
    this.#find(labels);
  }

  #find({ listener, api, method: sent, route, status }: RequestSeries['labels']): RequestSeries {
    const method = methodLabel(sent);
    const ofRoute = this.#series.get(route) ?? [];
    for (const series of ofRoute) {
      const { labels } = series;
      if (labels.status !== status || labels.method !== method) continue;
      if (labels.api === api && labels.listener === listener) return series;
    }
    const counts = Array.from({ length: DURATION_BOUNDS.length + 1 }, () => 0);
    const series = { labels: { listener, api, method, route, status }, counts, secondsSum: 0 };
    this.#series.set(route, [...ofRoute, series]);
    return series;
  }

  /** The histogram in prom-client's format. */
  async get() {
    const { name, help } = this;
    const values = [...this.#series.values()].flat().flatMap((series) => histogramValues(name, series));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}

/** The method as usage and metrics name it. */
export function methodLabel(method: string): string {
  return METHODS.has(method) || method === '' ? method : 'other';
}

/** The exposed values of a series: cumulative buckets, sum and count. */
function histogramValues(name: string, { labels, counts, secondsSum }: RequestSeries): MetricValueWithName<string>[] {
  let count = 0;
  const buckets = counts.map((counted, index) => {
    count += counted;
    return { metricName: `${name}_bucket`, labels: { le: DURATION_BOUNDS[index] ?? '+Inf', ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { ...labels }, value: secondsSum },
    { metricName: `${name}_count`, labels: { ...labels }, value: count },
  ];
}
