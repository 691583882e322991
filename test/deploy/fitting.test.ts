import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES } from '../../src/catalog/error.ts';
import { SETTINGS } from '../../src/config.ts';
import { STATUS_OF } from '../../src/http/errors.ts';
import { URL_CHARACTERS_MAX } from '../../src/http/transport/request.ts';
import { parseDuration } from '../../src/stdx/duration.ts';
import { parseContainerfile } from '../kit/deploy/containerfile.ts';
import { text, yaml } from '../kit/deploy/files.ts';
import { testService } from '../kit/service.ts';

const BODY_BYTES_MAX = 256 * 1024;

/** The numbers of the files in deploy/ fit those of the service, and each other's. */

/** The value of a directive of nginx or Caddy, the only one of its name. */
function directive(file: string, name: string): string {
  const found = [...text(file).matchAll(new RegExp(`^\\s*${name} ([^;{}\\n]*?);?$`, 'gm'))].map(([, value]) => value);
  assert.equal(found.length, 1, `${name} in ${file}: ${found}`);
  return found[0] ?? '';
}

function seconds(file: string, name: string): number {
  return parseDuration(directive(file, name)) ?? assert.fail(`${name} in ${file} is no duration`);
}

const SITE = 'nginx/pet-catalog.conf';
const CADDY = 'caddy/Caddyfile';

test('idle connections of the proxies end before those of the service, and theirs to clients as late', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const answer = await service.call(secret, '/rate_limit', { headers: { connection: 'keep-alive' } });
  const idle = Number(/^timeout=(\d+)$/.exec(answer.headers.get('keep-alive') ?? '')?.[1]);
  assert.ok(idle > 0);
  const files = ['nginx/upstream.conf', 'nginx/upstream.scaled.conf'];
  const before = [...files.map((file) => seconds(file, 'keepalive_timeout')), seconds(CADDY, 'keepalive')];
  assert.ok(
    before.every((each) => each > 0 && each < idle),
    `${before} of ${idle} s`,
  );
  assert.deepEqual([seconds(SITE, 'keepalive_timeout'), seconds(CADDY, 'idle')], [idle, idle]);
});

test('the container runs without rights, stops as the service does, and is probed where it listens', () => {
  const of = (wanted: string) => parseContainerfile(text('Containerfile')).filter(({ name }) => name === wanted);
  const { runAsUser, runAsGroup } = yaml('kubernetes/deployment.yaml').spec.template.spec.securityContext;
  assert.ok(runAsUser > 0);
  assert.deepEqual(
    ['USER', 'STOPSIGNAL', 'ENTRYPOINT', 'CMD', 'EXPOSE'].map((name) => of(name).map((each) => each.text)),
    [[`${runAsUser}:${runAsGroup}`], ['SIGTERM'], ['["pet-catalog"]'], ['["serve"]'], [SETTINGS.PORT.default]],
  );
  assert.match(of('HEALTHCHECK')[0]?.text ?? '', new RegExp(`OPERATOR_PORT:-${SETTINGS.OPERATOR_PORT.default}}`));
});

test('a proxy waits as long as the service does, and retries only what was certainly not executed', () => {
  const head = [seconds(SITE, 'client_header_timeout'), seconds(CADDY, 'read_header')];
  const body = [seconds(SITE, 'client_body_timeout'), seconds(SITE, 'proxy_send_timeout'), seconds(CADDY, 'read_body')];
  const answer = [seconds(SITE, 'proxy_read_timeout'), seconds(CADDY, 'response_header_timeout')];
  // The service gives a request 29 s, and checks each half second.
  assert.deepEqual(
    [head, body, answer],
    [
      [10, 10],
      [30, 30, 30],
      [35, 35],
    ],
  );
  assert.deepEqual(directive(SITE, 'proxy_next_upstream').split(' '), ['error', 'timeout']);
  assert.equal(directive(SITE, 'proxy_next_upstream_tries'), '2');
  assert.equal(directive(SITE, 'proxy_request_buffering'), 'off', 'the service refuses a body before it is complete');
  assert.equal(directive(SITE, 'limit_conn'), 'pet_catalog_address 100');
  assert.equal(directive(SITE, 'ssl_protocols'), 'TLSv1.2 TLSv1.3');
});

test('what the proxies say themselves has codes, statuses and bounds of the service', () => {
  const own = /'(\{"code":.*\})'|`(\{"code":.*\})`/g;
  const errors = [SITE, CADDY].flatMap((file) =>
    [...text(file).matchAll(own)].map(([, single, quoted]) => JSON.parse(single ?? quoted ?? '')),
  );
  assert.equal(errors.length, 12);
  const bounds = { payload_too_large: `${BODY_BYTES_MAX} bytes`, uri_too_long: `${URL_CHARACTERS_MAX} characters` };
  for (const { code, status, message } of errors) {
    if (code in STATUS_OF) assert.equal(status, STATUS_OF[code as keyof typeof STATUS_OF], code);
    else assert.ok(!ERROR_CODES.includes(code), code);
    if (code in bounds) assert.ok(message.endsWith(`at most ${bounds[code as keyof typeof bounds]}`), message);
  }
  for (const [, status, error = ''] of text(SITE).matchAll(/^ {4}(\d{3}) +'(\{.*\})';$/gm))
    assert.equal(JSON.parse(error).status, Number(status));
  const security = [...text(SITE).matchAll(/Strict-Transport-Security "([^"]*)" always;/g)].map(([, value]) => value);
  assert.deepEqual(security, ['max-age=31536000', 'max-age=31536000'], 'of answers, and of errors of its own');
});

