import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { SERVICE_EVENTS } from '../catalog/audit.ts';
import { CatalogError } from '../catalog/error.ts';
import { type AccessLog, type AnsweredRequest, accessLine, createEvents, type Events } from './events.ts';
import { createMetrics } from './metrics.ts';
import { API_SIDE } from './request-metrics.ts';

const LISTED: AnsweredRequest = {
  ...API_SIDE,
  requestId: 'a.b_c-1',
  keyId: 'key_0123456789abcdef',
  plan: 'free',
  method: 'GET',
  route: '/v1/categories/{categoryId}',
  status: 200,
  code: undefined,
  windows: undefined,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  durationMs: 1.25,
  userAgent: 'shop "2" \\',
};
const REFUSED: AnsweredRequest = {
  ...LISTED,
  keyId: undefined,
  plan: undefined,
  status: 401,
  code: 'missing_api_key',
  traceId: undefined,
  userAgent: undefined,
};

test('the log line of an answered request equals what pino would write', () => {
  for (const answered of [LISTED, REFUSED]) {
    let written = '';
    const write = (line: string) => {
      written += line;
    };
    const { listener: _, api: _api, ...logged } = answered;
    pino({ base: null }, { write }).info({ event: 'request', ...logged });
    const [own, reference] = [accessLine(answered), written].map((line) => line.replace(/"time":\d+/, '"time":0'));
    assert.equal(own, reference);
  }
});

test('the address of a request is that before the trusted proxies, and that of the socket where none forwarded it', async () => {
  const lines: string[] = [];
  const sinks = { log: pino({}, { write() {} }), write: (line: string) => lines.push(line), metrics: createMetrics() };
  const events = createEvents({ ...sinks, accessLog: 'all', trustedProxies: ['10.0.0.0/8'] });
  const answer = (remoteAddress: string, forwarded?: string) =>
    events.requestAnswered({
      ...LISTED,
      request: { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress } },
    });
  answer('10.0.0.1', '6.6.6.6, 9.9.9.9, 10.0.0.2');
  answer('7.7.7.7', '6.6.6.6');
  answer('10.0.0.1');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).address),
    ['9.9.9.9', '7.7.7.7', '10.0.0.1'],
  );
});

test('a duration is logged to the microsecond', () => {
  assert.equal(JSON.parse(accessLine({ ...LISTED, durationMs: 0.123456789 })).durationMs, 0.123);
});

