import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import { type Timer, within } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { RedisCounts, type RedisCountsOptions } from './counts.ts';
import { ANSWER_MS } from './link.ts';
import { BEAT_KEYS } from './script.ts';
import { nodeUrl, type Redirection, SLOT_COUNT, type SlotRange, slotOf } from './slots.ts';

/** The interval at which a cluster is asked for its masters: a dead or silent one answers no redirection. */
const REFRESH_MS = 1_000;
/** Longer than any call takes to a node that lost its slots since the last answer. */
const UNUSED_MS = 2 * REFRESH_MS;

export interface RedisServersOptions
  extends Omit<RedisCountsOptions, 'isNode' | 'beatKeys' | 'onCluster' | 'onRedirection' | 'onChange'> {
  readonly events: RedisCountsOptions['events'] & Pick<Events, 'limiterDegraded' | 'limiterRecovered'>;
}

/** A node of the cluster that has slots, or to which one is moving. */
interface Node {
  /** `host:port`, as the cluster calls it. */
  readonly name: string;
  readonly counts: RedisCounts;
  /** Settles when it can be used, or failed for the first time. */
  readonly connecting: Promise<void>;
  /** The number in the name of the key on which heartbeats count. */
  beat: number;
  /** When it last had slots, or a redirection led to it. */
  usedMs: number;
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
 * when it is connected. Each master has a connection, a clock, a heartbeat and an outage of its own. Decision 8 says
 * why the cluster client of `@redis/client` is of no use here.
 */
export class RedisServers implements AsyncDisposable {
  readonly #options: RedisServersOptions;
  /** The server of `REDIS_URL`. It counts nothing if it is a node of a cluster. */
  readonly #first: RedisCounts;
  readonly #nodes = new Map<string, Node>();
  /** The cluster; undefined as long as none is known. */
  #view: View | undefined;
  /** The last report of what is lost. */
  #reported: readonly string[] = [];
  #timer: Timer | undefined;
  #isClosed = false;
  readonly #refresh = oneAtATime(() => this.#readView());

  constructor(options: RedisServersOptions) {
    this.#options = options;
    this.#first = new RedisCounts({
      ...options,
      beatKeys: () => (this.#view ? [] : BEAT_KEYS),
      onCluster: () => void (this.#view ?? this.#refresh()),
      onChange: () => this.#report(),
    });
  }

  /** The server that counts a key. */
  of(keyId: string): RedisCounts {
    return this.#view ? (this.#view.slots[slotOf(keyId)] as RedisCounts) : this.#first;
  }

  /** Names what cannot count: `REDIS_URL`, or masters by their address, and the number of slots without one. */
  get lost(): readonly string[] {
    if (!this.#view) return this.#first.link.isUp ? [] : ['REDIS_URL'];
    const { masters, unserved } = this.#view;
    const lost = masters.filter(({ counts }) => !counts.link.isUp).map(({ name }) => name);
    return unserved > 0 ? [...lost, `none for ${unserved} slots`] : lost;
  }

  /** The greatest of the servers' clocks, in Unix seconds: no window that one of them opened ends too late for it. */
  get latestUnix(): number {
    return Math.max(...this.#counting.map((server) => server.now().latest.unix));
  }

  get #counting(): readonly RedisCounts[] {
    return this.#view?.masters.map(({ counts }) => counts) ?? [this.#first];
  }

  /** Waits until Redis can be used, or the first attempt failed; it is repeated. Never rejects. */
  async connect(): Promise<void> {
    const { link } = this.#first;
    await link.connect();
    if (!link.isUp && !link.failure) await this.#refresh();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
    const nodes = [...this.#nodes.values()].map(({ counts }) => counts);
    await Promise.all([this.#first, ...nodes].map(({ link }) => link[Symbol.asyncDispose]()));
  }

  /**
   * Asks a server that answers which master has which slots, and another one if a master that it names is lost: a node
   * that was importing a slot does not learn its new master. Never rejects.
   */
  async #readView(): Promise<void> {
    const known = this.#counting.map(({ link }) => link);
    const links = new Set([...known.filter(({ isUp }) => isUp), this.#first.link, ...known]);
    let [failure, view]: [unknown, View | undefined] = [undefined, undefined];
    for (const link of links) {
      if (this.#isClosed) return;
      try {
        const told = await this.#connectAll((await link.ask(['CLUSTER', 'SLOTS'])) as SlotRange[]);
        view ??= told;
        const up = told.masters.filter(({ counts }) => counts.link.isUp);
        if (up.length === told.masters.length) return this.#take(told);
        for (const { counts } of up) links.add(counts.link);
      } catch (error) {
        failure = error;
      }
    }
    if (view) this.#take(view);
    else if (!this.#view) this.#first.link.lose(failure);
  }

  /** The view of a node, as soon as its masters are connected: until then the former ones redirect. */
  async #connectAll(ranges: readonly SlotRange[]): Promise<View> {
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

  /** Counts by a view from now on. Closes nodes without slots once no call to them is in flight. */
  #take(view: View): void {
    if (this.#isClosed) return;
    this.#view = view;
    this.#timer ??= this.#options.time.setInterval(() => this.#refresh(), REFRESH_MS).unref();
    const nowMs = this.#options.time.steadyMs();
    for (const node of this.#nodes.values()) {
      if (view.masters.includes(node)) node.usedMs = nowMs;
      if (nowMs - node.usedMs < UNUSED_MS) continue;
      this.#nodes.delete(node.name);
      void node.counts.link[Symbol.asyncDispose]();
    }
    this.#report();
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
      onChange: () => this.#report(),
    });
    const connecting = counts.link.connect();
    const node: Node = { name, counts, connecting, beat: 1, usedMs: this.#options.time.steadyMs() };
    this.#nodes.set(name, node);
    return node;
  }

  /** The node that a redirection leads to. A new one is waited for as long as for an answer. */
  async #redirected({ kind, slot, host, port }: Redirection): Promise<RedisCounts> {
    const node = this.#node(host, port);
    const { time, answerMs = ANSWER_MS } = this.#options;
    node.usedMs = time.steadyMs();
    if (!node.counts.link.isUp) {
      const lateness = () => new Error('The node is not connected in time');
      await within(node.connecting, { ms: answerMs, lateness, time }).catch(() => {});
    }
    if (kind === 'MOVED') {
      if (this.#view) this.#view.slots[slot] = node.counts;
      void this.#refresh();
    }
    return node.counts;
  }

  /** A key of no client that is on a node; none if it has no slots. */
  #beatKeys(node: Node): readonly string[] {
    if (!this.#view?.slots.includes(node.counts)) return [];
    while (this.of(`beat-${node.beat}`) !== node.counts) node.beat += 1;
    return [`beat-${node.beat}`];
  }

  /** Reports what was lost or came back since the last time: of a cluster only its masters. */
  #report(): void {
    if (this.#isClosed) return;
    const [before, { lost }] = [this.#reported, this];
    const { limiterDegraded, limiterRecovered } = this.#options.events;
    this.#reported = lost;
    const added = lost.find((name) => !before.includes(name));
    const masters = this.#view && lost;
    if (added !== undefined) limiterDegraded(masters ? this.#failureOf(added) : this.#first.link.failure, masters);
    else if (lost.length < before.length) limiterRecovered(masters);
  }

  #failureOf(name: string): Error {
    const failure = this.#nodes.get(name)?.counts.link.failure;
    return new Error(failure ? `${name}: ${failure.message}` : 'A slot has no master');
  }
}
