import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseDuration } from '../../src/stdx/duration.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

const RULES = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));
const noPromtool = missingPrograms('promtool');
const STEP_SECONDS = 30;
const BEGINS_SECONDS = 10 * 60;
const ENDS_SECONDS = 40 * 60;
const LAST_SECONDS = 50 * 60;
/** How long after its beginning, and its `for`, and after its end trouble may be told wrongly. */
const LATE_SECONDS = 150;

/** The value of a series at a second; undefined while it is not scraped. */
type Series = (at: number) => number | string | undefined;

const isTrouble = (at: number) => at >= BEGINS_SECONDS && at < ENDS_SECONDS;
const gauge =
  (usual: number, inTrouble: number | undefined): Series =>
  (at) =>
    isTrouble(at) ? inTrouble : usual;
/** A counter, by its rates per second. */
const counter =
  (usual: number, inTrouble: number): Series =>
  (at) => {
    const trouble = Math.min(Math.max(at - BEGINS_SECONDS, 0), ENDS_SECONDS - BEGINS_SECONDS);
    return usual * (at - trouble) + inTrouble * trouble;
  };

/** No rule may depend on the job's name, nor take another job's series for the service's. */
const AT = 'job="shop",instance="a:1"';
const OTHER = 'job="other",instance="b:1"';
const build = { [`pet_catalog_build_info{${AT}}`]: gauge(1, 1) };
const requests = (labels: string) => `pet_catalog_request_duration_seconds_count{${AT},${labels}}`;
const durations = (le: string, labels: string) =>
  `pet_catalog_request_duration_seconds_bucket{${AT},le="${le}",${labels}}`;
const PUBLIC = 'listener="public",api="true"';
const OPERATOR = 'listener="operator",api="false"';

/** The trouble of each alert: what Prometheus reads before, during and after it. */
const TROUBLE: Record<string, Record<string, Series>> = {
  PetCatalogDown: {
    [`up{${AT}}`]: gauge(1, 0),
    [`up{${OTHER}}`]: gauge(0, 0),
    'up{job="shop",instance="exporter:1"}': gauge(0, 0),
    [`pet_catalog_build_info{${AT}}`]: gauge(1, undefined),
  },
  PetCatalogErrors: {
    [requests(`${PUBLIC},status="200"`)]: counter(10, 10),
    [requests(`${PUBLIC},status="511"`)]: counter(0.1, 0.102),
    [requests(`${OPERATOR},status="500"`)]: counter(10, 10),
  },
  PetCatalogSlow: {
    [durations('0.5', PUBLIC)]: counter(9.91, 9.89),
    [durations('1', PUBLIC)]: counter(10, 10),
    [durations('+Inf', PUBLIC)]: counter(10, 10),
    [durations('0.5', OPERATOR)]: counter(0, 0),
    [durations('1', OPERATOR)]: counter(10, 10),
    [durations('+Inf', OPERATOR)]: counter(10, 10),
  },
  PetCatalogStorageFailing: { [`pet_catalog_storage_failing{${AT},work="write"}`]: gauge(0, 1) },
  PetCatalogWritesWaiting: { [`pet_catalog_waiting_writes{${AT}}`]: gauge(5_000, 5_001) },
  PetCatalogCountsNotSaved: { [`pet_catalog_count_save_failures_total{${AT}}`]: counter(0, 2) },
  PetCatalogRedisDown: { [`pet_catalog_limiter_degraded{${AT}}`]: gauge(0, 1) },
  PetCatalogRedisLate: { [`pet_catalog_redis_deadlines_total{${AT}}`]: counter(0.024, 0.027) },
  PetCatalogGuessing: {
    [`pet_catalog_failed_authentications_total{${AT},${PUBLIC},reason="invalid_api_key"}`]: counter(5, 6),
    [`pet_catalog_failed_authentications_total{${AT},${OPERATOR},reason="invalid_token"}`]: counter(4.9, 4.1),
    [`pet_catalog_failed_authentications_total{${AT},${PUBLIC},reason="missing_api_key"}`]: counter(99, 99),
  },
  PetCatalogBans: { [`pet_catalog_bans_total{${AT},plan="pro"}`]: counter(0, 0.1) },
  PetCatalogBusy: {
    ...build,
    [`nodejs_eventloop_lag_p99_seconds{${AT}}`]: gauge(0.2, 0.201),
    [`nodejs_eventloop_lag_p99_seconds{${OTHER}}`]: gauge(9, 9),
  },
  PetCatalogConnections: {
    ...build,
    [`process_open_fds{${AT}}`]: gauge(800, 801),
    [`process_max_fds{${AT}}`]: gauge(1_000, 1_000),
    [`process_open_fds{${OTHER}}`]: gauge(900, 900),
    [`process_max_fds{${OTHER}}`]: gauge(1_000, 1_000),
  },
  PetCatalogBackupOld: {
    [`pet_catalog_backup_timestamp_seconds{${AT}}`]: (at) => (isTrouble(at) ? BEGINS_SECONDS - 300 : at - (at % 300)),
    [`pet_catalog_backup_interval_seconds{${AT}}`]: gauge(300, 300),
  },
  PetCatalogKeysNearLimit: { [`pet_catalog_keys_near_day_limit{${AT}}`]: gauge(0, 2) },
  PetCatalogNearlyFull: {
    [`pet_catalog_categories{${AT}}`]: gauge(900, 901),
    [`pet_catalog_categories_max{${AT}}`]: gauge(1_000, 1_000),
  },
  PetCatalogDiskLow: { [`pet_catalog_disk_free_bytes{${AT}}`]: gauge(2 ** 30, 2 ** 30 - 1) },
  PetCatalogLogLarge: { [`pet_catalog_database_log_bytes{${AT}}`]: gauge(2 ** 28, 2 ** 28 + 1) },
  PetCatalogRestarting: {
    ...build,
    [`process_start_time_seconds{${AT}}`]: (at) =>
      isTrouble(at) ? at - (at % 90) : at < BEGINS_SECONDS ? 1 : ENDS_SECONDS,
    [`process_start_time_seconds{${OTHER}}`]: (at) => at,
  },
};