/** Events whose lines and metrics a test reads. */
function bench(accessLog: AccessLog = 'all', level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  const metrics = createMetrics();
  const log = pino({ base: null, level }, { write });
  const events = createEvents({ log, write, accessLog, metrics, redis: 'redis://r' });
  const samples = async () => {
    const text = await metrics.registry.metrics();
    return new Map(
      [...text.matchAll(/^pet_catalog_(\S+) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
    );
  };
  return {
    events,
    lines,
    /** The samples that an event changed or removed, but for buckets, and the lines that it wrote. */
    async after(happen: (events: Events) => void) {
      const [before, first] = [await samples(), lines.length];
      happen(events);
      const gone = [...before.keys()].map((name): [string, undefined] => [name, undefined]);
      const changed = [...new Map([...gone, ...(await samples())])].filter(
        ([name, value]) => !/_bucket/.test(name) && !Object.is(before.get(name), value),
      );
      const written = lines.slice(first).map(({ time: _, msg: _msg, err, ...line }) => {
        return err === undefined ? line : { ...line, err: (err as { message?: string }).message ?? err };
      });
      return [Object.fromEntries(changed), ...written];
    },
  };
}

const LEVELS = { 30: 'info', 40: 'warn', 50: 'error' } as const;
const FAILED = new Error('no');
const OWN = new CatalogError('unavailable', 'away');
const BAN = { keyId: 'key_1', startedAt: 0, endsAt: 60, reason: 'hasty' };
const BANNED = { plan: 'pro', ...BAN, banLevel: 2 };
const REDIS = { redis: 'redis://r' };
const BY = { actor: 'ann', via: 'api' } as const;
const CHANGED = {
  id: '1',
  at: 2,
  operator: BY,
  action: 'key.create',
  target: 'key_1',
  before: null,
  after: {},
} as const;
const MADE = { file: 'a.db', at: 5, bytes: 6, durationMs: 7 };
const NEAR = { keyId: 'key_1', use: 'near' } as const;
const CAPACITY = {
  categories: 1,
  listBytes: 2,
  databaseBytes: 3,
  logBytes: 4,
  diskFreeBytes: 5,
  keysNearDayLimit: [NEAR],
};
const GONE = (master: string) => ({ [`redis_master_lost{master="${master}"}`]: undefined });
const DURATION = (name: string, seconds: number) => ({ [`${name}_sum`]: seconds, [`${name}_count`]: 1 });

/** Level and event of the line that is written, if there is one; the samples that change; members made of others. */
const EVENTS: readonly [line: string, happen: (events: Events) => void, samples?: object, members?: object][] = [
  ['warn key_banned', (to) => to.keyBanned({ ...BAN, level: 2 }, 'pro'), { 'bans_total{plan="pro"}': 1 }, BANNED],
  [
    'warn key_near_day_limit',
    (to) => to.keyNearLimit(NEAR),
    { 'day_limit_news_total{use="near"}': 1 },
    { keyId: 'key_1' },
  ],
  ['error counts_not_saved', (to) => to.countsNotSaved(FAILED), { count_save_failures_total: 1 }],
  ['', (to) => to.countsNotSaved(OWN), { count_save_failures_total: 2 }],
  ['', (to) => to.requestCounted(2_000), DURATION('redis_count_duration_seconds', 2)],
  ['', (to) => to.refusedFromMemory(), { refusals_from_memory_total: 1 }],
  ['', (to) => to.redisFailed(), { redis_failures_total: 1 }],
  ['', (to) => to.redisLate(), { redis_deadlines_total: 1 }],
  ['error limiter_degraded', (to) => to.limiterDegraded(FAILED), { limiter_degraded: 1 }, { ...REDIS, err: 'no' }],
  [
    'error limiter_degraded',
    (to) => to.limiterDegraded(FAILED, ['a:1', 'b:2']),
    { redis_master_lost: undefined, 'redis_master_lost{master="a:1"}': 1, 'redis_master_lost{master="b:2"}': 1 },
    { ...REDIS, masters: ['a:1', 'b:2'], err: 'no' },
  ],
  ['warn limiter_recovered', (to) => to.limiterRecovered(['b:2']), GONE('a:1'), { ...REDIS, masters: ['b:2'] }],
  [
    'warn limiter_recovered',
    (to) => to.limiterRecovered(),
    { limiter_degraded: 0, redis_master_lost: 0, ...GONE('b:2') },
    REDIS,
  ],
  [
    '',
    (to) => to.batchStored({ size: 3, durationMs: 4_000, waiting: 5 }),
    { ...DURATION('commit_duration_seconds', 4), ...DURATION('commit_batch_size', 3), waiting_writes: 5 },
  ],
  ['', (to) => to.storageRead(6_000), DURATION('read_duration_seconds', 6)],
  [
    'error storage_failing',
    (to) => to.storageFailing('write', { database: 'a.db', failure: 'full', error: FAILED }),
    { 'storage_failing{work="write"}': 1 },
    { work: 'write', database: 'a.db', reason: 'the disk is full; make room' },
  ],
  [
    'error storage_failing',
    (to) => to.storageFailing('read', { database: 'a.db', failure: 'other', error: FAILED }),
    { 'storage_failing{work="read"}': 1 },
    { work: 'read', database: 'a.db', err: 'no' },
  ],
  ['warn storage_recovered', (to) => to.storageRecovered('write'), { 'storage_failing{work="write"}': 0 }],
  ['error usage_not_stored', (to) => to.usageNotStored(FAILED)],
  ['', (to) => to.usageNotStored(OWN)],
  ['error outcomes_not_purged', (to) => to.outcomesNotPurged(FAILED)],
  ['', (to) => to.outcomesNotPurged(OWN)],
  ['error audit_not_purged', (to) => to.auditNotPurged(FAILED)],
  ['error change_not_read', (to) => to.changeNotRead(OWN)],
  ['', (to) => to.connectionCutOff(), { connections_cut_off_total: 1 }],
  ['warn connections_bounded', (to) => to.connectionsBounded(9)],
  ['', (to) => to.connectionRefused(), { connections_refused_total: 1 }],
  ['', (to) => to.backupsScheduled(300), { backup_interval_seconds: 300 }],
  [
    '',
    (to) => to.backupsScheduled(600, { at: 3, bytes: 4 }),
    { backup_interval_seconds: 600, backup_timestamp_seconds: 3, backup_bytes: 4 },
  ],
  ['warn backups_of_others', (to) => to.backupsOfOthers('backups', ['staging-db_1'])],
  ['info backup_made', (to) => to.backupMade(MADE), { backup_timestamp_seconds: 5, backup_bytes: 6 }, MADE],
  [
    'info backup_restored',
    (to) => to.backupRestored({ backup: 'x.db', at: 7 }),
    { backup_restored_timestamp_seconds: 7 },
  ],
  ['error backup_failed', (to) => to.backupFailed('full'), { backup_failures_total: 1 }, { reason: 'full' }],
  [
    '',
    (to) => to.capacityMeasured({ ...CAPACITY, categoriesMax: 6, categoriesBytesMax: 7 }),
    {
      categories: 1,
      categories_max: 6,
      list_bytes: 2,
      list_bytes_max: 7,
      database_bytes: 3,
      database_log_bytes: 4,
      disk_free_bytes: 5,
      keys_near_day_limit: 1,
    },
  ],
  ['info operator_change', (to) => to.operatorChanged(CHANGED), {}, { ...BY, action: 'key.create', target: 'key_1' }],
  ['error request_failed', (to) => to.requestFailed('one', FAILED), {}, { requestId: 'one', err: 'no' }],
  [
    'info started',
    (to) => to.serviceStarted({ url: 'u', operatorUrl: 'o', environment: 'staging', version: '1' }),
    { [`build_info{version="1",environment="staging",node="${process.versions.node}"}`]: 1 },
  ],
  ['info stopping', (to) => to.serviceStopping()],
  ['info stopped', (to) => to.serviceStopped()],
];

test('each event changes its metrics, and is told in its line, and one of the service is kept', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 7_999 });
  const { after, events } = bench();
  const kept: object[] = [];
  for (const [line, happen, samples = {}, members] of EVENTS) {
    const [changed, ...lines] = await after(happen);
    const told = lines.map(({ level, event, ...rest }) => {
      assert.deepEqual(rest, members ?? rest, line);
      const { err: _, ...stored } = rest;
      if (SERVICE_EVENTS.some((each) => each === event)) kept.push({ at: 7, event, members: stored });
      return `${LEVELS[level as keyof typeof LEVELS]} ${event}`;
    });
    assert.deepEqual([told, changed], [line === '' ? [] : [line], samples], `${happen}`);
  }
  assert.equal(kept.length, SERVICE_EVENTS.length + 1);
  assert.deepEqual(events.waiting, kept);
});

