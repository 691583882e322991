import assert from 'node:assert/strict';
import { SLOT_COUNT, type SlotRange, slotOf } from '../../src/limits/redis/slots.ts';
import { untilTrue } from './clock.ts';
import { freePort } from './deploy/port.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

/** A node of a cluster, by its id. */
export interface ClusterNode extends RedisServer {
  readonly id: string;
  /** As instances and `doctor` call it. */
  readonly name: string;
}

export interface RedisCluster extends AsyncDisposable {
  /** Those that it began with; the slots are shared out in this order. */
  readonly masters: readonly ClusterNode[];
  masterOf(key: string): Promise<ClusterNode>;
  /** Nodes without slots. */
  readonly spares: readonly ClusterNode[];
  /** Makes a spare node a replica, which has all data of its master. */
  replicate(spare: ClusterNode, master: ClusterNode): Promise<void>;
  /** Starts a killed node again, with no data; resolves when it takes writes. */
  restart(node: ClusterNode): Promise<void>;
  /** Makes a replica the master in the place of its own, which need not answer; resolves when all others know. */
  promote(replica: ClusterNode): Promise<void>;
  /** Moves the slot of a key, as `redis-cli --cluster reshard` does. `between` runs after each step. */
  move(key: string, to: ClusterNode, between?: () => Promise<void>): Promise<void>;
}

/**
 * A cluster of Redis servers of a test's own, without replicas, in which each master serves its slots whatever becomes
 * of the others. Nothing is promoted by itself, however busy the machine is.
 */
export async function startRedisCluster({ size = 3, spare = 0 } = {}): Promise<RedisCluster> {
  await using stack = new AsyncDisposableStack();
  const nodes = await Promise.all(Array.from({ length: size + spare }, async () => stack.use(await startNode())));
  const [masters, spares] = [nodes.slice(0, size), nodes.slice(size)];
  /** The master of each replica. */
  const replicas = new Map<ClusterNode, ClusterNode>();
  const alive = () => nodes.filter((node) => node.isRunning());
  for (const [index, node] of nodes.entries()) {
    const [from, beyond] = [index, index + 1].map((part) => Math.ceil((part * SLOT_COUNT) / size));
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', `${index + 1}`);
    if (index < size) await node.command('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${Number(beyond) - 1}`);
    const [, busPort = ''] = (await node.command('CONFIG', 'GET', 'cluster-port')) as string[];
    if (index > 0) await nodes[0]?.command('CLUSTER', 'MEET', '127.0.0.1', `${node.port}`, busPort);
  }
  /** The master of each slot, as a node knows it. */
  const owners = async (asked: ClusterNode) => {
    const slots = new Array<ClusterNode | undefined>(SLOT_COUNT).fill(undefined);
    for (const [from, to, [, port]] of (await asked.command('CLUSTER', 'SLOTS')) as SlotRange[]) {
      const owner = nodes.find((node) => node.port === port);
      slots.fill(owner, from, to + 1);
    }
    return slots;
  };
  const isOk = async (node: ClusterNode) => {
    const info = String(await node.command('CLUSTER', 'INFO'));
    return /cluster_state:ok/.test(info) && info.includes(`cluster_known_nodes:${nodes.length}\r`);
  };
  // A node takes no writes for two seconds after its start.
  for (const node of nodes) {
    await untilTrue(
      async () => (await isOk(node)) && (await owners(node)).every(Boolean),
      'every node knows the others',
    );
  }
  const owned = stack.move();
  return {
    ...{ masters, spares },
    async masterOf(key) {
      const [asked] = alive() as [ClusterNode];
      const owner = (await owners(asked))[slotOf(key)];
      assert.ok(owner);
      return owner;
    },
    async replicate(spare, master) {
      replicas.set(spare, master);
      await spare.command('CLUSTER', 'REPLICATE', master.id);
      const isLinked = async () => /master_link_status:up/.test(String(await spare.command('INFO', 'replication')));
      await untilTrue(isLinked, 'it has the data of its master');
    },
    async restart(node) {
      await node.start();
      // The time for which it must have seen the others.
      await node.command('CONFIG', 'SET', 'cluster-node-timeout', '500');
      await untilTrue(() => isOk(node), 'it takes writes');
      await node.command('CONFIG', 'SET', 'cluster-node-timeout', '60000');
    },
    async promote(replica) {
      await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
      const former = replicas.get(replica);
      replicas.delete(replica);
      // It will be one when it is back.
      if (former) replicas.set(former, replica);
      for (const each of alive()) {
        await untilTrue(async () => (await owners(each)).includes(replica), 'all know the new master');
      }
    },
    async move(key, to, between = async () => {}) {
      const slot = slotOf(key);
      const [from] = [(await owners(to))[slot]] as [ClusterNode];
      const tell = (node: ClusterNode, ...state: string[]) => node.command('CLUSTER', 'SETSLOT', `${slot}`, ...state);
      await tell(to, 'IMPORTING', from.id);
      await tell(from, 'MIGRATING', to.id);
      await between();
      for (;;) {
        const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', `${slot}`, '100')) as string[];
        if (keys.length === 0) break;
        await from.command('MIGRATE', '127.0.0.1', `${to.port}`, '', '0', '5000', 'KEYS', ...keys);
      }
      await between();
      for (const node of new Set([to, from, ...alive().filter((each) => !replicas.has(each))])) {
        await tell(node, 'NODE', to.id);
        await between();
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function startNode(): Promise<ClusterNode> {
  const server = await startRedis(
    ...['--cluster-enabled', 'yes', '--cluster-port', `${await freePort()}`, '--cluster-node-timeout', '60000'],
    ...['--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no'],
    // A replica that is started again has nothing on disk either.
    ...['--repl-diskless-sync-delay', '0', '--repl-diskless-load', 'swapdb'],
  );
  return { ...server, id: String(await server.command('CLUSTER', 'MYID')), name: `127.0.0.1:${server.port}` };
}
