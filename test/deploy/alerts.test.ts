import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseDuration } from '../../src/stdx/duration.ts';
import { missingPrograms, SPARING } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/folder.ts';

const RULES = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));
const noPromtool = missingPrograms('promtool');
/** The intervals at which Prometheus may scrape; its own of a minute may be a second late. */
const STEPS_SECONDS = [15, 30, 61] as const;
/** The step of what lasts for hours, as long as a rate over 5 m allows, and of what lasts for days. */
const HOURS_STEP_SECONDS = 240;
const DAYS_STEP_SECONDS = 600;
const BEGINS_SECONDS = 10 * 60;
const ENDS_SECONDS = 40 * 60;
const LAST_SECONDS = 55 * 60;
/** How long after its beginning and its `for`, and after its end, trouble may be told wrongly. */
const BEGINS_LATE_SECONDS = 150;
const ENDS_LATE_SECONDS = 420;

/** The value of a series at a second; undefined while it is not scraped. */
type Series = (at: number) => number | string | undefined;
/** Series by their names and labels. Those without a job get the one of their unit. */
type AllSeries = Readonly<Record<string, Series>>;

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
const OTHER = 'job="other",instance="b:1"';
const EXPORTER = 'instance="exporter:1"';
const PUBLIC = 'listener="public",api="true"';
const OPERATOR = 'listener="operator",api="false"';
const build = { pet_catalog_build_info: gauge(1, 1) };
const INVALID = 'pet_catalog_failed_authentications_total';

/** The trouble of each alert but Down: what Prometheus reads before, during and after it. */
const TROUBLE: Record<string, AllSeries> = {
  PetCatalogStorageFailing: { 'pet_catalog_storage_failing{work="write"}': gauge(0, 1) },
  PetCatalogWritesWaiting: { pet_catalog_waiting_writes: gauge(5_000, 5_001) },
  PetCatalogCountsNotSaved: { pet_catalog_count_save_failures_total: counter(0, 2) },
  PetCatalogRedisDown: { pet_catalog_limiter_degraded: gauge(0, 1) },
  PetCatalogRedisLate: { pet_catalog_redis_deadlines_total: counter(0.022, 0.1) },
  PetCatalogGuessing: {
    [`${INVALID}{${PUBLIC},reason="invalid_api_key"}`]: counter(5, 26),
    [`${INVALID}{${OPERATOR},reason="invalid_token"}`]: counter(4.9, 4.1),
    [`${INVALID}{${PUBLIC},reason="missing_api_key"}`]: counter(99, 99),
  },
  PetCatalogBans: { 'pet_catalog_bans_total{plan="pro"}': counter(0, 0.1) },
  PetCatalogBusy: {
    ...build,
    nodejs_eventloop_lag_p99_seconds: gauge(0.2, 0.201),
    [`nodejs_eventloop_lag_p99_seconds{${OTHER}}`]: gauge(9, 9),
  },
  PetCatalogConnections: {
    ...build,
    process_open_fds: gauge(800, 801),
    process_max_fds: gauge(1_000, 1_000),
    [`process_open_fds{${OTHER}}`]: gauge(900, 900),
    [`process_max_fds{${OTHER}}`]: gauge(1_000, 1_000),
  },
  PetCatalogBackupOld: {
    pet_catalog_backup_timestamp_seconds: (at) => (isTrouble(at) ? BEGINS_SECONDS - 300 : at - (at % 300)),
    pet_catalog_backup_interval_seconds: gauge(300, 300),
  },
  PetCatalogKeysNearLimit: { 'pet_catalog_day_limit_news_total{use="near"}': counter(0, 0.1) },
  PetCatalogNearlyFull: {
    pet_catalog_categories: gauge(900, 901),
    pet_catalog_categories_max: gauge(1_000, 1_000),
  },
  'PetCatalogNearlyFull by bytes': {
    pet_catalog_list_bytes: gauge(900, 901),
    pet_catalog_list_bytes_max: gauge(1_000, 1_000),
  },
  PetCatalogDiskLow: { pet_catalog_disk_free_bytes: gauge(2 ** 30, 2 ** 30 - 1) },
  PetCatalogLogLarge: { pet_catalog_database_log_bytes: gauge(2 ** 28, 2 ** 28 + 1) },
  PetCatalogRestarting: {
    ...build,
    process_start_time_seconds: (at) => (isTrouble(at) ? at - (at % 80) : at < BEGINS_SECONDS ? 1 : ENDS_SECONDS),
    [`process_start_time_seconds{${OTHER}}`]: (at) => at,
  },
};