test('an outage is listed by the work that fails, since when and why, until all of it is over', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 7_999 });
  const { events } = bench();
  const error = new Error('no', { cause: new Error('away') });
  events.storageFailing('read', { database: 'a.db', failure: 'other', error });
  events.storageFailing('write', { database: 'a.db', failure: 'full', error });
  events.limiterDegraded(error, ['a:1', 'b:2']);
  events.limiterRecovered(['a:1']);
  assert.deepEqual(
    [...events.outages],
    [
      ['cannot read the database', { since: 7, cause: 'no: away' }],
      ['cannot write the database', { since: 7, cause: 'the disk is full; make room' }],
      ['counts without Redis', { since: 7, cause: 'no: away' }],
    ],
  );
  events.limiterRecovered();
  for (const work of ['read', 'write'] as const) events.storageRecovered(work);
  assert.equal(events.outages.size, 0);
});

test('an answered request is counted by its labels, and refusals and failed authentications by their reason', async () => {
  const { after } = bench('none');
  const counted = async (change: Partial<AnsweredRequest>) => {
    const [samples] = await after(({ requestAnswered }) => requestAnswered({ ...LISTED, durationMs: 250, ...change }));
    return samples;
  };
  const duration = (status: number, side = 'listener="public",api="true"') => {
    const labels = `{${side},method="GET",route="/v1/categories/{categoryId}",status="${status}"}`;
    return { [`request_duration_seconds_sum${labels}`]: 0.25, [`request_duration_seconds_count${labels}`]: 1 };
  };
  assert.deepEqual(await counted({}), duration(200));
  assert.deepEqual(await counted({ status: 429, plan: 'pro', code: 'daily_quota_exceeded' }), {
    ...duration(429),
    'refusals_total{listener="public",api="true",plan="pro",reason="daily_quota_exceeded"}': 1,
  });
  assert.deepEqual(await counted({ status: 401, code: 'invalid_api_key' }), {
    ...duration(401),
    'failed_authentications_total{listener="public",api="true",reason="invalid_api_key"}': 1,
  });
  const operator = { listener: 'operator', api: 'false', status: 401, code: 'invalid_token' } as const;
  assert.deepEqual(await counted(operator), {
    ...duration(401, 'listener="operator",api="false"'),
    'failed_authentications_total{listener="operator",api="false",reason="invalid_token"}': 1,
  });
  assert.deepEqual(await counted({ status: 403, code: 'insufficient_scope' }), duration(403));
  assert.deepEqual(await counted({ status: 503, code: 'unavailable' }), {
    ...duration(503),
    'request_failures_total{listener="public",api="true"}': 1,
  });
  assert.deepEqual(await counted({ status: 501, code: 'not_implemented' }), duration(501), "a caller's mistake");
  const login = { listener: 'operator', api: 'false', status: 429, plan: undefined } as const;
  assert.deepEqual(await counted(login), duration(429, 'listener="operator",api="false"'), 'refused by no limit');
});

