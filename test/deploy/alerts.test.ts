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
/** The step of tests that last for days. */
const LONG_STEP_SECONDS = 150;
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

/** The share of requests that may fail over 30 days, and that may take longer than 250 ms. */
const MAY_FAIL = 0.001;
const MAY_BE_SLOW = 0.01;
/** How many times faster than that, over which long and short window in minutes. */
const WINDOWS = [
  { times: 14.4, long: 60, short: 5, suffix: '' },
  { times: 6, long: 6 * 60, short: 30, suffix: '' },
  { times: 3, long: 24 * 60, short: 2 * 60, suffix: 'Lasting' },
  { times: 1, long: 3 * 24 * 60, short: 6 * 60, suffix: 'Lasting' },
] as const;

type Count = (at: number) => number;

/** The counters of requests of which some failed, and some were slow: as many times more as may be. */
function troubled(
  all: Count,
  failed: Count,
  slow: Count = (at) => (failed(at) * MAY_BE_SLOW) / MAY_FAIL,
): Record<string, Series> {
  return {
    [requests(`${PUBLIC},status="200"`)]: (at) => all(at) - failed(at),
    [requests(`${PUBLIC},status="503"`)]: failed,
    [durations('0.25', PUBLIC)]: (at) => all(at) - slow(at),
    [durations('0.5', PUBLIC)]: all,
    [requests(`${OPERATOR},status="500"`)]: (at) => at,
    [durations('0.25', OPERATOR)]: () => 0,
  };
}

interface Alert {
  readonly alert: string;
  readonly for?: string;
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: (Alert | { record: string })[] }[] };
const alerts = groups.flatMap(({ rules }) => rules.filter((rule) => 'alert' in rule));

/** Runs promtool over unit tests of the rules; returns what it complains of. */
function complaints(...units: readonly { interval: string }[]): string {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.json');
  // A copy: promtool takes the name for a pattern, and the checkout's folder may have brackets in its own.
  const copy = join(folder.path, 'alerts.yaml');
  copyFileSync(RULES, copy);
  const whole = { rule_files: [copy], evaluation_interval: units[0]?.interval, tests: units };
  writeFileSync(file, JSON.stringify(whole));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  return status === 0 ? '' : stdout + stderr;
}

function samples(series: Series, last: number, step: number): string {
  const values = Array.from({ length: Math.ceil(last / step) + 1 }, (_, index) => series(index * step));
  return values.map((value, index) => value ?? (values[index - 1] === undefined ? '_' : 'stale')).join(' ');
}

type Firing = readonly [at: number, count: number];

function unitOf(alert: string, series: Record<string, Series>, firing: readonly Firing[], step = STEP_SECONDS) {
  const last = Math.max(...firing.map(([at]) => at));
  return {
    interval: `${step}s`,
    input_series: Object.entries(series).map(([name, each]) => ({ series: name, values: samples(each, last, step) })),
    promql_expr_test: firing.map(([at, count]) => ({
      expr: `count(ALERTS{alertname=~"${alert}",alertstate="firing"})`,
      eval_time: `${at}s`,
      exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
    })),
  };
}

suite('the alerts', { skip: noPromtool }, () => {
  const burning = WINDOWS.flatMap(({ suffix }) => [`PetCatalogErrors${suffix}`, `PetCatalogSlow${suffix}`]);
  const moments = alerts.flatMap(({ alert, for: pending = '0s' }) => {
    if (burning.includes(alert)) return [];
    const series = TROUBLE[alert] ?? assert.fail(`the trouble of ${alert} is missing here`);
    const begins = BEGINS_SECONDS + (parseDuration(pending) ?? 0) + LATE_SECONDS + (alert.endsWith('Old') ? 300 : 0);
    return [{ alert, series, begins, ends: ENDS_SECONDS + (ENDS_LATE[alert] ?? LATE_SECONDS) }];
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

  test('a burn rate fires when its long window is above it, and ends with its short one', () => {
    // Much more traffic before, so that no longer window is above its own rate.
    const units = WINDOWS.map(({ times, long, short, suffix }) => {
      const begins = long * 6;
      const ends = begins + (long + 15) * 60;
      const all = (at: number) => 100 * Math.min(at, begins) + Math.max(at - begins, 0);
      const failed = (at: number) => 1.9 * times * MAY_FAIL * Math.min(Math.max(at - begins, 0), ends - begins);
      const firing: Firing[] = [
        [begins + long * 60 * 0.9, 0],
        [begins + (long + 10) * 60, 2],
        [ends, 2],
        [ends + (short + 9) * 60, 0],
      ];
      return unitOf(`PetCatalog(Errors|Slow)${suffix}`, troubled(all, failed), firing, LONG_STEP_SECONDS);
    });
    assert.equal(complaints(...units), '');
  });

  test('a total failure pages within five minutes', () => {
    const hour = 60 * 60;
    const outage = {
      [requests(`${PUBLIC},status="200"`)]: (at: number) => 10 * Math.min(at, hour),
      [requests(`${PUBLIC},status="503"`)]: (at: number) => 10 * Math.max(at - hour, 0),
    };
    const firing: Firing[] = [
      [hour, 0],
      [hour + 300, 1],
    ];
    assert.equal(complaints(unitOf('PetCatalogErrors', outage, firing)), '');
  });

  test('no alert for what may fail, for one error of a quiet service, or for a service without requests', () => {
    const allowed = (at: number) => 0.9 * MAY_FAIL * 10 * at;
    const whenQuiet = (at: number) => (at < 2 * 60 * 60 ? 0 : 1);
    const never = Array.from({ length: 16 }, (_, index): Firing => [index * 15 * 60, 0]);
    const units = [
      troubled((at) => 10 * at, allowed),
      troubled((at) => Math.floor(at / 600), whenQuiet, whenQuiet),
      troubled(
        () => 7,
        () => 0,
      ),
    ].map((series) => unitOf(burning.join('|'), series, never, LONG_STEP_SECONDS));
    assert.equal(complaints(...units), '');
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
