import { createRequire } from 'node:module';
import type * as PromClient from 'prom-client';
import type { AnyErrorCode } from '../catalog/error.ts';
import { PLAN_NAMES } from '../catalog/plan.ts';
import { NEAR_LIMIT_PERCENT } from '../catalog/window-counts.ts';
import { API_SIDE, DURATION_BOUNDS, RequestDurations, type Side } from './request-metrics.ts';

const PREFIX = 'pet_catalog_';
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export type Metrics = ReturnType<typeof createMetrics>;

const AUTHENTICATION_FAILURES: readonly (Side & { readonly reason: AnyErrorCode })[] = [
  { ...API_SIDE, reason: 'missing_api_key' },
  { ...API_SIDE, reason: 'invalid_api_key' },
  { listener: 'operator', api: 'false', reason: 'missing_token' },
  { listener: 'operator', api: 'false', reason: 'invalid_token' },
];

const REFUSALS = ['rate_limit_exceeded', 'daily_quota_exceeded', 'key_banned'] as const satisfies AnyErrorCode[];

const SIDES = [
  ['public', 'true'],
  ['public', 'false'],
  ['operator', 'false'],
] as const;

/**
 * Creates the service's metrics in their own registry; only `events.ts` feeds them. Label values are closed sets, but
 * for the masters of a Redis Cluster. Every counter starts at 0: the first event of one that appears only with it would
 * be no increase to Prometheus.
 */
export function createMetrics() {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const makers = metricsIn(registry);
  const metrics = { ...requestMetrics(makers), ...limitMetrics(makers), ...storageMetrics(makers) };
  for (const labels of AUTHENTICATION_FAILURES) metrics.failedAuthentications.inc({ ...labels }, 0);
  for (const [listener, api] of SIDES) metrics.requestFailures.inc({ listener, api }, 0);
  for (const plan of PLAN_NAMES) {
    metrics.bans.inc({ plan }, 0);
    for (const reason of REFUSALS) metrics.refusals.inc({ ...API_SIDE, plan, reason }, 0);
  }
  for (const use of ['near', 'reached']) metrics.dayLimitNews.inc({ use }, 0);
  for (const work of ['read', 'write']) metrics.storageFailing.set({ work }, 0);
  metrics.redisMasterLost.set(0);
  return { registry, ...metrics };
}

/** Makes metrics in a registry, all under the prefix of the service. */
function metricsIn(registry: PromClient.Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name: PREFIX + name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Gauge({ name: PREFIX + name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[] = [...DURATION_BOUNDS]) =>
      new Histogram({ name: PREFIX + name, help, buckets, registers }),
    /** A registry only needs `name` and `get`, but prom-client's types demand its own classes. */
    registered<T extends { readonly name: string; get(): Promise<object> }>(metric: T): T {
      registry.registerMetric(metric as unknown as PromClient.Counter);
      return metric;
    },
  };
}

type Makers = ReturnType<typeof metricsIn>;

function requestMetrics({ counter, gauge, registered }: Makers) {
  return {
    build: gauge('build_info', 'Always 1; the labels name the running version', ['version', 'node', 'environment']),
    requests: registered(new RequestDurations()),
    requestFailures: counter('request_failures_total', 'Requests answered with 500 and above, but for 501 and 505', [
      'listener',
      'api',
    ]),
    logLinesLost: counter(
      'log_lines_lost_total',
      'Lines of the log that were lost because its reader stalls or its disk is full',
    ),
    connectionsRefused: counter('connections_refused_total', 'Connections closed as they came, beyond CONNECTIONS_MAX'),
    connectionsCutOff: counter(
      'connections_cut_off_total',
      'Connections closed because of too many unserved requests, or because of unread answers',
    ),
    failedAuthentications: counter('failed_authentications_total', 'Requests answered with 401, by error code', [
      'listener',
      'api',
      'reason',
    ]),
  };
}

