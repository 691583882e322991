import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import { Rates } from '../../src/operator/console/rates.ts';
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
        metrics.backupBytes.set(5 * 1024 * 1024);
      },
      /^<strong>3 h old<\/strong>, 5 MiB, made and checked <time datetime="2026-01-01T09:00:00Z"[^;]*; none was restored on trial yet; one is due every 24 h\. Failed/,
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
    assert.ok(text.indexOf('id="health"') < text.indexOf('id="tiles"'), 'health comes first');
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
    [...section.matchAll(/<bdi>(key \d+)<\/bdi><\/a> is banned for another/g)].map(([, name]) => name),
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
  for (const section of ['id="tiles"', 'id="health"', 'Signed in as']) assert.ok(some.includes(section), section);
  Object.assign(storage.sessions, { find: unread });
  const none = await operator.get('');
  assert.deepEqual([none.status, none.headers.has('retry-after')], [503, true]);
  const text = await none.text();
  assert.match(text, /That did not work.*role="alert">The storage cannot do this now\./s);
  assert.doesNotMatch(text, /id="tiles"|Signed in as/, 'a session is needed for these');
});

test('an overview without requests says what to do, and one with some how many there are in a second', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const none = '<strong>There is no key yet.</strong></p><p>Every request to the API needs one. <a ';
  assert.ok((await operator.page('')).includes(none));
  const { secret } = await service.issue();
  assert.match(
    await operator.page('?sort=refused'),
    /Keys with most refusals .*<p class="soft">None in the last hour\.</s,
  );
  for (let call = 0; call < 3; call += 1) await service.call(secret, '/categories');
  const [, rate] = /<dt>Served \/s<\/dt><dd><a[^>]*>([^<]*)</.exec(await operator.page('')) ?? [];
  assert.match(rate ?? '', /^\d\.\d$/, 'below ten with a digit after the point');
});

test('rates are those of the last ten seconds, and durations those of the last minute', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  using rates = new Rates(metrics, { ...systemTime(), steadyMs: () => nowMs });
  const answer = (times: number, status: number, seconds: number, side: Side = API_SIDE) => {
    const labels = { ...side, method: 'GET', route: 'unmatched', status };
    for (let time = 0; time < times; time += 1) metrics.requests.observe(labels, seconds);
  };
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      nowMs += 5_000;
      rates.sample();
    }
  };
  await pass(5);
  const none = { served: 0, clientErrors: 0, refused: 0, serverErrors: 0 };
  assert.deepEqual(rates.recent(), { ...none, p50: undefined, p99: undefined });

  answer(90, 200, 0.0007);
  answer(8, 404, 0.0007);
  answer(20, 429, 0.0007);
  answer(2, 503, 2);
  answer(500, 200, 0.0007, { listener: 'public', api: 'false' });
  answer(500, 200, 0.0007, { listener: 'operator', api: 'false' });
  await pass(10);
  const recent = rates.recent();
  // Of 120 the 60th is in the class up to 1 ms, with 117 others; the 118.8th in the class up to 2.5 s, with one other.
  const durations = { p50: 0.0005 + (0.0005 * 60) / 118, p99: 1 + (1.5 * 0.8) / 2 };
  const rounded = ({ p50 = 0, p99 = 0 }) => ({ p50: p50.toFixed(9), p99: p99.toFixed(9) });
  const { p50, p99, ...perSecond } = recent;
  assert.deepEqual(perSecond, { served: 9, clientErrors: 0.8, refused: 2, serverErrors: 0.2 });
  assert.deepEqual(rounded({ p50, p99 }), rounded(durations));

  await pass(50);
  assert.deepEqual(rates.recent(), { ...none, p50, p99 }, 'a minute after the last sample without them');
  await pass(5);
  assert.deepEqual(rates.recent(), { ...none, p50: undefined, p99: undefined });
});
