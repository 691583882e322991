import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import { type Timer, within } from '../../stdx/time.ts';
import { RedisCounts, type RedisCountsOptions } from './counts.ts';
import { ANSWER_MS } from './link.ts';
import { nodeUrl, type Redirection, SLOT_COUNT, type SlotRange, slotOf } from './slots.ts';

/** The interval at which a cluster is asked for its masters: a dead or silent one answers no redirection. */
const REFRESH_MS = 1_000;

export type RedisServersOptions = Omit<RedisCountsOptions, 'isNode' | 'beatKeys' | 'onCluster' | 'onRedirection'>;

/** A node of the cluster that has slots, or to which one is moving. */
interface Node {
  /** `host:port`, as the cluster calls it. */
  readonly name: string;
  readonly counts: RedisCounts;
  /** Settles when it can be used, or failed for the first time. */
  readonly connecting: Promise<void>;
  /** The number in the name of the key on which heartbeats count. */
  beat: number;
  /** Since when it has no slots. */
  idleSinceMs?: number | undefined;
  failure?: unknown;
}

/** The masters and their slots, as one node knows them. */
interface View {
  readonly slots: RedisCounts[];
  readonly masters: readonly Node[];
  /** The number of slots without a master. */
  readonly unserved: number;
}

/**
 * The servers on which keys are counted: that of `REDIS_URL`, or the masters of its cluster. Which of both it is shows
 * when it is connected. Each master has a connection, a clock, a heartbeat and an outage of its own.
 *
 * The cluster client of `@redis/client` is of no use here: it repeats a call whose slot has moved on the new master by
 * itself, which may have older data that has to be merged first, and notices no new master in place of one that is
 * silent (decision 8).
 */
export class RedisServers implements AsyncDisposable {
  readonly #options: RedisServersOptions;
  /** The server of `REDIS_URL`. It counts nothing if it is a node of a cluster. */
  readonly #first: RedisCounts;
  readonly #nodes = new Map<string, Node>();
  /** The server of each slot; undefined as long as no cluster is known. */
  #slots: RedisCounts[] | undefined;
  #masters: readonly Node[] = [];
  #unservedSlots = 0;
  /** The names that were lost when that was reported last. */
  #reported: readonly string[] = [];
  #timer: Timer | undefined;
  #finding: Promise<void> | undefined;
  #isClosed = false;
  readonly #refresh = oneAtATime(() => this.#readSlots());

