import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Limits } from '../../src/catalog/plan.ts';
import { slotOf } from '../../src/limits/redis/slots.ts';
import { untilEqual } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { clusterBench, LIMITS } from '../kit/limits/redis-bench.ts';
import { findingsOf, serveProcess } from '../kit/process.ts';
import { type ClusterNode, type RedisCluster, startRedisCluster } from '../kit/redis-cluster.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';

const redisFound = async (url: string) =>
  (await findingsOf({ REDIS_URL: url, INSTANCES: '1' })).filter(({ check }) => check === 'redis');

suite('two instances on a cluster of three masters', { skip: redisServerMissing() }, () => {
  let cluster: RedisCluster;
  before(async () => {
    cluster = await startRedisCluster({ spare: 1 });
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  test('of simultaneous requests of a hundred keys each is admitted exactly its limit, and after a reset again', async () => {
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
    for (const key of keys.slice(0, 12)) {
      const reset = { ...key, resets: { minute: 1, day: 0 } };
      assert.equal(await bench.spend(reset), LIMITS.minute, 'an operator gave the minute back');
      assert.equal((await bench.at(0).peek(reset)).day.remaining, LIMITS.day - 2 * LIMITS.minute);
    }
    for (const master of bench.cluster.masters) {
      assert.ok(Number(await master.command('DBSIZE')) > 10, 'every master has some of the keys');
    }
    assert.deepEqual([bench.lost, bench.states()], [[], ['ok', 'ok']]);
  });

  test('the commands of docs/scaling.md suffice for a cluster', async () => {
    const rights =
      'ACL SETUSER petcatalog on >secret resetkeys ~pet-catalog:* resetchannels -@all +info +ping +time +get +set +eval +evalsha +asking +cluster|slots';
    for (const master of cluster.masters) await master.command(...rights.split(' '));
    const url = (cluster.masters[0] as ClusterNode).url.replace('redis://', 'redis://petcatalog:secret@');
    assert.ok((await redisFound(url)).every(({ status }) => status !== 'problem'));
    await using bench = await clusterBench({ url, cluster });
    assert.equal(await bench.spend(await bench.issue(LIMITS)), LIMITS.minute);
    await cluster.masters[0]?.command('ACL', 'SETUSER', 'petcatalog', '-cluster|slots');
    await using refused = await clusterBench({ url, cluster });
    assert.deepEqual(refused.states(), ['degraded', 'degraded']);
    assert.match(`${refused.lost[0]}`, /NOPERM.*docs\/scaling\.md/);
  });

  test('`doctor`, `/readyz` and metrics name a master that is lost, and slots without one', async () => {
    using folder = temporaryFolder();
    const [first, second, third] = cluster.masters as [ClusterNode, ClusterNode, ClusterNode];
    const operatorPort = await freePort();
    const env = { REDIS_URL: first.url, INSTANCES: '1', OPERATOR_PORT: `${operatorPort}` };
    const counts = [{ check: 'redis', status: 'ok', finding: 'It counts' }];
    assert.deepEqual(await redisFound(first.url), counts);

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
    const [found] = await redisFound(first.url);
    assert.equal(found?.status, 'problem');
    assert.match(
      found?.finding ?? '',
      new RegExp(`^It cannot count: .*${third.name}.*\\(lost of its cluster: ${third.name}\\)$`),
    );

    await second.kill();
    await untilEqual(async () => (await ready(operatorUrl)).redisLost, [second.name, third.name]);
    await untilEqual(async () => (await lostIn()).sort(), [second.name, third.name].sort());
    await cluster.restart(third);
    await untilEqual(lostIn, [second.name]);
    await cluster.restart(second);
    await untilEqual(() => ready(operatorUrl), { status: 'ready', database: 'ok', redis: 'ok' });
    await untilEqual(lostIn, []);
    assert.match(service.output.stderr + service.output.stdout, new RegExp(`limiter_degraded.*${third.name}`));
    // The owner first: it would teach the others again.
    for (const master of [second, first, third]) await master.command('CLUSTER', 'DELSLOTS', '8000');
    assert.equal(
      (await redisFound(first.url))[0]?.finding,
      'It cannot count: A slot has no master (lost of its cluster: none for 1 slots)',
    );
    await untilEqual(async () => (await ready(operatorUrl)).redisLost, ['none for 1 slots']);
    await second.command('CLUSTER', 'ADDSLOTS', '8000');
    await untilEqual(async () => (await ready(operatorUrl)).redisLost, undefined);
  });

  test('a new node that is slow to connect is waited for, so that no share is admitted, and left once it departs', async () => {
    await using bench = await clusterBench({ cluster });
    const [added] = cluster.spares as [ClusterNode];
    const key = await bench.issue(LIMITS);
    const from = await cluster.masterOf(key.id);
    let charging: Promise<unknown> | undefined;
    await cluster.move(key.id, added, async () => {
      if (charging) return;
      added.freeze();
      charging = Promise.all(bench.limiters.map((limiter) => limiter.charge(key)));
      // Longer than a connection may take where an answer is not waited for so long.
      await setTimeout(1_000);
      added.thaw();
      await charging;
    });
    assert.deepEqual([await bench.spend(key), bench.ofShares(key)], [LIMITS.minute - 2, 0]);
    await cluster.move(key.id, from);
    // The one that asks is left.
    const clients = async () => String(await added.command('CLIENT', 'LIST', 'TYPE', 'normal')).match(/^id=/gm);
    await untilEqual(async () => (await clients())?.length, 1);
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
      assert.equal(load.admitted(key) + (await bench.spend(key)), wide.minute, `key ${index}`);
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
