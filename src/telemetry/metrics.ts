import { Counter, collectDefaultMetrics, Gauge, Histogram, type MetricValueWithName, Registry } from 'prom-client';

/** Seconds; from an answer out of memory to one that waited for a slow disk. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export type Metrics = ReturnType<typeof createMetrics>;

/** The service's metrics in a registry of their own; `events.ts` alone feeds them. Label values come from closed sets. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  return { registry, ...requestMetrics(registers), ...limitMetrics(registers), ...storageMetrics(registers) };
}

function requestMetrics(registers: Registry[]) {
  return {
    build: new Gauge({
      name: 'pet_catalog_build_info',
      help: 'Always 1; the labels tell what runs',
      labelNames: ['version', 'node', 'environment'],
      registers,
    }),
    requests: new RequestDurations(registers),
    failedAuthentications: new Counter({
      name: 'pet_catalog_failed_authentications_total',
      help: 'Requests answered with 401, by whether a key was presented',
      labelNames: ['reason'],
      registers,
    }),
  };
}

function limitMetrics(registers: Registry[]) {
  return {
    refusals: new Refusals(registers),
    bans: new Counter({
      name: 'pet_catalog_bans_total',
      help: 'Bans begun, by the plan of the key',
      labelNames: ['plan'],
      registers,
    }),
    unsavedCounts: new Counter({
      name: 'pet_catalog_count_save_failures_total',
      help: 'Tries to save the counts of the limiter that failed',
      registers,
    }),
    limiterDegraded: new Gauge({
      name: 'pet_catalog_limiter_degraded',
      help: 'Whether this instance counts by itself because Redis cannot; always 0 without Redis',
      registers,
    }),
    redisFailures: new Counter({
      name: 'pet_catalog_redis_failures_total',
      help: 'Calls of Redis and tries to connect to it that failed or took too long',
      registers,
    }),
    countDuration: new Histogram({
      name: 'pet_catalog_redis_count_duration_seconds',
      help: 'Counting a request in Redis, the way there and back included',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    refusalsFromMemory: new Counter({
      name: 'pet_catalog_refusals_from_memory_total',
      help: 'Requests over their limit that were refused without asking Redis',
      registers,
    }),
  };
}

function storageMetrics(registers: Registry[]) {
  return {
    readDuration: new Histogram({
      name: 'pet_catalog_read_duration_seconds',
      help: 'Reading from the database what is not in memory',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    commitDuration: new Histogram({
      name: 'pet_catalog_commit_duration_seconds',
      help: 'A durable transaction of creates, its fsync included',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    commitBatch: new Histogram({
      name: 'pet_catalog_commit_batch_size',
      help: 'Creates that shared a transaction',
      buckets: BATCH_BUCKETS,
      registers,
    }),
    waitingWrites: new Gauge({
      name: 'pet_catalog_waiting_writes',
      help: 'Creates that wait for a transaction',
      registers,
    }),
    storageFailing: new Gauge({
      name: 'pet_catalog_storage_failing',
      help: 'Whether the last reading or writing of the database failed',
      labelNames: ['work'],
      registers,
    }),
  };
}

/** The requests of one method, route and status. */
interface RequestSeries {
  readonly labels: { readonly method: string; readonly route: string; readonly status: number };
  /** How many took as long as each bucket admits and no less; at the end, those that took longer than all. */
  readonly counts: number[];
  secondsInAll: number;
}

/**
 * How long requests took, as a histogram. One of prom-client's makes a text of all labels at every observation, which
 * is the twentieth part of a short answer; this one makes none.
 */
class RequestDurations {
  readonly name = 'pet_catalog_request_duration_seconds';
  readonly help = 'From the head of a request to its answer; the count is the number of requests';
  /** By route, which has a handful each. */
  readonly #series = new Map<string, RequestSeries[]>();

  constructor(registers: readonly Registry[]) {
    register(this, registers);
  }

  observe(labels: RequestSeries['labels'], seconds: number): void {
    const series = this.#find(labels);
    let bucket = 0;
    while (seconds > (DURATION_BUCKETS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.secondsInAll += seconds;
  }

  #find({ method, route, status }: RequestSeries['labels']): RequestSeries {
    const ofRoute = this.#series.get(route) ?? [];
    for (const series of ofRoute) {
      if (series.labels.status === status && series.labels.method === method) return series;
    }
    const counts = Array.from({ length: DURATION_BUCKETS.length + 1 }, () => 0);
    const series = { labels: { method, route, status }, counts, secondsInAll: 0 };
    this.#series.set(route, [...ofRoute, series]);
    return series;
  }

  /** The histogram as prom-client writes one. */
  async get() {
    const { name, help } = this;
    const values = [...this.#series.values()].flat().flatMap((series) => histogramValues(name, series));
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }
}

/** How many requests were refused. Counted without making a text of the labels, since refusals come in floods. */
class Refusals {
  readonly name = 'pet_catalog_refusals_total';
  readonly help = 'Requests answered with 429, by the plan of the key and the reason';
  readonly #values: { readonly labels: { readonly plan: string; readonly reason: string }; value: number }[] = [];

  constructor(registers: readonly Registry[]) {
    register(this, registers);
  }

  inc(plan: string, reason: string): void {
    for (const counted of this.#values) {
      if (counted.labels.plan !== plan || counted.labels.reason !== reason) continue;
      counted.value += 1;
      return;
    }
    this.#values.push({ labels: { plan, reason }, value: 1 });
  }

  /** The counter as prom-client writes one. */
  async get() {
    const { name, help } = this;
    return { name, help, type: 'counter', aggregator: 'sum', values: this.#values };
  }
}

/** A registry reads a metric's name and calls its `get`, whatever class it is of; prom-client's types name four. */
function register(metric: { readonly name: string; get(): Promise<object> }, registers: readonly Registry[]): void {
  for (const registry of registers) registry.registerMetric(metric as unknown as Counter);
}

/** What is exposed of a series: each bucket with those below it, the sum and the count. */
function histogramValues(name: string, { labels, counts, secondsInAll }: RequestSeries): MetricValueWithName<string>[] {
  let count = 0;
  const buckets = counts.map((counted, index) => {
    count += counted;
    return { metricName: `${name}_bucket`, labels: { le: DURATION_BUCKETS[index] ?? '+Inf', ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: { ...labels }, value: secondsInAll },
    { metricName: `${name}_count`, labels: { ...labels }, value: count },
  ];
}
