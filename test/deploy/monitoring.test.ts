import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { untilTrue } from '../kit/clock.ts';
import { DEPLOY, text, yaml } from '../kit/deploy/files.ts';
import { missingPrograms, SPARING } from '../kit/deploy/programs.ts';
import { anchorsOf } from '../kit/deploy/runbook.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run, type ServiceProcess, serveProcess } from '../kit/process.ts';

const noPromtool = missingPrograms('promtool');
/** Labels that Prometheus adds to every scrape. */
const ADDED_LABELS = ['job', 'instance'];
const SCRAPED = 'job="shop",instance="a:1"';

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
    readonly fieldConfig: { readonly defaults: { readonly noValue?: string } };
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: readonly { readonly expr: string; readonly legendFormat?: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
  readonly annotations: {
    readonly list: readonly { readonly name: string; readonly expr: string; readonly textFormat: string }[];
  };
}

interface Recording {
  readonly record: string;
  readonly expr: string;
}

const { groups } = yaml('prometheus/alerts.yaml') as { groups: { rules: (Rule | Recording)[] }[] };
const allRules = groups.flatMap((group) => group.rules);
const rules = allRules.filter((rule) => 'alert' in rule);
const recordings = allRules.filter((rule) => 'record' in rule);
const dashboard: Dashboard = JSON.parse(text('grafana/dashboard.json'));
const targets = dashboard.panels.flatMap((panel) => panel.targets);

/** The metrics and labels of a PromQL expression. Throws if it is invalid. */
function namesIn(expression: string) {
  const text = withVariables(expression);
  const metrics = new Set<string>();
  const labels = new Set<string>();
  const selectors: string[] = [];
  parser.parse(text).iterate({
    enter(node) {
      assert.ok(!node.type.isError, `not PromQL: ${text} at ${text.slice(node.from)}`);
      if (node.name === 'Identifier') metrics.add(text.slice(node.from, node.to));
      if (node.name === 'LabelName') labels.add(text.slice(node.from, node.to));
      if (node.name === 'VectorSelector') selectors.push(text.slice(node.from, node.to));
    },
  });
  return { metrics: [...metrics], labels: [...labels], selectors };
}

/** An expression of the dashboard as Grafana sends it, with all instances of one job. */
function withVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'shop').replaceAll('$instance', '.*');
}

/** Series for promtool, of all metrics that are in `last`: from their value in `first`, or 0, for ten minutes. */
function seriesOf(first: string, last: string) {
  const valuesIn = (text: string) =>
    new Map([...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]));
  const before = valuesIn(first);
  const all = [...valuesIn(last)].filter(([, value]) => Number.isFinite(value));
  const up = { series: `up{${SCRAPED}}`, values: '1x40' };
  return [up].concat(
    all.map(([name, value]) => {
      const [, metric, labels] = /^(\w+)(?:\{(.*)\})?$/.exec(name) ?? [];
      const from = before.get(name) ?? 0;
      const step = (value - from) / 40;
      return {
        series: `${metric}{${SCRAPED}${labels ? `,${labels}` : ''}}`,
        values: `${from}${step < 0 ? '-' : '+'}${Math.abs(step)}x40`,
      };
    }),
  );
}

type Expected = readonly [expression: string, at: string, isThere: boolean];

/** What promtool complains of where expressions have no value but NaN, or have one, against what is expected. */
function complaints(series: readonly object[], expected: readonly Expected[]): string {
  using folder = temporaryFolder();
  const ruleFile = join(folder.path, 'alerts.yaml');
  copyFileSync(join(DEPLOY, 'prometheus/alerts.yaml'), ruleFile);
  const file = join(folder.path, 'test.json');
  const tests = expected.map(([expression, at, isThere]) => ({
    expr: `clamp_max(count((${withVariables(expression)}) == (${withVariables(expression)})), 1)`,
    eval_time: at,
    exp_samples: isThere ? [{ labels: '{}', value: 1 }] : [],
  }));
  const unit = { interval: '15s', input_series: series, promql_expr_test: tests };
  writeFileSync(file, JSON.stringify({ rule_files: [ruleFile], evaluation_interval: '15s', tests: [unit] }));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8', env: SPARING });
  return status === 0 ? '' : stdout + stderr;
}