/** The alert whose trouble is some starts, in seconds from its first and its last. */
const RESTARTING = { begins: 420, ends: 720 };

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
const BURNING = WINDOWS.flatMap(({ suffix }) => [`PetCatalogErrors${suffix}`, `PetCatalogSlow${suffix}`]);
const HOUR = 60 * 60;

type Count = (at: number) => number;

/** The counters of requests of which some failed, and some were slow: as many times more as may be. */
function troubled(all: Count, failed: Count, slow: Count = (at) => (failed(at) * MAY_BE_SLOW) / MAY_FAIL): AllSeries {
  const count = (labels: string) => `pet_catalog_request_duration_seconds_count{${labels}}`;
  const within = (le: string, labels: string) => `pet_catalog_request_duration_seconds_bucket{le="${le}",${labels}}`;
  return {
    [count(`${PUBLIC},status="200"`)]: (at) => all(at) - failed(at),
    [count(`${PUBLIC},status="503"`)]: failed,
    [`pet_catalog_request_failures_total{${PUBLIC}}`]: failed,
    [`pet_catalog_request_failures_total{${OPERATOR}}`]: (at) => at,
    [within('0.25', PUBLIC)]: (at) => all(at) - slow(at),
    [within('0.5', PUBLIC)]: all,
    [count(`${OPERATOR},status="500"`)]: (at) => at,
    [within('0.25', OPERATOR)]: () => 0,
  };
}

