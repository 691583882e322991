import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Limits } from '../../src/catalog/plan.ts';
import { slotOf } from '../../src/limits/redis/slots.ts';
import type { Finding } from '../../src/telemetry/finding.ts';
import { clusterBench, LIMITS } from '../kit/limits/cluster-bench.ts';
import { run } from '../kit/process.ts';
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../kit/redis-cluster.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { temporaryFolder } from '../kit/service.ts';

suite('two instances on a cluster of three masters', { skip: redisServerMissing() }, () => {
  let cluster: RedisCluster;
  before(async () => {
    cluster = await startRedisCluster({ spare: 1 });
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  test('of simultaneous requests of a hundred keys each is admitted exactly its limit', async () => {
    await using bench = await clusterBench({ cluster });
    const keys = await Promise.all(Array.from({ length: 100 }, () => bench.issue(LIMITS)));
    const requests = keys.flatMap((key) => Array.from({ length: 2 * LIMITS.minute }, (_, i) => ({ key, i })));
    const admitted = new Map(keys.map(({ id }) => [id, new Set<number>()]));
    await Promise.all(
      requests.map(async ({ key, i }) => {
        const { refusal, remaining } = await bench.at(i).charge(key);
        if (!refusal) admitted.get(key.id)?.add(remaining);
      }),
    );
    const remainders = Array.from({ length: LIMITS.minute }, (_, i) => i);
    for (const [id, told] of admitted)
      assert.deepEqual(
        [...told].sort((a, b) => a - b),
        remainders,
        id,
      );
    for (const master of bench.cluster.masters) {
      assert.ok(Number(await master.command('DBSIZE')) > 10, 'every master has some of the keys');
    }
    assert.deepEqual([bench.lost, bench.states()], [[], ['ok', 'ok']]);
  });

  test('windows run by the clock of the master of their key', async () => {
    await using bench = await clusterBench({ cluster, isServerTime: true });
    const keys = await Promise.all(Array.from({ length: 12 }, () => bench.issue(LIMITS)));
    for (const key of keys) {
      const { minute, now } = await bench.at(0).charge(key);
      const [seconds] = (await (await bench.cluster.masterOf(key.id)).command('TIME')) as [string];
      assert.ok(Math.abs(Number(seconds) - now) <= 30, 'not by that of the process');
      assert.equal(minute.reset, now + 60);
      await bench.spend(key);
      assert.equal((await bench.at(0).charge(key)).refusal, 'rate_limit_exceeded');
    }
  });

  test('the commands of docs/scaling.md suffice for a cluster', async () => {
    using folder = temporaryFolder();
    const rights =
      'ACL SETUSER petcatalog on >secret resetkeys ~pet-catalog:* resetchannels -@all +info +ping +time +get +set +eval +evalsha +asking +cluster|slots';
    for (const master of cluster.masters) await master.command(...rights.split(' '));
    const url = (cluster.masters[0] as ClusterNode).url.replace('redis://', 'redis://petcatalog:secret@');
    const { stdout } = await run(['doctor', '--json'], { cwd: folder.path, env: { REDIS_URL: url, INSTANCES: '1' } });
    const findings = (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'redis');
    assert.ok(
      findings.every(({ status }) => status !== 'problem'),
      stdout,
    );
    await using bench = await clusterBench({ url, cluster });
    assert.equal(await bench.spend(await bench.issue(LIMITS)), LIMITS.minute);
    await cluster.masters[0]?.command('ACL', 'SETUSER', 'petcatalog', '-cluster|slots');
    await using refused = await clusterBench({ url, cluster });
    assert.deepEqual(refused.states(), ['degraded', 'degraded']);
    assert.match(`${refused.lost[0]}`, /NOPERM.*docs\/scaling\.md/);
  });

  test('slots that move under load leave limits exact', async () => {
    await using bench = await clusterBench({ cluster });
    const [added] = cluster.spares as [ClusterNode];
    const wide: Limits = { minute: 1_500, day: 1_000_000 };
    const moving = await Promise.all(Array.from({ length: 4 }, () => bench.issue(wide)));
    const load = bench.load(moving);
    await load.some();
    // To a node that has no slots yet, to another master, and back.
    for (const [index, key] of moving.entries()) {
      const from = await bench.cluster.masterOf(key.id);
      const other = bench.cluster.masters.find((master) => master !== from) as ClusterNode;
      const fresh = await bench.issueIn(slotOf(key.id), LIMITS);
      let counted = 0;
      await bench.cluster.move(key.id, index % 2 === 0 ? added : other, async () => {
        await load.some();
        for (const limiter of bench.limiters) if (!(await limiter.charge(fresh)).refusal) counted += 1;
      });
      assert.equal(counted + (await bench.spend(fresh)), LIMITS.minute, 'a key that is first used in a move');
      if (index === 3) await bench.cluster.move(key.id, from, load.some);
    }
    await load.end();
    for (const [index, key] of moving.entries()) {
      assert.equal((load.admitted.get(key.id) ?? 0) + (await bench.spend(key)), wide.minute, `key ${index}`);
    }
    assert.deepEqual(bench.lost, [], 'no master was lost');
  });

  test('a server that becomes a cluster is followed', async () => {
    await using server = await startRedis('--cluster-enabled', 'yes');
    await using late = await clusterBench({ url: server.url, cluster });
    assert.deepEqual(late.states(), ['degraded', 'degraded'], 'no slot has a master');
    await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await late.until('ok');
    assert.equal(await late.spend(await late.issue(LIMITS)), LIMITS.minute);
  });
});