suite('alerts and dashboard on a running service', () => {
  const folder = temporaryFolder();
  const backups = { BACKUP_DIR: 'backups', BACKUP_EVERY: '1h' };
  const env = { BAN_AFTER_REFUSALS: '1', ...backups, CATEGORIES_MAX: '11', CATEGORIES_BYTES_MAX: '2048' };
  const options = { cwd: folder.path, env };
  let service: ServiceProcess;
  /** The labels of each metric that the service tells, by the metric's name in a query. */
  let told: Map<string, Set<string>>;
  /** What Prometheus reads before the first request. */
  let atStart = '';
  let later = '';

  before(async () => {
    const file = join(folder.path, 'nine.ndjson');
    writeFileSync(file, Array.from({ length: 9 }, (_, index) => `{"name":"c${index}"}\n`).join(''));
    for (const args of [['migrate'], ['categories', 'import', file]]) assert.equal((await run(args, options)).code, 0);
    service = await serveProcess([], { ...options, env: { ...options.env, OPERATOR_PORT: '0' } });
    const operatorUrl = await service.operatorUrl();
    const metrics = async () => (await fetch(`${operatorUrl}/metrics`)).text();
    atStart = await metrics();
    const enterprise = ['--plan', 'enterprise', '--per-minute', '3', '--per-day', '1000000'];
    const { stdout } = await run(['keys', 'create', '--name', 'test', ...enterprise], options);
    const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' };
    await fetch(`${service.url}/categories`, { method: 'POST', headers, body: '{"name":"Dog"}' });
    for (const each of [{}, { authorization: 'Bearer petcat_live_wrong' }])
      await fetch(`${service.url}/categories`, { headers: each });
    await untilTrue(async () => {
      await Promise.all(Array.from({ length: 10 }, () => fetch(`${service.url}/categories`, { headers })));
      later = await metrics();
      return /^pet_catalog_bans_total\{.*\} [1-9]/m.test(later) && /^pet_catalog_backup_bytes [1-9]/m.test(later);
    }, 'a ban and a backup');
    assert.match(later, /^pet_catalog_backup_interval_seconds 3600$/m);
    told = labelsByMetric(later);
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

  test('every metric has a sample from the start', () => {
    const names = [...atStart.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);
    assert.ok(names.length > 30);
    const sampled = new Set([...atStart.matchAll(/^(\w+)(?:\{.*\})? \S+$/gm)].map(([, name = '']) => name));
    assert.deepEqual(
      names.filter((name) => !sampled.has(name) && !sampled.has(`${name}_count`)),
      [],
    );
  });

  test('every recording and alert names metrics and labels that there are', () => {
    assert.ok(rules.length >= 10);
    for (const { record, expr } of recordings) {
      check(expr, record);
      told.set(record, new Set(ADDED_LABELS));
    }
    for (const { alert, expr } of rules) check(expr, alert);
  });

  test('every panel and annotation names metrics and labels that there are, and so does its text', () => {
    assert.ok(targets.length >= 20);
    const texts = [
      ...targets.map(({ expr, legendFormat = '' }) => [expr, legendFormat] as const),
      ...dashboard.annotations.list.map(({ expr, textFormat }) => [expr, textFormat] as const),
    ];
    for (const [expr, text] of texts) {
      const known = check(expr, expr);
      for (const [, label = ''] of text.matchAll(/\{\{(\w+)\}\}/g)) assert.ok(known.has(label), `${expr}: ${label}`);
    }
    for (const { name, query } of dashboard.templating.list) {
      const [, metric = '', label] = /^label_values\((\w+)(?:\{job="\$job"\})?, (\w+)\)$/.exec(query) ?? [];
      assert.ok(name === 'datasource' || (told.has(metric) && label === name), query);
    }
  });

  test('a panel without data says why, and only those of requests, Redis and backups have none when all is well', (t) => {
    if (noPromtool) return t.skip(noPromtool);
    const ofPanels = (without: readonly string[]) =>
      dashboard.panels.map(({ title, targets }): Expected => {
        const any = targets.map(({ expr }) => `(${expr}) == (${expr})`).join(' or ');
        return [any, '10m', !without.includes(title)];
      });
    const ofRequests = ['Latency (p99)', 'Request duration', 'Latency (p99) by operation', 'Commit duration'];
    const ofBackups = ['Age of the newest backup', 'Size of the newest backup'];
    const withoutRedis = ['Counting in Redis'];
    const idle = atStart.replaceAll(/^(pet_catalog_backup_\w+) .*$/gm, '$1 0');
    assert.equal(
      complaints(seriesOf(idle, idle), ofPanels([...ofRequests, ...ofBackups, ...withoutRedis])),
      '',
      'before the first request and without backups',
    );
    assert.equal(complaints(seriesOf(atStart, later), ofPanels(withoutRedis)), '', 'with requests and backups');
    const saying = dashboard.panels.filter(({ fieldConfig }) => fieldConfig.defaults.noValue !== undefined);
    assert.deepEqual(
      saying.map(({ title }) => title).toSorted(),
      [...ofRequests, ...ofBackups, ...withoutRedis].toSorted(),
    );
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
  const anchors = anchorsOf(text('../docs/operations.md'));
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(page|ticket)$/, alert);
    const [page, anchor = ''] = annotations.runbook_url.split('#');
    assert.equal(page, '{{ $externalLabels.pet_catalog_runbook }}', alert);
    assert.ok(anchors.includes(anchor), `${alert}: the runbook has no #${anchor}`);
    assert.ok(annotations.summary.length < 100, alert);
  }
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

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