interface Alert {
  readonly alert: string;
  readonly for?: string;
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: (Alert | { record: string })[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => 'alert' in rule);

/** How many of the alerts fire for a job, or for another one, at a second. */
type Firing = readonly [alert: string, at: number, count: number];
/** What Prometheus reads of a job, and what has to come of it. */
interface Job {
  readonly job: string;
  readonly series: AllSeries;
  readonly firing: readonly Firing[];
}

/** What promtool complains of when it reads these jobs side by side. */
function complaints(jobs: readonly Job[], step: number = STEPS_SECONDS[1]): string {
  using folder = temporaryFolder();
  const file = join(folder.path, 'test.json');
  // A copy: promtool takes the name for a pattern, and the checkout's folder may have brackets in its own.
  const copy = join(folder.path, 'alerts.json');
  const given = new Set(jobs.flatMap(({ series }) => Object.keys(series)));
  // One group: promtool evaluates several in any order, so that an alert may be a step late.
  const asked = new RegExp(`^(${jobs.flatMap(({ firing }) => firing.map(([alert]) => alert)).join('|')})$`);
  const evaluated = rules.filter((rule) => ('alert' in rule ? asked.test(rule.alert) : !given.has(rule.record)));
  writeFileSync(copy, JSON.stringify({ groups: [{ name: 'all', rules: evaluated }] }));
  const last = Math.max(...jobs.flatMap(({ firing }) => firing.map(([, at]) => at)));
  const series = new Map(
    jobs.flatMap(({ job, series }) =>
      Object.entries(series).map(([name, each]) => [labelled(name, job), samples(each, last, step)] as const),
    ),
  );
  const unit = {
    interval: `${step}s`,
    input_series: [...series].map(([name, values]) => ({ series: name, values })),
    promql_expr_test: jobs.flatMap(({ job, firing }) =>
      firing.map(([alert, at, count]) => ({
        expr: `count(ALERTS{alertname=~"${alert}",job=~"${job}|other|",alertstate="firing"})`,
        eval_time: `${at - (at % step)}s`,
        exp_samples: count === 0 ? [] : [{ labels: '{}', value: count }],
      })),
    ),
  };
  writeFileSync(file, JSON.stringify({ rule_files: [copy], evaluation_interval: unit.interval, tests: [unit] }));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8', env: SPARING });
  return status === 0 ? '' : stdout + stderr;
}

function labelled(series: string, job: string): string {
  const [, name = '', labels = ''] = /^([\w:]+)(?:\{(.*)\})?$/.exec(series) ?? [];
  const at = /instance=/.test(labels) || name.startsWith('job:') ? '' : 'instance="a:1",';
  return `${name}{${/job=/.test(labels) ? '' : `job="${job}",`}${at}${labels}}`;
}

function samples(series: Series, last: number, step: number): string {
  const values = Array.from({ length: Math.ceil(last / step) + 1 }, (_, index) => series(index * step));
  return values.map((value, index) => value ?? (values[index - 1] === undefined ? '_' : 'stale')).join(' ');
}

/** An alert whose trouble begins after ten minutes and lasts for half an hour. */
function passing(job: string, series: AllSeries): Job {
  const [alert = ''] = job.split(' ');
  const pending = parseDuration(alerts.find((each) => each.alert === alert)?.for ?? '0s') ?? 0;
  const restarting = alert === 'PetCatalogRestarting' ? RESTARTING : undefined;
  const late = restarting?.begins ?? BEGINS_LATE_SECONDS + (alert.endsWith('Old') ? 300 : 0);
  const firing = [
    [BEGINS_SECONDS - 1, 0],
    [BEGINS_SECONDS + pending + late, 1],
    [ENDS_SECONDS - 1, 1],
    [ENDS_SECONDS + (restarting?.ends ?? ENDS_LATE_SECONDS), 0],
    [LAST_SECONDS, 0],
  ] as const;
  return { job, series, firing: firing.map(([at, count]) => [alert, at, count]) };
}

suite('the alerts', { skip: noPromtool }, () => {
  test('each fires while its trouble lasts, and ends with it, whether it is scraped every 15, 30 or 60 s', () => {
    const tried = new Set([...Object.keys(TROUBLE), ...BURNING, 'PetCatalogDown']);
    for (const { alert } of alerts) assert.ok(tried.has(alert), `the trouble of ${alert} is missing here`);
    const passed = Object.entries(TROUBLE).map(([job, series]) => passing(job, series));
    const outage: Job = {
      job: 'a total failure pages within five minutes',
      series: troubled(
        (at) => 10 * at,
        (at) => 10 * Math.max(at - BEGINS_SECONDS, 0),
        () => 0,
      ),
      firing: [
        ['PetCatalogErrors', BEGINS_SECONDS, 0],
        ['PetCatalogErrors', BEGINS_SECONDS + 300, 1],
      ],
    };
    const first: Job = {
      job: 'the first key of a day',
      series: { 'pet_catalog_day_limit_news_total{use="reached"}': (at) => (at < BEGINS_SECONDS ? 0 : 1) },
      firing: [
        ['PetCatalogKeysNearLimit', BEGINS_SECONDS - 1, 0],
        ['PetCatalogKeysNearLimit', BEGINS_SECONDS + BEGINS_LATE_SECONDS, 1],
        ['PetCatalogKeysNearLimit', BEGINS_SECONDS + ENDS_LATE_SECONDS, 0],
      ],
    };
    for (const step of STEPS_SECONDS) assert.equal(complaints([...passed, outage, first], step), '', `every ${step} s`);
  });

  test('a service that does not answer, was never seen, or is no longer scraped, is down', () => {
    const down: AllSeries = {
      up: gauge(1, 0),
      [`up{${OTHER}}`]: gauge(0, 0),
      [`up{${EXPORTER}}`]: gauge(0, 0),
      pet_catalog_build_info: gauge(1, undefined),
    };
    const isDown = (at: number, count = 1): Firing => ['PetCatalogDown', at, count];
    assert.equal(complaints([passing('PetCatalogDown', down)]), '');
    assert.match(complaints([{ job: 'shop', series: down, firing: [isDown(300, 1)] }]), /Down/, 'the check can fail');
    const never = { up: gauge(0, 0), [`up{${OTHER}}`]: gauge(1, 1) };
    assert.equal(complaints([{ job: 'shop', series: never, firing: [isDown(300)] }]), '');
    assert.equal(complaints([{ job: 'shop', series: {}, firing: [isDown(300)] }]), '');
    const scraped: Series = (at) => (at < BEGINS_SECONDS ? 1 : undefined);
    const removed = { up: scraped, [`up{${EXPORTER}}`]: gauge(1, 1), pet_catalog_build_info: scraped };
    assert.equal(complaints([{ job: 'shop', series: removed, firing: [isDown(BEGINS_SECONDS + 90)] }]), '');
  });

  test('a burn rate fires when its long window is above it, and ends with its short one', () => {
    const burns = WINDOWS.map(({ times, long, short, suffix }) => {
      const isDays = long > 6 * 60;
      const ends = (isDays ? 90 : 7.5) * HOUR;
      const begins = ends - long * 60;
      const failing = 1.9 * times * MAY_FAIL;
      const firing = [
        [begins + long * 60 * 0.65, 0],
        [begins + long * 60 * 0.95, 2],
        [ends + short * 60 * 0.3, 2],
        [ends + short * 60 * 0.6 + 2 * (isDays ? DAYS_STEP_SECONDS : HOURS_STEP_SECONDS), 0],
      ] as const;
      // More traffic before, so that no longer window is above its own rate.
      const counts = troubled(
        (at) => 3 * Math.min(at, begins) + Math.max(at - begins, 0),
        (at) => failing * Math.min(Math.max(at - begins, 0), ends - begins),
      );
      const share =
        (of: number): Series =>
        (at) =>
          at >= begins && at < ends ? of : 0;
      const rates = {
        'job:pet_catalog_requests:rate5m': (at: number) => (at < begins ? 3 : 1),
        'job:pet_catalog_requests_failed:rate5m': share(failing),
        'job:pet_catalog_requests_slow:rate5m': share((failing * MAY_BE_SLOW) / MAY_FAIL),
      };
      return {
        job: `${times} times`,
        // Of days the averaged rates themselves: as counters they would be a million samples.
        series: isDays ? rates : counts,
        firing: firing.map(([at, count]): Firing => [`PetCatalog(Errors|Slow)${suffix}`, at, count]),
      };
    });
    assert.equal(complaints(burns.slice(0, 2), HOURS_STEP_SECONDS), '');
    assert.equal(complaints(burns.slice(2), DAYS_STEP_SECONDS), '');
  });

  test('no alert for what may fail, for one error of a quiet service, or for a service without requests', () => {
    const firing = Array.from({ length: 60 }, (_, index): Firing => [BURNING.join('|'), index * HOURS_STEP_SECONDS, 0]);
    const [allowed, none, one]: [Count, Count, Count] = [
      (at) => 0.9 * MAY_FAIL * 10 * at,
      () => 0,
      (at) => (at < 2 * HOUR ? 0 : 1),
    ];
    const jobs = [
      { job: 'allowed', series: troubled((at) => 10 * at, allowed), firing },
      { job: 'quiet', series: troubled((at) => Math.floor(at / 600), one, one), firing },
      { job: 'idle', series: troubled(() => 7, none), firing },
    ];
    assert.equal(complaints(jobs, HOURS_STEP_SECONDS), '');
  });
});
