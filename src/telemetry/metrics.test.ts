import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';

/** What dashboards and alerts of operators are built on: a change here is one of the interface. */
const OWN = [
  ['build_info', 'gauge', 'Always 1; the labels name the running version'],
  [
    'request_duration_seconds',
    'histogram',
    'From the head of a request to its response; the count is the number of requests',
  ],
  ['connections_refused_total', 'counter', 'Connections closed as they came, beyond CONNECTIONS_MAX'],
  [
    'connections_cut_off_total',
    'counter',
    'Connections closed because of too many unserved requests, or because of unread answers',
  ],
  ['failed_authentications_total', 'counter', 'Requests answered with 401, by error code'],
  ['refusals_total', 'counter', 'Requests answered with 429, by the plan of the key and the reason'],
  ['bans_total', 'counter', 'Bans started, by the plan of the key'],
  ['count_save_failures_total', 'counter', 'Failed attempts to save the counts of the limiter'],
  [
    'limiter_degraded',
    'gauge',
    '1 while this instance counts alone because Redis is unavailable; always 0 without REDIS_URL',
  ],
  ['redis_failures_total', 'counter', 'Redis calls and connection attempts that failed or timed out'],
  [
    'redis_deadlines_total',
    'counter',
    'Times that Redis missed its 50 ms, so that requests were admitted by the share of this instance',
  ],
  ['redis_count_duration_seconds', 'histogram', 'Time to count a request in Redis, including the round trip'],
  ['refusals_from_memory_total', 'counter', 'Requests refused from memory, without asking Redis'],
  ['read_duration_seconds', 'histogram', 'Duration of database reads'],
  ['commit_duration_seconds', 'histogram', 'Duration of a durable write batch, including its fsync'],
  ['commit_batch_size', 'histogram', 'Writes per batch'],
  ['waiting_writes', 'gauge', 'Writes that wait for a batch'],
  ['storage_failing', 'gauge', '1 while database reads or writes fail'],
  ['backup_interval_seconds', 'gauge', 'How often a backup is due; 0 without a schedule'],
  [
    'backup_timestamp_seconds',
    'gauge',
    'When the newest backup was made that was found sound, in Unix seconds; its age is the time since',
  ],
  [
    'backup_restored_timestamp_seconds',
    'gauge',
    'When a backup was last restored on trial and compared, in Unix seconds; 0 for never',
  ],
  ['backup_bytes', 'gauge', 'The size of the newest backup'],
  ['backup_failures_total', 'counter', 'Scheduled backups that were not made, or found damaged'],
  ['categories', 'gauge', 'Categories in the catalog'],
  ['categories_max', 'gauge', 'The most categories there may be (CATEGORIES_MAX)'],
  ['list_bytes', 'gauge', 'Bytes of the list of all categories, as it is sent'],
  ['list_bytes_max', 'gauge', 'The most bytes of that list (CATEGORIES_BYTES_MAX)'],
  ['database_bytes', 'gauge', 'The size of the database'],
  ['database_log_bytes', 'gauge', 'The size of the log beside an embedded database'],
  ['disk_free_bytes', 'gauge', 'Free on the disk of an embedded database; NaN for PostgreSQL'],
];
const OF_THE_PROCESS = [
  'process_cpu_user_seconds_total counter',
  'process_cpu_system_seconds_total counter',
  'process_cpu_seconds_total counter',
  'process_start_time_seconds gauge',
  'process_resident_memory_bytes gauge',
  'process_virtual_memory_bytes gauge',
  'process_heap_bytes gauge',
  'process_open_fds gauge',
  'process_max_fds gauge',
  'nodejs_eventloop_lag_seconds gauge',
  'nodejs_eventloop_lag_min_seconds gauge',
  'nodejs_eventloop_lag_max_seconds gauge',
  'nodejs_eventloop_lag_mean_seconds gauge',
  'nodejs_eventloop_lag_stddev_seconds gauge',
  'nodejs_eventloop_lag_p50_seconds gauge',
  'nodejs_eventloop_lag_p90_seconds gauge',
  'nodejs_eventloop_lag_p99_seconds gauge',
  'nodejs_active_resources gauge',
  'nodejs_active_handles gauge',
  'nodejs_heap_size_total_bytes gauge',
  'nodejs_heap_size_used_bytes gauge',
  'nodejs_external_memory_bytes gauge',
  'nodejs_heap_space_size_total_bytes gauge',
  'nodejs_heap_space_size_used_bytes gauge',
  'nodejs_heap_space_size_available_bytes gauge',
  'nodejs_version_info gauge',
  'nodejs_gc_duration_seconds histogram',
];

test('each metric of the service has its name, type and words', async () => {
  const text = await createMetrics().registry.metrics();
  const own = [...text.matchAll(/^# HELP pet_catalog_(\w+) (.*)\n# TYPE \w+ (\w+)$/gm)];
  assert.deepEqual(
    own.map(([, name, help, type]) => [name, type, help]),
    OWN,
  );
});

test('so has each of the process', { skip: process.platform !== 'linux' && 'tells less elsewhere' }, async () => {
  const text = await createMetrics().registry.metrics();
  const others = [...text.matchAll(/^# TYPE (?!pet_catalog_)(\w+ \w+)$/gm)];
  assert.deepEqual(
    others.map(([, told]) => told),
    OF_THE_PROCESS,
  );
});

test('batches, durations and collections are told by their classes', async () => {
  const text = await createMetrics().registry.metrics();
  const labels = (name: string, label: string) =>
    [
      ...new Set([...text.matchAll(new RegExp(`^${name}\\{.*?${label}="([^"]+)"`, 'gm'))].map(([, value]) => value)),
    ].join(' ');
  assert.equal(labels('pet_catalog_commit_batch_size_bucket', 'le'), '1 2 4 8 16 32 64 128 256 +Inf');
  const seconds = '0.0005 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 10 +Inf';
  for (const name of ['read', 'commit', 'redis_count'])
    assert.equal(labels(`pet_catalog_${name}_duration_seconds_bucket`, 'le'), seconds, name);
  assert.equal(labels('nodejs_gc_duration_seconds_count', 'kind'), 'major minor incremental weakcb');
});

test('the processor time is that of the process so far, in seconds', async (t) => {
  t.mock.method(process, 'cpuUsage', () => ({ user: 2_000_000, system: 500_000 }));
  const { registry } = createMetrics();
  for (let time = 0; time < 2; time += 1) {
    const text = await registry.metrics();
    const told = [...text.matchAll(/^process_cpu_(\w*)seconds_total (\S+)$/gm)].map(([, kind, value]) => [kind, value]);
    assert.deepEqual(told, [
      ['user_', '2'],
      ['system_', '0.5'],
      ['', '2.5'],
    ]);
  }
});
