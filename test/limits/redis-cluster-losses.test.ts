import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Limits } from '../../src/catalog/plan.ts';
import type { Finding } from '../../src/telemetry/finding.ts';
import { untilEqual } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { ANSWER_MS, clusterBench, LIMITS } from '../kit/limits/cluster-bench.ts';
import { run, serveProcess } from '../kit/process.ts';
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../kit/redis-cluster.ts';
import { redisServerMissing } from '../kit/redis-server.ts';
import { temporaryFolder } from '../kit/service.ts';

suite('a cluster that loses masters', { skip: redisServerMissing() }, () => {
  let cluster: RedisCluster;
  before(async () => {
    cluster = await startRedisCluster({ spare: 2 });
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  test('a master killed under load and back empty: its keys get shares on top, the others nothing', async (t) => {
    await using bench = await clusterBench({ cluster });
    const wide: Limits = { minute: 2_000, day: 1_000_000 };
    const keys = await Promise.all(Array.from({ length: 12 }, () => bench.issue(wide)));
    const [, master] = bench.cluster.masters as [ClusterNode, ClusterNode];
    const own = new Set(await bench.on(master, keys));
    const load = bench.load(keys);
    await load.some();
    await master.kill();
    await bench.until('degraded');
    await load.some();
    await cluster.restart(master);
    await bench.until('ok');
    await load.some();
    await load.end();
    for (const key of keys) {
      const admitted = (load.admitted.get(key.id) ?? 0) + (await bench.spend(key));
      if (!own.has(key)) assert.equal(admitted, wide.minute, 'of other masters');
      else {
        assert.ok(admitted >= wide.minute && admitted <= 2 * wide.minute, `${admitted} were admitted`);
        t.diagnostic(`${admitted} admitted of ${2 * wide.minute} at most`);
      }
    }
  });

  test('`doctor`, `/readyz` and metrics name a master that is lost, and slots without one', async () => {
    using folder = temporaryFolder();
    const [first, second, third] = cluster.masters as [ClusterNode, ClusterNode, ClusterNode];
    const operatorPort = await freePort();
    const env = { REDIS_URL: first.url, INSTANCES: '1', OPERATOR_PORT: `${operatorPort}` };
    const examined = async () => {
      const { stdout } = await run(['doctor', '--json'], {
        cwd: folder.path,
        env: { REDIS_URL: first.url, INSTANCES: '1' },
      });
      return (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'redis');
    };
    const findings = await examined();
    assert.equal(findings[0]?.finding, 'It is a cluster of 3 masters');
    for (const { name } of cluster.masters) {
      assert.ok(
        findings.some(({ finding }) => finding === `${name}: It counts`),
        name,
      );
    }
    assert.ok(
      findings.every(({ status }) => status !== 'problem'),
      JSON.stringify(findings),
    );

    await using service = await serveProcess([], { cwd: folder.path, env });
    const operatorUrl = `http://127.0.0.1:${operatorPort}`;
    const text = async (url: string) => (await fetch(url)).text();
    const ready = async (url: string) => JSON.parse(await text(`${url}/readyz`)) as Record<string, unknown>;
    const lostIn = async () =>
      [...(await text(`${operatorUrl}/metrics`)).matchAll(/^pet_catalog_redis_master_lost\{master="(.*)"\} 1$/gm)].map(
        ([, name]) => name,
      );
    await untilEqual(() => ready(operatorUrl), { status: 'ready', database: 'ok', redis: 'ok' });
    await untilEqual(lostIn, []);
    await third.kill();
    await untilEqual(async () => (await ready(operatorUrl)).redisLost, [third.name]);
    await untilEqual(lostIn, [third.name]);
    assert.deepEqual(await ready(new URL(service.url).origin), { status: 'ready', database: 'ok', redis: 'degraded' });
    const problem = (await examined()).find(({ status }) => status === 'problem');
    assert.match(problem?.finding ?? '', new RegExp(`^${third.name}: Redis cannot be used: `));

    await cluster.restart(third);
    await untilEqual(() => ready(operatorUrl), { status: 'ready', database: 'ok', redis: 'ok' });
    await untilEqual(lostIn, []);
    assert.match(service.output.stderr + service.output.stdout, new RegExp(`limiter_degraded.*${third.name}`));
    // The owner first: it would teach the others again.
    for (const master of [second, first, third]) await master.command('CLUSTER', 'DELSLOTS', '8000');
    assert.match(
      (await examined())[0]?.finding ?? '',
      /^It is a cluster of 3 masters, and 1 of its 16384 slots have none/,
    );
    await untilEqual(async () => (await ready(operatorUrl)).redisLost, ['none for 1 slots']);
    await second.command('CLUSTER', 'ADDSLOTS', '8000');
    await untilEqual(async () => (await ready(operatorUrl)).redisLost, undefined);
  });

  for (const [index, fault, answerMs] of [
    [0, 'kill', ANSWER_MS],
    // It is noticed by its silence.
    [1, 'freeze', 4_000],
  ] as const) {
    test(`a replica with older data in the place of a master re-opens no window: ${fault}`, async () => {
      await using bench = await clusterBench({ cluster, answerMs });
      const keys = await Promise.all(Array.from({ length: 30 }, () => bench.issue(LIMITS)));
      const master = bench.cluster.masters[index] as ClusterNode;
      const own = await bench.on(master, keys);
      const others = keys.filter((key) => !own.includes(key));
      assert.ok(own.length > 0 && others.length > 0);
      const replica = cluster.spares[index] as ClusterNode;
      await cluster.replicate(replica, master);
      for (const key of keys) await bench.spend(key, 5);
      await untilEqual(() => master.command('WAIT', '1', '1000'), 1);
      replica.freeze();
      await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
      for (const key of own) assert.equal(await bench.spend(key), LIMITS.minute - 5);
      await bench.saveAll();

      await master[fault]();
      await bench.until('degraded');
      for (const limiter of bench.limiters) assert.deepEqual(limiter.lostMasters, [master.name]);
      for (const key of own) {
        for (const limiter of bench.limiters) await limiter.charge(key);
      }
      for (const key of others) await bench.spend(key, 5);
      replica.thaw();
      await bench.cluster.promote(replica);
      await bench.until('ok');
      for (const limiter of bench.limiters) assert.deepEqual(limiter.lostMasters, []);
      for (const key of own) {
        for (const limiter of bench.limiters) assert.equal((await limiter.charge(key)).refusal, 'rate_limit_exceeded');
        await using fresh = await bench.start();
        assert.equal((await fresh.charge(key)).refusal, 'rate_limit_exceeded');
      }
      for (const key of others) assert.equal(await bench.spend(key), LIMITS.minute - 10, 'of other masters');
      assert.match(`${bench.lost}`, new RegExp(`Error: ${master.name}: `));
    });
  }
});
