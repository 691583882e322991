import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { SETTINGS } from '../../src/config.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { untilTrue } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { anchorsOf } from '../kit/deploy/runbook.ts';
import { run, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const noPromtool = missingPrograms('promtool');
/** Labels that Prometheus adds to every scrape. */
const ADDED_LABELS = ['job', 'instance'];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: readonly { readonly expr: string; readonly legendFormat?: string }[];
    readonly fieldConfig: {
      readonly defaults: {
        readonly unit: string;
        readonly min: number;
        readonly thresholds?: { readonly steps: { value: number; color: string }[] };
        readonly custom?: { readonly stacking: { readonly mode: string } };
      };
    };
    readonly type: string;
    readonly options?: { readonly reduceOptions: { readonly calcs: readonly string[] } };
  }[];
  readonly refresh: string;
  readonly time: object;
  readonly timezone: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

const { groups } = readYaml<{ groups: { name: string; rules: Rule[] }[] }>('prometheus/alerts.yaml');
const rules = groups.flatMap((group) => group.rules);
const dashboard: Dashboard = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/dashboard.json'), 'utf8'));
const targets = dashboard.panels.flatMap((panel) => panel.targets);

/** The metrics and labels of a PromQL expression. Throws if it is invalid. */
function namesIn(expression: string) {
  const text = expression.replaceAll('$__rate_interval', '5m');
  const metrics = new Set<string>();
  const labels = new Set<string>();
  parser.parse(text).iterate({
    enter(node) {
      assert.ok(!node.type.isError, `not PromQL: ${text} at ${text.slice(node.from)}`);
      if (node.name === 'Identifier') metrics.add(text.slice(node.from, node.to));
      if (node.name === 'LabelName') labels.add(text.slice(node.from, node.to));
    },
  });
  return { metrics: [...metrics], labels: [...labels] };
}

test('a wrong expression would be found', () => {
  assert.throws(() => namesIn('sum by (job (up)'), /not PromQL/);
  assert.deepEqual(namesIn('sum by (le) (rate(a_b{c="d"}[$__rate_interval]))'), {
    metrics: ['a_b'],
    labels: ['le', 'c'],
  });
});