test('a rolling update and a drain leave two of three pods, whose labels every manifest means', () => {
  const { spec, metadata } = yaml('kubernetes/deployment.yaml');
  const budget = yaml('kubernetes/poddisruptionbudget.yaml').spec;
  const policy = yaml('kubernetes/networkpolicy.yaml').spec;
  const { labels, annotations } = spec.template.metadata;
  for (const selector of [
    spec.selector.matchLabels,
    budget.selector.matchLabels,
    policy.podSelector.matchLabels,
    yaml('kubernetes/service.yaml').spec.selector,
    ...spec.template.spec.topologySpreadConstraints.map(
      (each: { labelSelector: { matchLabels: object } }) => each.labelSelector.matchLabels,
    ),
  ])
    assert.deepEqual(selector, labels);
  assert.deepEqual(metadata.labels, labels);
  assert.deepEqual([spec.replicas, spec.strategy.rollingUpdate], [3, { maxSurge: 1, maxUnavailable: 0 }]);
  assert.deepEqual([budget.maxUnavailable, budget.unhealthyPodEvictionPolicy], [1, 'AlwaysAllow']);
  const [{ ports, resources }] = spec.template.spec.containers;
  const portNamed = (wanted: string) =>
    ports.find(({ name }: { name: string }) => name === wanted)?.containerPort as number;
  assert.equal(annotations['prometheus.io/port'], `${portNamed('operator')}`);
  assert.deepEqual(resources, { requests: { cpu: '250m', memory: '192Mi' }, limits: { memory: '512Mi' } });
  const migration = yaml('kubernetes/migrate.yaml').spec;
  const [{ args }] = migration.template.spec.containers;
  const { fsGroup: _, ...rights } = spec.template.spec.securityContext;
  assert.deepEqual(migration.template.spec.securityContext, rights, 'the rights of the service');
  assert.deepEqual([args, migration.backoffLimit, migration.template.spec.restartPolicy], [['migrate'], 2, 'Never']);
  const { runAsUser, runAsGroup, fsGroup } = spec.template.spec.securityContext;
  assert.deepEqual([runAsUser, runAsGroup, fsGroup], [1_000, 1_000, 1_000]);
  const open = (rules: { ports: { port: unknown }[] }[]) => rules.map((rule) => rule.ports.map(({ port }) => port));
  assert.deepEqual(open(policy.ingress), [['http'], ['operator']]);
  assert.deepEqual(
    open(policy.egress),
    [
      [53, 53],
      [5_432, 6_379, 4_317, 4_318],
    ],
    'names, PostgreSQL, Redis and OTLP',
  );
  assert.deepEqual(yaml('kubernetes/service.yaml').spec.ports, [{ name: 'http', port: 80, targetPort: 'http' }]);
});

test('an alert pages or waits for the morning, beyond its bound, as soon as the runbook promises', () => {
  const { groups } = yaml('prometheus/alerts.yaml');
  const rules = groups[0].rules as { alert: string; expr: string; for?: string; labels: { severity: string } }[];
  const scraped = parseDuration(yaml('prometheus/prometheus.yaml').scrape_configs[0].scrape_interval) ?? 0;
  const windows = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/\[(\w+)\]/g)].map(([, length = '']) => parseDuration(length)),
  );
  assert.equal(Math.min(...windows.map((window) => window ?? 0)), 4 * scraped, 'a rate misses a scrape or two');
  const numbers = (expr: string) => expr.match(/\[\w+\]|[<>] \d[\d.]*(?: [*^] \d+)*/g)?.join(' ');
  assert.deepEqual(
    Object.fromEntries(
      rules.map((rule) => [rule.alert, `${rule.labels.severity} ${rule.for ?? 'at once'} ${numbers(rule.expr)}`]),
    ),
    {
      PetCatalogDown: 'page 1m [1d] [1d]',
      PetCatalogErrors: 'page 2m [1m] [1m] > 0.01',
      PetCatalogSlow: 'ticket 5m [2m] > 0.5',
      PetCatalogStorageFailing: 'page 1m > 0',
      PetCatalogWritesWaiting: 'page 1m > 5000',
      PetCatalogCountsNotSaved: 'ticket 2m [1m] > 0',
      PetCatalogRedisDown: 'ticket 2m > 0',
      PetCatalogRedisLate: 'ticket at once [2m] > 3',
      PetCatalogGuessing: 'ticket 5m [1m] > 10',
      PetCatalogBans: 'ticket at once [2m] > 0',
      PetCatalogBusy: 'ticket 2m > 0.2',
      PetCatalogConnections: 'ticket 2m > 0.8',
      PetCatalogBackupOld: 'ticket 10m > 2 > 0',
      PetCatalogRestarting: 'ticket at once [5m] > 2',
      PetCatalogNearlyFull: 'ticket 5m > 0.9 > 0.9',
      PetCatalogDiskLow: 'ticket 5m < 1024 ^ 3',
      PetCatalogLogLarge: 'ticket 10m > 256 * 1024 ^ 2',
    },
  );
});

test('a panel of the dashboard has the quantile that its words promise', () => {
  const { panels } = JSON.parse(text('grafana/dashboard.json')) as {
    panels: { title: string; targets: { expr: string; legendFormat?: string }[] }[];
  };
  let quantiles = 0;
  for (const { title, targets } of panels) {
    for (const { expr, legendFormat = '' } of targets) {
      const [, share] = /histogram_quantile\((0\.\d+)/.exec(expr) ?? [];
      if (share === undefined) continue;
      const said = `${legendFormat} ${title}`.replace('half', '50 of 100');
      const [, named] = /\b(\d\d) of 100/.exec(said.replace(/\(p(\d\d)\)/, '$1 of 100')) ?? [];
      assert.equal(Number(share), Number(named) / 100, `${title}: ${expr}`);
      quantiles += 1;
    }
  }
  assert.ok(quantiles >= 10);
});
