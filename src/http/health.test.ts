import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Storage } from '../catalog/storage.ts';
import type { Outages } from '../telemetry/events.ts';
import { Health } from './health.ts';
import type { Exchange } from './transport/exchange.ts';

const SOUND = { isWriteFailing: false };

test('probes within a second share one check of the database, also while it runs', async (t) => {
  const { health, checks, passes } = probed(t);
  const probes = [health.ready(), health.ready()];
  assert.equal(checks.length, 1);
  checks[0]?.resolve(SOUND);
  await Promise.all(probes);
  passes(1_000);
  assert.deepEqual(await health.ready(), {
    status: 200,
    body: '{"status":"ready","database":"ok","redis":"degraded"}',
  });
  assert.equal(checks.length, 1);
  passes(1);
  const probe = health.ready();
  assert.equal(checks.length, 2);
  checks[1]?.resolve({ isWriteFailing: true });
  const { body } = await probe;
  assert.equal(body, '{"status":"ready","database":"ok","writes":"failing","redis":"degraded"}');
  passes(1_000);
  assert.equal((await health.ready()).body, body);
  assert.equal(checks.length, 2);
});

test('a database that does not answer is asked again after a second', async (t) => {
  const { health, checks, passes } = probed(t);
  const unready = { code: 'unavailable', message: 'The database does not answer' };
  const probe = health.ready();
  checks[0]?.reject(new Error('a timeout'));
  await assert.rejects(probe, unready);
  passes(1_000);
  await assert.rejects(health.ready(), unready);
  assert.equal(checks.length, 1);
  passes(1);
  const next = health.ready();
  checks[1]?.resolve(SOUND);
  assert.equal((await next).status, 200);
});

test('reads are ready from the start to the stop, whatever the database does', async (t) => {
  const { health, checks } = probed(t);
  const [, , [path, reads] = []] = new Health({} as Storage, undefined).pages();
  assert.equal(path, '/readyz/reads');
  assert.throws(() => reads?.({} as Exchange), { code: 'unavailable', message: 'The service is starting' });
  const ready = health.ready();
  checks[0]?.reject(new Error('a timeout'));
  await assert.rejects(ready);
  const started = new Map(health.operatorPages()).get('/readyz/reads');
  assert.deepEqual(started?.({} as Exchange), { status: 200, body: '{"status":"ready"}' });
  health.stop();
  assert.throws(() => started?.({} as Exchange), { code: 'unavailable', message: 'The service is stopping' });
});

test('what fails, since when and why is told to operators alone', async (t) => {
  const outage = { since: 1_767_268_800, cause: 'connect ECONNREFUSED' };
  const told = 'counts without Redis since 2026-01-01T12:00:00Z: connect ECONNREFUSED';
  const { health, checks, passes } = probed(t, new Map([['counts without Redis', outage]]));
  const [operators, anyone] = [health.operatorPages(), health.pages()].map((pages) => async () => {
    const answer = await new Map(pages).get('/readyz')?.({} as Exchange);
    return JSON.parse(`${answer?.body}`);
  });
  const refused = [operators?.(), anyone?.()];
  checks[0]?.reject(new Error('a timeout'));
  const message = 'The database does not answer';
  await assert.rejects(async () => refused[0], { code: 'unavailable', message: `${message}; ${told}` });
  await assert.rejects(async () => refused[1], { code: 'unavailable', message });
  passes(1_001);
  const ready = [operators?.(), anyone?.()];
  checks[1]?.resolve(SOUND);
  const answer = { status: 'ready', database: 'ok', redis: 'degraded' };
  assert.deepEqual(await Promise.all(ready), [{ ...answer, redisLost: ['10.0.0.2:6379'], outages: [told] }, answer]);
});

/** A health whose checks end when the test says so, by a clock that the test moves, with a Redis that is lost. */
function probed(t: TestContext, outages: Outages = new Map()) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const checks: PromiseWithResolvers<typeof SOUND>[] = [];
  const storage: Pick<Storage, 'check'> = {
    check: () => {
      const check = Promise.withResolvers<typeof SOUND>();
      checks.push(check);
      return check.promise;
    },
  };
  const health = new Health(storage as Storage, { lost: ['10.0.0.2:6379'] }, outages);
  health.start();
  return {
    health,
    checks,
    passes: (ms: number) => {
      nowMs += ms;
    },
  };
}