/** Alerts whose trouble lasts longer, by the seconds from its end until they end. */
const ENDS_LATE: Record<string, number> = { PetCatalogRestarting: 300 };

interface Rule {
  readonly alert: string;
  readonly for?: string;
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Runs promtool over unit tests of the rules; returns what it complains of. */
function complaints(...units: readonly object[]): string {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.json');
  // A copy: promtool takes the name for a pattern, and the checkout's folder may have brackets in its own.
  const copy = join(folder.path, 'alerts.yaml');
  copyFileSync(RULES, copy);
  const whole = { rule_files: [copy], evaluation_interval: `${STEP_SECONDS}s`, tests: units };
  writeFileSync(file, JSON.stringify(whole));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  return status === 0 ? '' : stdout + stderr;
}

function samples(series: Series): string {
  const values = Array.from({ length: LAST_SECONDS / STEP_SECONDS + 1 }, (_, step) => series(step * STEP_SECONDS));
  return values.map((value, step) => value ?? (values[step - 1] === undefined ? '_' : 'stale')).join(' ');
}

function unitOf(alert: string, series: Record<string, Series>, firing: readonly [at: number, count: number][]) {
  return {
    interval: `${STEP_SECONDS}s`,
    input_series: Object.entries(series).map(([name, each]) => ({ series: name, values: samples(each) })),
    promql_expr_test: firing.map(([at, count]) => ({
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
      eval_time: `${at}s`,
      exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
    })),
  };
}

suite('the alerts', { skip: noPromtool }, () => {
  const moments = rules.map(({ alert, for: pending = '0s' }) => {
    const series = TROUBLE[alert] ?? assert.fail(`the trouble of ${alert} is missing here`);
    const begins = BEGINS_SECONDS + (parseDuration(pending) ?? 0) + LATE_SECONDS + (alert.endsWith('Old') ? 300 : 0);
    return { alert, series, begins, ends: ENDS_SECONDS + (ENDS_LATE[alert] ?? LATE_SECONDS) };
  });

  test('each fires while its trouble lasts, and ends with it', () => {
    const units = moments.map(({ alert, series, begins, ends }) =>
      unitOf(alert, series, [
        [BEGINS_SECONDS - STEP_SECONDS, 0],
        [begins, 1],
        [ENDS_SECONDS - STEP_SECONDS, 1],
        [ends, 0],
        [LAST_SECONDS, 0],
      ]),
    );
    assert.equal(complaints(...units), '');
    const [{ alert, series, begins }] = moments as [(typeof moments)[0]];
    assert.match(complaints(unitOf(alert, series, [[begins, 0]])), new RegExp(alert), 'the check can fail');
  });

  test('a service that was never seen, or is no longer scraped, is down', () => {
    const never = { [`up{${AT}}`]: gauge(0, 0), [`up{${OTHER}}`]: gauge(1, 1) };
    assert.equal(complaints(unitOf('PetCatalogDown', never, [[300, 1]])), '');
    assert.equal(complaints(unitOf('PetCatalogDown', {}, [[300, 1]])), '');
    const removed = { [`up{${AT}}`]: (at: number) => (at < BEGINS_SECONDS ? 1 : undefined) };
    const exporter = { 'up{job="shop",instance="exporter:1"}': gauge(1, 1) };
    const seen = { ...removed, ...exporter, [`pet_catalog_build_info{${AT}}`]: removed[`up{${AT}}`] as Series };
    assert.equal(complaints(unitOf('PetCatalogDown', seen, [[BEGINS_SECONDS + 90, 1]])), '');
  });

  test('the list may be nearly full before the catalog is', () => {
    const list = {
      [`pet_catalog_list_bytes{${AT}}`]: gauge(900, 901),
      [`pet_catalog_list_bytes_max{${AT}}`]: gauge(1_000, 1_000),
    };
    const fires = BEGINS_SECONDS + 5 * 60;
    const firing: [number, number][] = [
      [BEGINS_SECONDS, 0],
      [fires + STEP_SECONDS, 1],
    ];
    assert.equal(complaints(unitOf('PetCatalogNearlyFull', list, firing)), '');
  });
});