  constructor(options: RedisServersOptions) {
    this.#options = options;
    const { limiterDegraded, limiterRecovered } = options.events;
    this.#first = new RedisCounts({
      ...options,
      beatKeys: () => (this.#slots ? [] : RedisCounts.SCRIPT.beatKeys),
      onCluster: () => {
        if (!this.#slots) this.#finding = this.#refresh();
      },
      events: {
        ...options.events,
        // Of a cluster, only the masters are reported.
        limiterDegraded: (error) => {
          if (this.#slots) return;
          this.#reported = ['REDIS_URL'];
          limiterDegraded(error);
        },
        limiterRecovered: () => {
          if (this.#slots) return;
          this.#reported = [];
          limiterRecovered();
        },
      },
    });
  }

  /** The server that counts a key. */
  of(keyId: string): RedisCounts {
    return this.#slots ? (this.#slots[slotOf(keyId)] as RedisCounts) : this.#first;
  }

  /** True if every key can be counted. */
  get isUp(): boolean {
    if (!this.#slots) return this.#first.isUp;
    return this.#unservedSlots === 0 && this.#masters.every(({ counts }) => counts.isUp);
  }

  /** The masters of a cluster that are lost, by their address; and a word on the slots that have none. */
  get lostMasters(): readonly string[] {
    const lost = this.#masters.filter(({ counts }) => counts.isLost).map(({ name }) => name);
    return this.#unservedSlots > 0 ? [...lost, `none for ${this.#unservedSlots} slots`] : lost;
  }

  /** The greatest of the servers' clocks, in Unix seconds: no window that one of them opened ends too late for it. */
  get latestUnix(): number {
    const servers = this.#slots ? this.#masters.map(({ counts }) => counts) : [this.#first];
    return Math.max(...servers.map((server) => server.now().latest.unix));
  }

  /** Waits until Redis can be used, or the first attempt failed; it is repeated. Never rejects. */
  async connect(): Promise<void> {
    await this.#first.connect();
    await this.#finding;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    const nodes = [...this.#nodes.values()].map(({ counts }) => counts);
    await Promise.all([this.#first, ...nodes].map((server) => server[Symbol.asyncDispose]()));
  }

  /**
   * Asks a server that answers which master has which slots, and another one if a master that it names is lost: a node
   * that was importing a slot does not learn its new master. Never rejects.
   */
  async #readSlots(): Promise<void> {
    const masters = this.#masters.map(({ counts }) => counts);
    const servers = new Set([...masters.filter(({ isUp }) => isUp), this.#first, ...masters]);
    let [failure, view]: [unknown, View | undefined] = [undefined, undefined];
    for (const server of servers) {
      if (this.#isClosed) return;
      try {
        const told = await this.#readView((await server.ask(['CLUSTER', 'SLOTS'])) as SlotRange[]);
        view ??= told;
        const lost = told.masters.filter(({ counts }) => !counts.isUp);
        if (lost.length === 0) return this.#take(told);
        for (const master of told.masters) if (!lost.includes(master)) servers.add(master.counts);
      } catch (error) {
        failure = error;
      }
    }
    if (view) this.#take(view);
    else if (!this.#slots) this.#first.lose(failure);
  }

  /** The view of a node, as soon as its masters are connected: until then the former ones redirect. */
  async #readView(ranges: readonly SlotRange[]): Promise<View> {
    const slots = new Array<RedisCounts>(SLOT_COUNT).fill(this.#first);
    const masters = new Set<Node>();
    let served = 0;
    for (const [from, to, [host, port]] of ranges) {
      const node = this.#node(host, port);
      masters.add(node);
      slots.fill(node.counts, from, to + 1);
      served += to + 1 - from;
    }
    await Promise.all([...masters].map(({ connecting }) => connecting));
    return { slots, masters: [...masters], unserved: SLOT_COUNT - served };
  }

  /** Counts by a view from now on. */
  #take({ slots, masters, unserved }: View): void {
    if (this.#isClosed) return;
    this.#slots = slots;
    this.#masters = masters;
    this.#unservedSlots = unserved;
    this.#timer ??= this.#options.time.setInterval(() => this.#refresh(), REFRESH_MS).unref();
    for (const node of this.#nodes.values()) this.#closeIfIdle(node, masters.includes(node));
    this.#report();
  }

  /** Closes a node that has had no slots for so long that no call to it is in flight. */
  #closeIfIdle(node: Node, isMaster: boolean): void {
    const nowMs = this.#options.time.steadyMs();
    node.idleSinceMs = isMaster ? undefined : (node.idleSinceMs ?? nowMs);
    if (node.idleSinceMs === undefined || nowMs - node.idleSinceMs < REFRESH_MS) return;
    this.#nodes.delete(node.name);
    void node.counts[Symbol.asyncDispose]();
  }

  /** The node at an address, which is connected if it is new. */
  #node(host: string | null, port: number): Node {
    const url = nodeUrl(this.#options.url, host, port);
    const name = new URL(url).host;
    const known = this.#nodes.get(name);
    if (known) return known;
    const counts: RedisCounts = new RedisCounts({
      ...this.#options,
      url,
      isNode: true,
      beatKeys: () => this.#beatKeys(node),
      onCluster: () => {
        node.beat += 1;
        void this.#refresh();
      },
      onRedirection: (redirection) => this.#redirected(redirection),
      events: {
        ...this.#options.events,
        limiterDegraded: (error) => {
          node.failure = new Error(`${name}: ${(error as Error).message}`);
          this.#report();
        },
        limiterRecovered: () => this.#report(),
      },
    });
    const connecting = counts.connect().then(() => this.#report());
    const node: Node = { name, counts, connecting, beat: 1 };
    this.#nodes.set(name, node);
    return node;
  }

  /** The node that a redirection leads to. A new one is waited for as long as for an answer. */
  async #redirected({ kind, slot, host, port }: Redirection): Promise<RedisCounts> {
    const node = this.#node(host, port);
    const { time, answerMs = ANSWER_MS } = this.#options;
    node.idleSinceMs = undefined;
    if (!node.counts.isUp) {
      const lateness = () => new Error('The node is not connected in time');
      await within(node.connecting, { ms: answerMs, lateness, time }).catch(() => {});
    }
    if (kind === 'MOVED') {
      if (this.#slots) this.#slots[slot] = node.counts;
      void this.#refresh();
    }
    return node.counts;
  }

  /** A key of no client that is on a node; none if it has no slots. */
  #beatKeys(node: Node): readonly string[] {
    if (!this.#slots?.includes(node.counts)) return [];
    while (this.of(`beat-${node.beat}`) !== node.counts) node.beat += 1;
    return [`beat-${node.beat}`];
  }

  /** Reports what was lost or came back since the last time. */
  #report(): void {
    if (this.#isClosed || !this.#slots) return;
    const before = this.#reported;
    const lost = this.lostMasters;
    const { limiterDegraded, limiterRecovered } = this.#options.events;
    this.#reported = lost;
    const added = lost.find((name) => !before.includes(name));
    const failed = this.#nodes.get(added ?? '')?.failure ?? new Error('A slot has no master');
    if (added !== undefined) limiterDegraded(failed, lost);
    else if (lost.length < before.length) limiterRecovered(lost);
  }
}