suite('alerts and dashboard on a running service', () => {
  const folder = temporaryFolder();
  let service: ServiceProcess;
  /** The labels of each metric that the service tells, by the metric's name in a query. */
  let told: Map<string, Set<string>>;
  /** What Prometheus reads before the first request. */
  let atStart = '';

  before(async () => {
    const settings = { DATABASE_URL: `sqlite:${join(folder.path, 'test.db')}`, BAN_AFTER_REFUSALS: '1' };
    const operatorPort = `${await freePort()}`;
    const options = { cwd: folder.path, env: { ...settings, OPERATOR_PORT: operatorPort } };
    service = await serveProcess([], options);
    const metrics = async () => (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
    atStart = await metrics();
    const enterprise = ['--plan', 'enterprise', '--per-minute', '3', '--per-day', '1000000'];
    const { stdout } = await run(['keys', 'create', '--name', 'test', ...enterprise], options);
    const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' };
    await fetch(`${service.url}/categories`, { method: 'POST', headers, body: '{"name":"Dog"}' });
    for (const each of [{}, { authorization: 'Bearer petcat_live_wrong' }])
      await fetch(`${service.url}/categories`, { headers: each });
    let text = '';
    await untilTrue(async () => {
      await Promise.all(Array.from({ length: 10 }, () => fetch(`${service.url}/categories`, { headers })));
      text = await metrics();
      return /^pet_catalog_bans_total\{.*\} [1-9]/m.test(text);
    }, 'a ban');
    told = labelsByMetric(text);
  });
  after(async () => {
    await service?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const check = (expression: string, where: string) => {
    const { metrics, labels } = namesIn(expression);
    assert.ok(metrics.length > 0, where);
    const known = new Set([...ADDED_LABELS, ...metrics.flatMap((metric) => [...(told.get(metric) ?? [])])]);
    for (const metric of metrics) assert.ok(metric === 'up' || told.has(metric), `${where}: there is no ${metric}`);
    for (const label of labels) assert.ok(known.has(label), `${where}: ${metrics} has no label ${label}`);
    return known;
  };

  test('the service exposes enough metrics to compare', () => {
    for (const name of [
      'pet_catalog_bans_total',
      'pet_catalog_refusals_total',
      'pet_catalog_failed_authentications_total',
    ])
      assert.ok((told.get(name)?.size ?? 0) > 0, name);
    assert.ok(told.get('pet_catalog_request_duration_seconds_bucket')?.has('route'));
  });

  test('every metric has a sample from the start', () => {
    const names = [...atStart.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);
    assert.ok(names.length > 30);
    const sampled = new Set([...atStart.matchAll(/^(\w+)(?:\{.*\})? \S+$/gm)].map(([, name = '']) => name));
    assert.deepEqual(
      names.filter((name) => !sampled.has(name) && !sampled.has(`${name}_count`)),
      [],
    );
  });

  test('promtool finds no problem in the metrics', (t) => {
    if (noPromtool) return t.skip(noPromtool);
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: atStart,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  });

  test('every alert names metrics and labels that there are', () => {
    assert.ok(rules.length >= 10);
    for (const { alert, expr } of rules) check(expr, alert);
  });

  test('every panel names metrics and labels that there are, and so does its legend', () => {
    assert.ok(targets.length >= 20);
    for (const { expr, legendFormat = '' } of targets) {
      const known = check(expr, expr);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(known.has(label), `${expr}: ${label}`);
    }
    for (const { query } of dashboard.templating.list) {
      const [, metric] = /^label_values\((\w+), job\)$/.exec(query) ?? [];
      if (metric) assert.ok(told.has(metric), query);
    }
  });

  test('every metric of the service’s own is in a panel', () => {
    const shown = new Set(targets.flatMap(({ expr }) => namesIn(expr).metrics).map(withoutSuffix));
    const own = [...told.keys()].map(withoutSuffix).filter((name) => name.startsWith('pet_catalog_'));
    assert.deepEqual(
      [...new Set(own)].filter((name) => !shown.has(name)),
      [],
    );
  });
});

test('every alert has a severity, and a page of the runbook that is there', () => {
  const anchors = anchorsOf(readFileSync(join(ROOT, 'docs/operations.md'), 'utf8'));
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(page|ticket)$/, alert);
    const [page, anchor = ''] = annotations.runbook_url.split('#');
    assert.equal(page, '{{ $externalLabels.pet_catalog_runbook }}', alert);
    assert.ok(anchors.includes(anchor), `${alert}: the runbook has no #${anchor}`);
    assert.ok(annotations.summary.length < 100, alert);
  }
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

test('no panels overlap, and each has its own id', () => {
  const { panels } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  );
  assert.equal(new Set(cells).size, cells.length);
  for (const { gridPos } of panels) assert.ok(gridPos.x + gridPos.w <= 24);
});

/** The unit of each panel, and the metrics that it shows, without `pet_catalog_`. */
const SHOWN: Record<string, string> = {
  Instances: 'none up',
  'Requests per second': 'reqps request_duration_seconds_count',
  'Failing (5xx)': 'percentunit request_duration_seconds_count',
  'Latency (p99)': 's request_duration_seconds_bucket',
  Version: 'none build_info',
  'Requests by status': 'reqps request_duration_seconds_count',
  'Request duration': 's request_duration_seconds_bucket',
  'Requests by operation': 'reqps request_duration_seconds_count',
  'Latency (p99) by operation': 's request_duration_seconds_bucket',
  'Refused (429)': 'reqps refusals_total refusals_from_memory_total',
  'Without a valid key (401)': 'reqps failed_authentications_total',
  'Bans per hour': 'none bans_total',
  'Commit duration': 's commit_duration_seconds_bucket read_duration_seconds_bucket',
  'Creates per commit': 'none commit_batch_size_sum commit_batch_size_count',
  Storage: 'none waiting_writes storage_failing count_save_failures_total damaged_rows',
  'Counting in Redis': 's redis_count_duration_seconds_bucket',
  'Instances without Redis': 'none limiter_degraded redis_deadlines_total redis_failures_total',
  CPU: 'percentunit process_cpu_seconds_total',
  Memory: 'bytes process_resident_memory_bytes nodejs_heap_size_used_bytes',
  'Event loop lag': 's nodejs_eventloop_lag_p99_seconds',
  'Open file descriptors':
    'none process_open_fds process_max_fds descriptor_exhaustions_total connections_cut_off_total descriptors_exhausted',
  'Age of the newest backup': 's backup_timestamp_seconds backup_interval_seconds backup_restored_timestamp_seconds',
  'Size of the newest backup': 'bytes backup_bytes',
  'Failed backups': 'none backup_failures_total',
  'How full the catalog is': 'percentunit categories categories_max list_bytes list_bytes_max',
  'Database and disk': 'bytes database_bytes database_log_bytes disk_free_bytes',
  'Left of the certificate': 's certificate_expires_timestamp_seconds',
};

test('a panel shows what its title says, of the chosen job, in its unit', () => {
  const shown = dashboard.panels.map((panel) => {
    const metrics = panel.targets.flatMap(({ expr }) => namesIn(expr).metrics);
    const names = [...new Set(metrics)].map((metric) => metric.replace('pet_catalog_', ''));
    return [panel.title, [panel.fieldConfig.defaults.unit, ...names].join(' ')];
  });
  assert.deepEqual(Object.fromEntries(shown), SHOWN);
  for (const { title, fieldConfig, targets: each } of dashboard.panels) {
    for (const { expr, legendFormat = '' } of each) {
      const where = `${title}: ${expr}`;
      assert.doesNotMatch(expr, /\b(?:up|(?:pet_catalog|process|nodejs)_\w+)\b(?!\{job="\$job"[,}])/, where);
      assert.doesNotMatch(expr, /request_duration_seconds_\w+(?!\{job="\$job",api="true")\{/, where);
      for (const [, range] of expr.matchAll(/\[([^\]]*)\]/g))
        assert.equal(range, title.endsWith('per hour') ? '1h' : '$__rate_interval', where);
      const isCounted = fieldConfig.defaults.unit === 'none' && !legendFormat.endsWith('a second');
      for (const [, growth] of expr.matchAll(/(\w+)\(\w+_total/g))
        assert.equal(growth, isCounted ? 'increase' : 'rate', where);
      const by = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? ['instance'];
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      if (named.length > 0)
        assert.deepEqual(
          named,
          by.filter((label) => label !== 'le'),
          where,
        );
    }
  }
  const failing = dashboard.panels.find(({ title }) => title === 'Failing (5xx)')?.targets[0]?.expr ?? '';
  assert.deepEqual(failing.match(/(?<=,)status[^}]*|\) \/ /g), ['status=~"5.."', ') / ']);
});

test('the numbers at the top turn red where the alerts fire, and all are of the last three hours', () => {
  const red = dashboard.panels.map(({ title, fieldConfig: { defaults } }) => [
    title,
    defaults.thresholds?.steps.flatMap(({ color, value }) => [color, value]),
  ]);
  assert.deepEqual(Object.fromEntries(red.filter(([, steps]) => steps)), {
    Instances: ['red', null, 'green', 1],
    'Failing (5xx)': ['green', null, 'red', 0.01],
    'Latency (p99)': ['green', null, 'red', 0.5],
  });
  for (const { title, type, options, fieldConfig } of dashboard.panels) {
    const { min, custom } = fieldConfig.defaults;
    const shape = [type, min, custom?.stacking.mode, options?.reduceOptions.calcs];
    const stacked = title === 'Requests by status' ? 'normal' : 'none';
    const ofOne = ['stat', 0, undefined, ['lastNotNull']];
    assert.deepEqual(shape, type === 'stat' ? ofOne : ['timeseries', 0, stacked, undefined], title);
  }
  const { refresh, time, timezone, templating } = dashboard;
  assert.deepEqual([refresh, time, timezone], ['30s', { from: 'now-3h', to: 'now' }, 'utc']);
  assert.deepEqual(
    templating.list.map(({ name, query }) => [name, query]),
    [
      ['datasource', 'prometheus'],
      ['job', 'label_values(pet_catalog_build_info, job)'],
    ],
  );
});

test('Prometheus asks the operator listener, and knows where the runbook is', () => {
  const {
    global,
    scrape_configs: [scrape],
    rule_files: files,
  } = readYaml<{
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[]; metrics_path?: string }[];
    rule_files: string[];
    global: { external_labels: { pet_catalog_runbook: string } };
  }>('prometheus/prometheus.yaml');
  assert.deepEqual(files, ['alerts.yaml']);
  assert.deepEqual(scrape?.static_configs[0]?.targets, [
    `${SETTINGS.OPERATOR_HOST.default}:${SETTINGS.OPERATOR_PORT.default}`,
  ]);
  assert.deepEqual([scrape?.job_name, scrape?.metrics_path], ['pet-catalog', undefined]);
  assert.match(global.external_labels.pet_catalog_runbook, /^https:/);
});

function readYaml<T>(file: string): T {
  return parse(readFileSync(join(ROOT, 'deploy', file), 'utf8'));
}

/** Reads the text that Prometheus reads. A metric that has no value yet has the labels that the code gives it. */
function labelsByMetric(text: string): Map<string, Set<string>> {
  const labels = new Map<string, Set<string>>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const declared = (createMetrics().registry.getSingleMetric(name) as { labelNames?: string[] } | undefined)
      ?.labelNames;
    const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) labels.set(name + suffix, new Set(declared));
  }
  for (const [, name = '', found = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm))
    for (const [, label = ''] of found.matchAll(/(\w+)="/g)) labels.get(name)?.add(label);
  return labels;
}

function withoutSuffix(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}