function limitMetrics({ counter, gauge, histogram }: Makers) {
  return {
    refusals: counter('refusals_total', 'Requests answered with 429, by the plan of the key and the reason', [
      'listener',
      'api',
      'plan',
      'reason',
    ]),
    bans: counter('bans_total', 'Bans started, by the plan of the key', ['plan']),
    unsavedCounts: counter('count_save_failures_total', 'Failed attempts to save the counts of the limiter'),
    keysNearDayLimit: gauge(
      'keys_near_day_limit',
      `Keys that used ${NEAR_LIMIT_PERCENT} % or more of their limit of the UTC day, of all instances`,
    ),
    dayLimitNews: counter(
      'day_limit_news_total',
      `Keys that came near their limit of the UTC day (${NEAR_LIMIT_PERCENT} %) or reached it, each once a day, of all instances`,
      ['use'],
    ),
    limiterDegraded: gauge(
      'limiter_degraded',
      '1 while this instance counts alone because Redis, or a master of its cluster, is unavailable',
    ),
    redisMasterLost: gauge('redis_master_lost', '1 for each master of a Redis Cluster that is unavailable, else 0', [
      'master',
    ]),
    redisFailures: counter('redis_failures_total', 'Redis calls and connection attempts that failed or timed out'),
    redisDeadlines: counter(
      'redis_deadlines_total',
      'Times that Redis missed its 50 ms, so that requests were admitted by the share of this instance',
    ),
    countDuration: histogram(
      'redis_count_duration_seconds',
      'Time to count a request in Redis, including the round trip',
    ),
    refusalsFromMemory: counter('refusals_from_memory_total', 'Requests refused from memory, without asking Redis'),
  };
}

function storageMetrics({ counter, gauge, histogram }: Makers) {
  return {
    readDuration: histogram('read_duration_seconds', 'Duration of database reads'),
    commitDuration: histogram('commit_duration_seconds', 'Duration of a durable write batch, including its fsync'),
    commitBatch: histogram('commit_batch_size', 'Writes per batch', BATCH_BUCKETS),
    waitingWrites: gauge('waiting_writes', 'Writes that wait for a batch'),
    storageFailing: gauge('storage_failing', '1 while database reads or writes fail', ['work']),
    backupInterval: gauge('backup_interval_seconds', 'How often a backup is due; 0 without a schedule'),
    backupTime: gauge(
      'backup_timestamp_seconds',
      'When the newest backup was made that was found sound, in Unix seconds; its age is the time since',
    ),
    backupRestored: gauge(
      'backup_restored_timestamp_seconds',
      'When a backup was last restored on trial and compared, in Unix seconds; 0 for never',
    ),
    backupBytes: gauge('backup_bytes', 'The size of the newest backup'),
    backupFailures: counter('backup_failures_total', 'Scheduled backups that were not made, or found damaged'),
    categories: gauge('categories', 'Categories in the catalog'),
    categoriesMax: gauge('categories_max', 'The most categories there may be (CATEGORIES_MAX)'),
    listBytes: gauge('list_bytes', 'Bytes of the list of all categories, as it is sent'),
    listBytesMax: gauge('list_bytes_max', 'The most bytes of that list (CATEGORIES_BYTES_MAX)'),
    databaseBytes: gauge('database_bytes', 'The size of the database'),
    databaseLogBytes: gauge('database_log_bytes', 'The size of the log beside an embedded database'),
    diskFreeBytes: gauge('disk_free_bytes', 'Free on the disk of an embedded database; NaN for PostgreSQL'),
  };
}

/**
 * The parts of prom-client that are used, each from its own file: the package as a whole loads a client of HTTP, one of
 * TLS, quantiles and an API for traces besides, 70 modules that would stay in memory. Its version is pinned for that.
 */
const require = createRequire(import.meta.url);

const Counter: typeof PromClient.Counter = require('prom-client/lib/counter.js');
const Gauge: typeof PromClient.Gauge = require('prom-client/lib/gauge.js');
const Histogram: typeof PromClient.Histogram = require('prom-client/lib/histogram.js');
const Registry: typeof PromClient.Registry = require('prom-client/lib/registry.js');

/** Those of prom-client's own that are exposed, but for processor time, which loads the API for traces there. */
const NODE_METRICS: readonly ((registry: PromClient.Registry, config: object) => void)[] = [
  require('prom-client/lib/metrics/processStartTime.js'),
  require('prom-client/lib/metrics/osMemoryHeap.js'),
  require('prom-client/lib/metrics/processOpenFileDescriptors.js'),
  require('prom-client/lib/metrics/processMaxFileDescriptors.js'),
  require('prom-client/lib/metrics/eventLoopLag.js'),
  require('prom-client/lib/metrics/heapSizeAndUsed.js'),
  require('prom-client/lib/metrics/gc.js'),
];
const MICROS_PER_SECOND = 1e6;

/** Registers the metrics of the process and of Node.js. */
function collectProcessMetrics(registry: PromClient.Registry): void {
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / MICROS_PER_SECOND);
    },
  });
  for (const register of NODE_METRICS) register(registry, { eventLoopMonitoringPrecision: 10 });
}
