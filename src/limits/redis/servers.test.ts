import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedEvents } from '../../../test/kit/events.ts';
import { LIMITS, NOON } from '../../../test/limits/played-redis.ts';
import { Dice } from '../../../test/simulator/dice.ts';
import { SimulatedRedis } from '../../../test/simulator/redis.ts';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import { newApiKey } from '../../catalog/api-key.ts';
import { NO_COUNTS } from '../../catalog/window-counts.ts';
import type { RedisClient } from './link.ts';
import { RedisServers } from './servers.ts';
import { slotOf } from './slots.ts';

const THIRD = 5_462;
const SKEWS_MS = [0, 5_000, 2_000, 0];
const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'enterprise', limits: LIMITS }, NOON);
const thirdOf = (id: string) => Math.floor(slotOf(id) / THIRD);
const name = (index: number) => `10.0.0.${index}:6379`;

/** A cluster that the test plays, in which each node believes that some three have a third of the slots each. */
async function bench({ views = [[0, 1, 2]], lost = -1 }: { views?: number[][]; lost?: number } = {}) {
  const time = new VirtualTime(NOON * 1_000);
  const nodes = SKEWS_MS.map((skewMs, index) => ({
    redis: new SimulatedRedis({ time, dice: new Dice(1), skewMs, onSet() {} }),
    masters: views[index] ?? views[0] ?? [],
    isLost: index === lost,
    heard: { error: [] as ((error: unknown) => void)[], ready: [] as ((error: unknown) => void)[] },
    lose(isLost: boolean) {
      this.isLost = isLost;
      for (const listener of this.heard[isLost ? 'error' : 'ready']) listener(new Error('lost'));
    },
  }));
  const newClient = (url: string): RedisClient => {
    const node = nodes[Number(new URL(url).hostname.at(-1))] ?? assert.fail(url);
    return {
      on: (event, listener) => node.heard[event].push(listener),
      get isReady() {
        return !node.isLost;
      },
      connect: () => time.wait(1).then(() => node.lose(node.isLost)),
      async sendCommand([command = '', ...args]) {
        if (command === 'INFO') return String(node.redis.run([command])).replace('enabled:0', 'enabled:1');
        const range = (master: number, third: number) => {
          return [third * THIRD, Math.min((third + 1) * THIRD, 16_384) - 1, [`10.0.0.${master}`, 6_379]];
        };
        if (command === 'CLUSTER') return node.masters.map(range);
        const [, keyCount, first = ''] = args;
        const id = /\{(.*)\}/.exec(first)?.[1] ?? '';
        const master = node.masters[thirdOf(id)] ?? assert.fail();
        if (keyCount !== '0' && nodes[master] !== node) throw new Error(`MOVED ${slotOf(id)} ${name(master)}`);
        return node.redis.run([command, ...args]);
      },
      destroy() {},
    };
  };
  const told: [event: string, lost: readonly string[]][] = [];
  const events = recordedEvents();
  events.limiterDegraded = (_, masters = []) => told.push(['degraded', masters]);
  events.limiterRecovered = (masters = []) => told.push(['recovered', masters]);
  const url = `redis://${name(0)}`;
  const servers = new RedisServers({ url, time: time.process(), events, newClient, onClockStep() {} });
  const connected = servers.connect();
  await time.pass(3_000);
  await connected;
  /** Counts a request of a key that was never used; gives the requests before it, by whose clock it was counted. */
  const count = async (id: string) => {
    const remembered = { counts: NO_COUNTS, isComplete: true };
    const counting = servers.of(id).count({ ...key, id }, { cost: 1, remembered });
    await time.pass(10);
    const counted = await counting;
    return typeof counted === 'object' ? [counted.state.minuteUsed, counted.now.unix - NOON] : counted;
  };
  return { time, nodes, servers, told, count };
}

/** A key of each third. */
const IDS = [0, 1, 2].map((third) => {
  let id = 'a';
  while (thirdOf(id) !== third) id += 'a';
  return id;
});

test('a window runs by the clock of its master, and counts are saved by that which is ahead', async () => {
  const { servers, count } = await bench();
  assert.deepEqual(
    [await count(IDS[0] ?? ''), await count(IDS[1] ?? ''), await count(IDS[2] ?? '')],
    [
      [0, 3],
      [0, 8],
      [0, 5],
    ],
  );
  assert.equal(servers.latestUnix, NOON + 3 + 5);
});

test('of two masters that are lost the one that is back is reported lost no longer', async () => {
  const { servers, nodes, time, told } = await bench();
  for (const [index, isLost] of [
    [1, true],
    [2, true],
    [1, false],
    [2, false],
  ] as const) {
    nodes[index]?.lose(isLost);
    await time.pass(2_000);
  }
  assert.deepEqual(told, [
    ['degraded', [name(1)]],
    ['degraded', [name(1), name(2)]],
    ['recovered', [name(2)]],
    ['recovered', []],
  ]);
  assert.deepEqual(servers.lost, []);
});

test('while a node names a master that is lost, the others are asked who has its place', async () => {
  const { servers } = await bench({
    views: [
      [0, 1, 3],
      [0, 1, 2],
    ],
    lost: 3,
  });
  assert.deepEqual(servers.lost, []);
  const { servers: alone } = await bench({ views: [[0, 1, 3]], lost: 3 });
  assert.deepEqual(alone.lost, [name(3)]);
});

test('a key whose slot moved begins anew, because the other node may have older data', async () => {
  const { nodes, time, count } = await bench();
  const id = IDS[1] ?? '';
  assert.deepEqual(await count(id), [0, 8]);
  for (const master of [2, 1, 2]) {
    for (const node of nodes) node.masters = [0, master, 2];
    assert.equal(await count(id), 'missing');
    await count(id);
    await time.pass(2_000);
  }
});
