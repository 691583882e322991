import { createRequire } from 'node:module';
import type * as PromClient from 'prom-client';

/**
 * The parts of prom-client that are used, each from its own file: the package as a whole loads a client of HTTP, one of
 * TLS, quantiles and an API for traces besides, 70 modules that would stay in memory. Its version is pinned for that.
 */
const require = createRequire(import.meta.url);

export const Counter: typeof PromClient.Counter = require('prom-client/lib/counter.js');
export const Gauge: typeof PromClient.Gauge = require('prom-client/lib/gauge.js');
export const Histogram: typeof PromClient.Histogram = require('prom-client/lib/histogram.js');
export const Registry: typeof PromClient.Registry = require('prom-client/lib/registry.js');

/** Those of prom-client's own that are exposed, but for processor time, which loads the API for traces there. */
const NODE_METRICS: readonly ((registry: PromClient.Registry, config: object) => void)[] = [
  require('prom-client/lib/metrics/processStartTime.js'),
  require('prom-client/lib/metrics/osMemoryHeap.js'),
  require('prom-client/lib/metrics/processOpenFileDescriptors.js'),
  require('prom-client/lib/metrics/processMaxFileDescriptors.js'),
  require('prom-client/lib/metrics/eventLoopLag.js'),
  require('prom-client/lib/metrics/processResources.js'),
  require('prom-client/lib/metrics/processHandles.js'),
  require('prom-client/lib/metrics/heapSizeAndUsed.js'),
  require('prom-client/lib/metrics/heapSpacesSizeAndUsed.js'),
  require('prom-client/lib/metrics/version.js'),
  require('prom-client/lib/metrics/gc.js'),
];
/** Gauges with the suffix of a counter; others of Node's say the same by type. */
const LEFT_OUT = ['nodejs_active_handles_total', 'nodejs_active_resources_total'];
const GC_KINDS = ['major', 'minor', 'incremental', 'weakcb'];
const MICROS_PER_SECOND = 1e6;

/** Registers the metrics of the process and of Node.js. */
export function collectProcessMetrics(registry: PromClient.Registry): void {
  const processorTime = [
    { kind: 'user_', help: 'Total user CPU time spent in seconds.', micros: ({ user }: NodeJS.CpuUsage) => user },
    {
      kind: 'system_',
      help: 'Total system CPU time spent in seconds.',
      micros: ({ system }: NodeJS.CpuUsage) => system,
    },
    {
      kind: '',
      help: 'Total user and system CPU time spent in seconds.',
      micros: ({ user, system }: NodeJS.CpuUsage) => user + system,
    },
  ];
  for (const { kind, help, micros } of processorTime) {
    new Counter({
      name: `process_cpu_${kind}seconds_total`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(micros(process.cpuUsage()) / MICROS_PER_SECOND);
      },
    });
  }
  for (const register of NODE_METRICS) register(registry, { eventLoopMonitoringPrecision: 10 });
  for (const name of LEFT_OUT) registry.removeSingleMetric(name);
  const collections = registry.getSingleMetric('nodejs_gc_duration_seconds') as PromClient.Histogram<'kind'>;
  for (const kind of GC_KINDS) collections.zero({ kind });
}
