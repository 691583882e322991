import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Limits } from '../../src/catalog/plan.ts';
import { untilEqual } from '../kit/clock.ts';
import { ANSWER_MS, clusterBench, LIMITS } from '../kit/limits/redis-bench.ts';
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../kit/redis-cluster.ts';
import { redisServerMissing } from '../kit/redis-server.ts';

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
      const admitted = load.admitted(key) + (await bench.spend(key));
      if (!own.has(key)) assert.equal(admitted, wide.minute, 'of other masters');
      else {
        assert.ok(admitted >= wide.minute && admitted <= 2 * wide.minute, `${admitted} were admitted`);
        t.diagnostic(`${admitted} admitted of ${2 * wide.minute} at most`);
      }
    }
  });

  for (const [index, fault, answerMs] of [
    [0, 'kill', ANSWER_MS],
    // It is noticed by its silence.
    [1, 'freeze', 2_500],
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
      for (const limiter of bench.limiters) assert.deepEqual(limiter.lost, [master.name]);
      for (const key of own) {
        for (const limiter of bench.limiters) await limiter.charge(key);
      }
      for (const key of others) await bench.spend(key, 5);
      replica.thaw();
      await bench.cluster.promote(replica);
      await bench.until('ok');
      for (const limiter of bench.limiters) assert.deepEqual(limiter.lost, []);
      await using fresh = await bench.start();
      for (const key of own) {
        for (const limiter of [...bench.limiters, fresh]) {
          assert.equal((await limiter.charge(key)).refusal, 'rate_limit_exceeded');
        }
      }
      for (const key of others) assert.equal(await bench.spend(key), LIMITS.minute - 10, 'of other masters');
      assert.match(`${bench.lost}`, new RegExp(`Error: ${master.name}: `));
    });
  }
});
