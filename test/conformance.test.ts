import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pace } from '../referee/src/trial/trial.ts';
import { notPassed, openBalancer, refereed } from './conformance/referee.ts';
import { type ManualClock, patientClock, untilEqual } from './kit/clock.ts';
import { noPostgres, temporaryDatabase } from './kit/postgres.ts';
import { sharedRedis } from './kit/redis-server.ts';
import { json, type TestService, testService } from './kit/service.ts';

/** Every rule of `referee server`, ours among them, on everything that the service may stand on. */
describe('the referee finds nothing to blame', () => {
  test('on the embedded database, waiting for windows and bans', async () => {
    await using service = await testService();
    const { rules } = await assertKept(service);
    assert.ok(rules.length > 75, `only ${rules.length} rules`);
  });

  test('with two keys of the free plan, within their limits, with few creates and requests', async () => {
    await using service = await testService();
    const { secret } = await service.issue();
    const report = await refereed(service, { key: secret, isFull: false, concurrency: 50, level: 'published' });
    assert.deepEqual(
      notPassed(report).filter((text) => !/--full (waits|judges it)$/.test(text)),
      [],
    );
    const { answered } = service.events;
    assert.ok(answered.filter(({ status }) => status === 201).length <= 40);
    assert.ok(answered.length < 200, `${answered.length} requests`);
    const reader = await service.issue();
    const categories = await json<{ name: string }[]>(service.call(reader.secret, '/categories'));
    assert.deepEqual(
      categories.filter(({ name }) => !name.startsWith('Conformance-')),
      [],
    );
  });

  test('with a key that is soon over its limit, by waiting as Retry-After says, or else by skipping', async () => {
    await using service = await testService();
    const limits = { minute: 25, day: 1_000 };
    const issued = await Promise.all([1, 2].map(() => service.issue({ plan: 'enterprise', limits })));
    const [patient = '', hasty = ''] = issued.map(({ secret }) => secret);
    const waited = notPassed(await refereed(service, { key: patient }));
    assert.deepEqual(waited, ['auth.other-environment skipped: no --other-environment-key']);
    const skipped = notPassed(await refereed(service, { key: hasty, isFull: false }));
    assert.ok(skipped.length > 20);
    for (const text of skipped)
      assert.match(text, / skipped: (no --|.* for \d+ s; --full waits|it waits|the other caller has spent its limit)/);
  });

  const together = { skip: noPostgres };

  test('on PostgreSQL and Redis', together, async (t) => {
    const { url: REDIS_URL, skip } = await sharedRedis();
    if (skip) return t.skip(skip);
    await using database = await temporaryDatabase();
    const settings = { DATABASE_URL: database.url, REDIS_URL, INSTANCES: '1' };
    await using service = await testService(settings, patientClock());
    await assertKept(service);
  });

  test('on two instances behind one address', together, async (t) => {
    const { url: REDIS_URL, skip } = await sharedRedis();
    if (skip) return t.skip(skip);
    await using database = await temporaryDatabase();
    const settings = { DATABASE_URL: database.url, REDIS_URL, INSTANCES: '2' };
    const clock = patientClock();
    await using one = await testService(settings, clock);
    await using other = await testService(settings, clock);
    await using balancer = await openBalancer([one.url, other.url]);
    const watcher = (await one.issue({ plan: 'enterprise', limits: { minute: 1e6, day: 1e6 } })).secret;
    const lists = () => Promise.all([one, other].map(async (each) => (await each.call(watcher, '/categories')).text()));
    const pace = paceOf(clock, () => untilEqual(async () => new Set(await lists()).size, 1));
    await assertKept({ ...one, url: balancer.url, clock, issue: one.issue }, pace);
  });
});

async function assertKept(service: Pick<TestService, 'url' | 'clock' | 'issue'>, pace = paceOf(service.clock)) {
  const other = await service.issue({ environment: 'staging' });
  const report = await refereed(service, { otherEnvironmentKey: other.secret, pace });
  assert.deepEqual(notPassed(report), []);
  return report;
}

/** Waiting turns the clock. `follow`: what happens in the meantime. */
function paceOf(clock: ManualClock, follow = async () => {}): Pace {
  return {
    now: () => clock.now().steady,
    async wait(seconds) {
      clock.advance(Math.ceil(seconds));
      await follow();
    },
  };
}