test('the access log has all answers, or those that took a second, or none; a 5xx by the service is told as an error', () => {
  const told = (accessLog: AccessLog) => {
    const { events, lines } = bench(accessLog);
    for (const status of [200, 501, 505, 503])
      for (const durationMs of [999, 1_000]) {
        const requestId = `${status} ${durationMs}`;
        const cause = status === 503 ? OWN : undefined;
        events.requestAnswered({ ...LISTED, status, durationMs, requestId, code: undefined, cause });
      }
    return lines.map(({ level, event, requestId }) => `${level} ${event} ${requestId}`);
  };
  const errors = ['503 999', '503 1000'].map((id) => `50 request_failed ${id}`);
  const answers = [200, 501, 505].flatMap((status) => [999, 1_000].map((ms) => `30 request ${status} ${ms}`));
  assert.deepEqual(told('none'), errors);
  assert.deepEqual(told('errors'), [...answers.filter((line) => line.endsWith(' 1000')), ...errors]);
  assert.deepEqual(told('all'), [
    ...answers,
    ...['503 999', '503 1000'].flatMap((id) => [`50 request_failed ${id}`, `30 request ${id}`]),
  ]);
});

test('a failure is told with its request, and with what was thrown or else its code', async () => {
  const { after } = bench('none');
  const windows = { limit: 60, minute: { remaining: 1 }, day: { remaining: 2 } };
  const failed = { ...LISTED, status: 503, code: 'unavailable', windows } as const;
  const { listener: _, api: _api, windows: _windows, userAgent: _agent, ...line } = failed;
  const told = async (cause?: Error) => (await after((events) => events.requestAnswered({ ...failed, cause })))[1];
  assert.deepEqual(await told(FAILED), { level: 50, event: 'request_failed', ...line, err: 'no' });
  assert.deepEqual(await told(), { level: 50, event: 'request_failed', ...line, err: 'unavailable' });
});

test('a log of warnings has no answers, and what failed without a line is told at the stop', () => {
  const { events, lines } = bench('all', 'warn');
  events.requestAnswered(LISTED);
  for (let times = 0; times < 12; times += 1) events.requestFailed('one', FAILED);
  events.serviceStopped();
  assert.deepEqual(
    lines.map(({ event, count }) => [event, count]),
    [...Array.from({ length: 10 }, () => ['request_failed', undefined]), ['requests_failed', 2]],
  );
});

test('of the service events that cannot be stored the latest fifty wait', () => {
  const { events } = bench();
  for (let count = 1; count <= 51; count += 1) events.backupFailed(`attempt ${count}`);
  const reasons = events.waiting.map(({ members }) => members.reason);
  assert.deepEqual([reasons.length, reasons[0], reasons.at(-1)], [50, 'attempt 2', 'attempt 51']);
});
