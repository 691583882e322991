import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import { createTraffic } from '../../src/operator/console/traffic.ts';
import { systemTime } from '../../src/stdx/time.ts';
import type { Finding } from '../../src/telemetry/finding.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { API_SIDE, type Side } from '../../src/telemetry/request-metrics.ts';
import { storeBan } from '../kit/bans.ts';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { testService } from '../kit/service.ts';

/** What the overview says of traffic, backups and findings, as HTTP alone shows it. */

test('the last backup is shown with its age and size, and so is that it is overdue, missing or failed', async () => {
  await using service = await testService();
  const { metrics } = service;
  const operator = await signIn(service);
  const now = service.clock.now().unix;
  const hour = 3_600;
  const overdue = /^<span class="badge danger">overdue<\/span> <strong>2 days old/;
  for (const [happen, said] of [
    [() => {}, /not scheduled/],
    [() => metrics.backupInterval.set(24 * hour), /none yet<\/span> One is due every 24 h\.$/],
    [() => metrics.backupFailures.inc(2), /24 h\. Failed attempts since the start: 2; see the log\.$/],
    [
      () => {
        metrics.backupTime.set(now - 3 * hour);
      },
      /^<strong>3 h old<\/strong>, made and checked <time datetime="2026-01-01T09:00:00Z"[^;]*; none was restored on trial yet; one is due every 24 h\. Failed/,
    ],
    [
      () => metrics.backupRestored.set(now),
      /; one restored and compared <time datetime="2026-01-01T12:00:00Z".*; one is due/,
    ],
    [() => metrics.backupTime.set(now - 48 * hour), /^<strong>2 days old/],
    [() => metrics.backupTime.set(now - 48 * hour - 1), overdue],
  ] as const) {
    happen();
    const text = await operator.page('');
    assert.match(/<dt>Last backup<\/dt><dd>(.*?)<\/dd>/s.exec(text)?.[1] ?? '', said);
  }
});

test('of many bans the latest ten are shown, and the number of the others', async () => {
  await using service = await testService();
  const now = service.clock.now().unix;
  for (let index = 0; index < 12; index += 1) {
    const { key } = await service.issue({ name: `key ${index}` });
    await storeBan(service.storage, { keyId: key.id, startedAt: now - index, endsAt: now + 60, level: 1, reason: 'r' });
  }
  const [section = ''] = /<section id="bans".*?<\/section>/s.exec(await (await signIn(service)).page('')) ?? [];
  assert.deepEqual(
    [...section.matchAll(/<bdi>(key \d+)<\/bdi><\/a>: <strong>Banned for another/g)].map(([, name]) => name),
    Array.from({ length: 10 }, (_, index) => `key ${index}`),
  );
  assert.match(
    section,
    /<span class="badge danger">12<\/span>.*<p>It was r\. .*And 2 more, marked in the list of keys\./s,
  );
});

test('the overview shows what doctor complains of, problems first, and never waits for it', async () => {
  const findings: Finding[] = [
    { check: 'database', status: 'ok', finding: 'It is sound' },
    { check: 'disk', status: 'warning', finding: 'It is <nearly> full', advice: 'run `df`' },
    { check: 'rows', status: 'problem', finding: 'One is damaged', advice: 'look it up' },
  ];
  const asked = Promise.withResolvers<Finding[]>();
  let examinations = 0;
  const examine = async () => {
    examinations += 1;
    if (examinations === 1) return asked.promise;
    steadyMs += 20_000;
    return findings.slice(0, 1);
  };
  let steadyMs = 0;
  const clock = { ...manualClock(), steadyMs: () => steadyMs };
  await using service = await testService({}, clock, { examine });
  const operator = await signIn(service);
  assert.match(await operator.page(''), /Being checked…/);
  asked.resolve(findings);
  await untilTrue(async () => !(await operator.page('')).includes('Being checked…'));
  const text = await operator.page('');
  const checkedAt = (time: string) =>
    `<span class="soft">what <code>pet-catalog doctor</code> checks, at <time datetime="2026-01-01T${time}:00Z"`;
  assert.ok(text.includes(`1 of 3 checks passed: ${checkedAt('12:00')}`));
  assert.match(
    text,
    /danger">problem<\/span> rows: One is damaged\.[\s\S]*To do: look it up\.[\s\S]*warning">warning<\/span> disk: It is &lt;nearly&gt; full\.[\s\S]*run <code>df<\/code>\.[\s\S]*<li class="soft">database: It is sound<\/li>/,
  );
  steadyMs = 599_999;
  await operator.page('');
  assert.equal(examinations, 1, 'findings are kept for ten minutes');
  steadyMs = 600_000;
  service.clock.advance(600);
  const good = `<span class="badge good">nothing to do</span> 1 of 1 check passed: ${checkedAt('12:10')}`;
  await untilTrue(async () => (await operator.page('')).includes(good));
  steadyMs += 999_999;
  await operator.page('');
  assert.equal(examinations, 2, 'slow checks take a fiftieth of the time');
  await using broken = await testService({}, manualClock(), { examine: () => Promise.reject(new Error('no thread')) });
  const other = await signIn(broken);
  const failed =
    '<span class="badge warning">warning</span> doctor: The checks failed: no thread. <span class="soft">To do: run <code>pet-catalog doctor</code> on the machine.</span>';
  await untilTrue(async () => (await other.page('')).includes(failed));
});

