import type * as PromClient from 'prom-client';
import type { AnyErrorCode } from '../catalog/error.ts';
import { PLAN_NAMES } from '../catalog/plan.ts';
import { DURATION_BOUNDS } from '../catalog/usage.ts';
import { Counter, collectProcessMetrics, Gauge, Histogram, Registry } from './prometheus.ts';
import { API_SIDE, Refusals, RequestDurations, type Side } from './request-metrics.ts';

const DURATION_BUCKETS = [...DURATION_BOUNDS];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export type Metrics = ReturnType<typeof createMetrics>;

const AUTHENTICATION_FAILURES: readonly (Side & { readonly reason: AnyErrorCode })[] = [
  { ...API_SIDE, reason: 'missing_api_key' },
  { ...API_SIDE, reason: 'invalid_api_key' },
  { listener: 'operator', api: 'false', reason: 'missing_token' },
  { listener: 'operator', api: 'false', reason: 'invalid_token' },
];
/** The tables whose rows have checksums. */
const CHECKED_TABLES = ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets'];

/**
 * Creates the service's metrics in their own registry; only `events.ts` feeds them. Label values are closed sets. Every
 * series starts at 0: the first event of one that appears only with it would be no increase to Prometheus.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectProcessMetrics(registry);
  const metrics = {
    ...requestMetrics(registers),
    ...limitMetrics(registers),
    ...storageMetrics(registers),
    ...backupMetrics(registers),
    ...fullnessMetrics(registers),
  };
  for (const labels of AUTHENTICATION_FAILURES) metrics.failedAuthentications.inc({ ...labels }, 0);
  for (const plan of PLAN_NAMES) metrics.bans.inc({ plan }, 0);
  for (const table of CHECKED_TABLES) metrics.damagedRows.set({ table }, 0);
  for (const work of ['read', 'write']) metrics.storageFailing.set({ work }, 0);
  return { registry, ...metrics };
}

function requestMetrics(registers: PromClient.Registry[]) {
  return {
    build: new Gauge({
      name: 'pet_catalog_build_info',
      help: 'Always 1; the labels name the running version',
      labelNames: ['version', 'node', 'environment'],
      registers,
    }),
    requests: registered(new RequestDurations(), registers),
    connectionsCutOff: new Counter({
      name: 'pet_catalog_connections_cut_off_total',
      help: 'Connections closed because requests and unread answers held too much memory',
      registers,
    }),
    descriptorExhaustions: new Counter({
      name: 'pet_catalog_descriptor_exhaustions_total',
      help: 'Times that no file descriptor was left, so that connections were closed unanswered',
      registers,
    }),
    descriptorsExhausted: new Gauge({
      name: 'pet_catalog_descriptors_exhausted',
      help: '1 while no file descriptor is left',
      registers,
    }),
    failedAuthentications: new Counter({
      name: 'pet_catalog_failed_authentications_total',
      help: 'Requests answered with 401, by error code',
      labelNames: ['listener', 'api', 'reason'],
      registers,
    }),
  };
}

function limitMetrics(registers: PromClient.Registry[]) {
  return {
    refusals: registered(new Refusals(), registers),
    bans: new Counter({
      name: 'pet_catalog_bans_total',
      help: 'Bans started, by the plan of the key',
      labelNames: ['plan'],
      registers,
    }),
    unsavedCounts: new Counter({
      name: 'pet_catalog_count_save_failures_total',
      help: 'Failed attempts to save the counts of the limiter',
      registers,
    }),
    limiterDegraded: new Gauge({
      name: 'pet_catalog_limiter_degraded',
      help: '1 while this instance counts alone because Redis is unavailable; always 0 without REDIS_URL',
      registers,
    }),
    redisFailures: new Counter({
      name: 'pet_catalog_redis_failures_total',
      help: 'Redis calls and connection attempts that failed or timed out',
      registers,
    }),
    redisDeadlines: new Counter({
      name: 'pet_catalog_redis_deadlines_total',
      help: 'Times that Redis missed its 50 ms, so that requests were admitted by the share of this instance',
      registers,
    }),
    countDuration: new Histogram({
      name: 'pet_catalog_redis_count_duration_seconds',
      help: 'Time to count a request in Redis, including the round trip',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    refusalsFromMemory: new Counter({
      name: 'pet_catalog_refusals_from_memory_total',
      help: 'Requests refused from memory, without asking Redis',
      registers,
    }),
  };
}

function storageMetrics(registers: PromClient.Registry[]) {
  return {
    readDuration: new Histogram({
      name: 'pet_catalog_read_duration_seconds',
      help: 'Duration of database reads',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    commitDuration: new Histogram({
      name: 'pet_catalog_commit_duration_seconds',
      help: 'Duration of a durable write batch, including its fsync',
      buckets: DURATION_BUCKETS,
      registers,
    }),
    commitBatch: new Histogram({
      name: 'pet_catalog_commit_batch_size',
      help: 'Writes per batch',
      buckets: BATCH_BUCKETS,
      registers,
    }),
    waitingWrites: new Gauge({
      name: 'pet_catalog_waiting_writes',
      help: 'Writes that wait for a batch',
      registers,
    }),
    storageFailing: new Gauge({
      name: 'pet_catalog_storage_failing',
      help: '1 while database reads or writes fail',
      labelNames: ['work'],
      registers,
    }),
    damagedRows: new Gauge({
      name: 'pet_catalog_damaged_rows',
      help: 'Rows that were found damaged since the start, and left out',
      labelNames: ['table'],
      registers,
    }),
  };
}

function backupMetrics(registers: PromClient.Registry[]) {
  return {
    backupInterval: new Gauge({
      name: 'pet_catalog_backup_interval_seconds',
      help: 'How often a backup is due; 0 without a schedule',
      registers,
    }),
    backupTime: new Gauge({
      name: 'pet_catalog_backup_timestamp_seconds',
      help: 'When the newest backup was made that was found sound, in Unix seconds; its age is the time since',
      registers,
    }),
    backupRestored: new Gauge({
      name: 'pet_catalog_backup_restored_timestamp_seconds',
      help: 'When a backup was last restored on trial and compared, in Unix seconds; 0 for never',
      registers,
    }),
    backupBytes: new Gauge({
      name: 'pet_catalog_backup_bytes',
      help: 'The size of the newest backup',
      registers,
    }),
    backupFailures: new Counter({
      name: 'pet_catalog_backup_failures_total',
      help: 'Scheduled backups that were not made, found damaged, or not restored on trial',
      registers,
    }),
  };
}

function fullnessMetrics(registers: PromClient.Registry[]) {
  const gauge = (name: string, help: string) => new Gauge({ name: `pet_catalog_${name}`, help, registers });
  return {
    categories: gauge('categories', 'Categories in the catalog'),
    categoriesMax: gauge('categories_max', 'The most categories there may be (CATEGORIES_MAX)'),
    listBytes: gauge('list_bytes', 'Bytes of the list of all categories, as it is sent'),
    listBytesMax: gauge('list_bytes_max', 'The most bytes of that list (CATEGORIES_BYTES_MAX)'),
    databaseBytes: gauge('database_bytes', 'The size of the database'),
    databaseLogBytes: gauge('database_log_bytes', 'The size of the log beside an embedded database'),
    diskFreeBytes: gauge('disk_free_bytes', 'Free on the disk of an embedded database; NaN for PostgreSQL'),
    certificateExpires: gauge(
      'certificate_expires_timestamp_seconds',
      'When the certificate of the public listener ends, in Unix seconds; 0 without one',
    ),
  };
}

/**
 * Registers a custom metric: a registry only needs `name` and `get`, but prom-client's types demand its own classes.
 */
function registered<T extends { readonly name: string; get(): Promise<object> }>(
  metric: T,
  registers: readonly PromClient.Registry[],
): T {
  for (const registry of registers) registry.registerMetric(metric as unknown as PromClient.Counter);
  return metric;
}