test('with Redis the overview says that it is up, or that this instance counts alone', {
  skip: redisServerMissing(),
}, async () => {
  await using redis = await startRedis();
  await using service = await testService({ REDIS_URL: redis.url, INSTANCES: '1' });
  const { secret } = await service.issue();
  const operator = await signIn(service);
  const told = async () => /<dt>Redis<\/dt><dd>(.*?)<\/dd>/s.exec(await operator.page(''))?.[1];
  assert.equal(await told(), '<span class="badge good">up</span>');
  await service.call(secret, '/categories');
  assert.match(await operator.page('/requests'), / Other instances keep their own; the log of each has the same/);
  await redis.kill();
  await untilTrue(async () => {
    await service.call(secret, '/categories');
    return (await told())?.includes('down') === true;
  });
  const alone = 'This instance counts by itself and admits its share of each limit.';
  assert.equal(await told(), `<span class="badge danger">down</span> ${alone}`);
});

test('without its database the overview shows what this instance knows by itself', async () => {
  await using service = await testService();
  const { storage } = service;
  await service.issue();
  const unread = () => Promise.reject(new CatalogError('unavailable', 'The storage cannot do this now'));
  Object.assign(storage, { check: unread });
  const operator = await signIn(service);
  Object.assign(storage.usage, { sums: unread });
  Object.assign(storage.audit, { list: unread });
  const some = await operator.page('');
  assert.match(some, /role="alert">The database cannot be read: The storage cannot do this now\./);
  const down = '<span class="badge danger">down</span> Requests that need it get 503; see the log.';
  assert.ok(some.includes(`<dt>Database</dt><dd>${down}</dd>`));
  for (const section of ['id="health"', 'Signed in as']) assert.ok(some.includes(section), section);
  Object.assign(storage.sessions, { find: unread });
  const none = await operator.get('');
  assert.deepEqual([none.status, none.headers.has('retry-after')], [503, true]);
  const text = await none.text();
  assert.match(text, /That did not work.*role="alert">The storage cannot do this now\./s);
  assert.doesNotMatch(text, /id="health"|Signed in as/, 'a session is needed for these');
});

test('requests of late are those between two looks, of the last minute at most', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  const traffic = createTraffic(metrics, { ...systemTime(), steadyMs: () => nowMs });
  const answer = (times: number, status: number, seconds: number, side: Side = API_SIDE) => {
    const labels = { ...side, method: 'GET', route: 'unmatched', status };
    for (let time = 0; time < times; time += 1) metrics.requests.observe(labels, seconds);
  };
  answer(7, 200, 0.0007);
  assert.equal(traffic(), undefined, 'the first look has nothing to compare with');
  nowMs = 10_000;
  answer(98, 200, 0.0007);
  answer(20, 429, 0.0007);
  answer(2, 503, 2);
  answer(500, 200, 0.0007, { listener: 'public', api: 'false' });
  answer(500, 200, 0.0007, { listener: 'operator', api: 'false' });
  const { p50 = 0, p99 = 0, ...found } = traffic() ?? {};
  assert.deepEqual(found, { seconds: 10, requests: 120 });
  // The 60th is in the class up to 1 ms, with 117 others; the 118.8th in the class up to 2.5 s, with one other.
  assert.deepEqual(
    [p50.toFixed(9), p99.toFixed(9)],
    [(0.0005 + (0.0005 * 60) / 118).toFixed(9), (1 + (1.5 * 0.8) / 2).toFixed(9)],
  );
  nowMs = 60_001;
  assert.deepEqual(traffic(), { seconds: 50.001, requests: 0, p50: undefined, p99: undefined });
  nowMs = 120_002;
  assert.equal(traffic(), undefined, 'all looks are older than a minute');
});

test('the overview tells the requests of late by the second, and their durations', async () => {
  let steadyMs = 0;
  await using service = await testService({}, { ...manualClock(), steadyMs: () => steadyMs });
  const { secret } = await service.issue();
  const operator = await signIn(service);
  const told = async () => /<dt>Requests<\/dt><dd>(.*?)<\/dd>/.exec(await operator.page(''))?.[1] ?? '';
  await told();
  for (let call = 0; call < 3; call += 1) await service.call(secret, '/categories');
  steadyMs = 10_000;
  assert.match(
    await told(),
    /^<strong>0\.3 a second<\/strong> in the last 10 s, half of them within [\d.]+ ms, 99 of 100/,
  );
});
