import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { type Time, type Timer, within } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { LimiterNotOpened } from '../limiter.ts';

/** Asks which server answers, and in which role. */
const IDENTIFY = ['INFO', 'server', 'replication', 'cluster'];
/** The longest that a request waits for Redis. */
const ANSWER_MS = 50;
/** The resolution of that deadline. */
const TICK_MS = 5;
/** The interval of heartbeats, and of reconnects while Redis is lost. */
const BEAT_MS = 1_000;
/** Deadline for connecting, with TLS and login, and for loading the script. */
const CONNECT_MS = 900;
/** Backpressure: keys of calls in flight; beyond it a call gets no answer. */
const KEYS_MAX = 20_000;
const KEY_PREFIX = 'pet-catalog';

/** The Lua script that a link runs, and a call of it that writes, for the heartbeat. */
export interface LinkScript {
  readonly source: string;
  readonly sha: string;
  readonly beatKeys: readonly string[];
  readonly beatArgs: readonly string[];
}

export interface RedisLinkOptions {
  /** `redis://` or `rediss://`, with user and password if required. */
  readonly url: string;
  /** The beginning of every key in Redis; for tests. */
  readonly keyPrefix?: string;
  readonly events: Pick<Events, 'redisFailed' | 'redisLate' | 'limiterDegraded' | 'limiterRecovered'>;
  /**
   * The server's data may be older than what was counted: the connection is new, or another server, or another role,
   * is behind it. Called before anything runs on a new connection, otherwise within a second.
   */
  readonly onNewServer: () => void;
  /** Deadline of a Redis call, in milliseconds; for tests. */
  readonly answerMs?: number;
  /** Makes the client of Redis; for tests. */
  readonly newClient?: (url: string) => RedisClient;
  readonly time: Time;
}

/** The part of a Redis client that the link needs. A connection that breaks emits an error; `destroy` closes it. */
export interface RedisClient {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(command: string[]): Promise<unknown>;
  destroy(): void;
}

interface Call {
  readonly client: RedisClient;
  readonly keys: number;
  readonly since: number;
  readonly settle: (reply: unknown) => void;
}

/**
 * One connection to Redis or Valkey with a hard deadline: a call settles within 50 ms, with `undefined` if there is no
 * answer. A call that fails or is late closes the connection, which settles all other calls at once. From then on it
 * reconnects every second, and uses a connection once it has run a writing script in time.
 */
export class RedisLink implements AsyncDisposable {
  readonly #options: RedisLinkOptions;
  readonly #script: LinkScript;
  readonly #answerMs: number;
  readonly #calls = new Set<Call>();
  #keysInFlight = 0;
  readonly #closed = new WeakSet<RedisClient>();
  readonly #heartbeat: Timer;
  readonly #time: Time;
  #client: RedisClient | undefined;
  /** The server's `run_id` and role, as last asked. */
  #server: string | undefined;
  #isClosed = false;
  #isLost = false;
  #connecting: Promise<void> | undefined;
  #attemptedMs = Number.NEGATIVE_INFINITY;
  #tick: Timer | undefined;
  #tickedMs = 0;
  #elapsedMs = 0;

  constructor(options: RedisLinkOptions, script: LinkScript) {
    this.#options = options;
    this.#script = script;
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#time = options.time;
    this.#heartbeat = this.#time.setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Attempts to connect once; the heartbeat retries. Rejects only with `LimiterNotOpened`, for a cluster. */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Runs the script on keys. Returns its reply, or undefined without one in time. Never rejects. */
  run(keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (!this.#client || this.#keysInFlight >= KEYS_MAX) return Promise.resolve(undefined);
    return this.#runOn(this.#client, keys, args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#heartbeat[Symbol.dispose]();
    if (this.#client) this.#giveUp(this.#client);
  }

  /**
   * Reconnects to a lost Redis, probes an idle one so that an outage is noticed before a request meets it, and notices
   * another server that answers in its place.
   */
  #beat(): void {
    const client = this.#client;
    if (!client) {
      this.#reconnect();
      return;
    }
    if (this.#calls.size === 0) void this.run(this.#script.beatKeys, this.#script.beatArgs);
    identify(client).then(
      (server) => {
        if (this.#client === client && server !== this.#server) this.#setServer(server);
      },
      (error) => this.#giveUp(client, error),
    );
  }

  #setServer(server: string): void {
    this.#server = server;
    this.#options.onNewServer();
  }

  /** A cluster was reported as a failure already. */
  #reconnect(): void {
    this.connect().catch(() => {});
  }

  async #connect(): Promise<void> {
    if (this.#client || this.#isClosed) return;
    this.#attemptedMs = this.#time.steadyMs();
    const deadline = { ms: CONNECT_MS, lateness: lateness(CONNECT_MS), time: this.#time };
    let client: RedisClient | undefined;
    try {
      const made = (this.#options.newClient ?? newClient)(this.#options.url);
      client = made;
      made.on('error', (error) => this.#giveUp(made, error));
      await within(made.connect(), deadline);
      const loading = Promise.all([identify(made), made.sendCommand(['SCRIPT', 'LOAD', this.#script.source])]);
      const [server] = await within(loading, deadline);
      // Must write, and in time: a full Redis, a read-only replica or a distant one is of no use.
      const reply = await this.#runOn(made, this.#script.beatKeys, this.#script.beatArgs);
      if (reply === undefined) return;
      if (this.#isClosed) return made.destroy();
      this.#client = made;
      this.#setServer(server);
      if (this.#isLost) this.#options.events.limiterRecovered();
      this.#isLost = false;
    } catch (error) {
      if (client) this.#giveUp(client, error);
      else this.#reportFailure(error);
      if (error instanceof LimiterNotOpened) throw error;
    }
  }

  #runOn(client: RedisClient, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    this.#watchDeadlines();
    const { keyPrefix = KEY_PREFIX } = this.#options;
    const given = [`${keys.length}`, ...keys.map((key) => `${keyPrefix}:{${key}}`), ...args];
    return new Promise((settle) => {
      const call = { client, keys: keys.length, since: this.#elapsed(), settle };
      this.#calls.add(call);
      this.#keysInFlight += call.keys;
      const answered = (reply: unknown) => this.#settle(call, reply);
      const failed = (error: unknown) => this.#giveUp(client, error);
      client.sendCommand(['EVALSHA', this.#script.sha, ...given]).then(answered, (error: Error) => {
        // SCRIPT FLUSH drops loaded scripts; then send the source.
        if (!error.message.startsWith('NOSCRIPT')) return failed(error);
        client.sendCommand(['EVAL', this.#script.source, ...given]).then(answered, failed);
      });
    });
  }

  #settle(call: Call, reply: unknown): void {
    if (this.#calls.delete(call)) this.#keysInFlight -= call.keys;
    call.settle(reply);
  }

  /** Closes a connection and settles its calls without an answer. */
  #giveUp(client: RedisClient, error?: unknown): void {
    if (this.#closed.has(client)) return;
    this.#closed.add(client);
    const wasUsed = this.#client === client;
    if (wasUsed) this.#client = undefined;
    for (const call of this.#calls) {
      if (call.client === client) this.#settle(call, undefined);
    }
    client.destroy();
    if (this.#isClosed) return;
    this.#reportFailure(error);
    // Reconnect at once after a single hiccup; repeated ones wait for the heartbeat.
    if (wasUsed && this.#time.steadyMs() - this.#attemptedMs > BEAT_MS) this.#reconnect();
  }

  #reportFailure(error: unknown): void {
    const failure = withoutAddress(error);
    this.#options.events.redisFailed();
    if (!this.#isLost) this.#options.events.limiterDegraded(failure);
    this.#isLost = true;
  }

  /**
   * Enforces the deadline while calls are in flight, in time that the process was able to read replies: a tick that is
   * late because the process itself was busy counts as two at most, and no call is given up before the event loop had
   * a turn to read pending replies.
   */
  #watchDeadlines(): void {
    if (this.#tick) return;
    this.#tickedMs = this.#time.steadyMs();
    this.#tick = this.#time.setInterval(async () => {
      await nextTurn();
      this.#elapsedMs = this.#elapsed();
      this.#tickedMs = this.#time.steadyMs();
      const [oldest] = this.#calls;
      if (!oldest) {
        this.#tick?.[Symbol.dispose]();
        this.#tick = undefined;
      } else if (this.#elapsedMs - oldest.since >= this.#answerMs) {
        if (oldest.client === this.#client) this.#options.events.redisLate();
        this.#giveUp(oldest.client, lateness(this.#answerMs)());
      }
    }, TICK_MS);
  }

  #elapsed(): number {
    return this.#elapsedMs + Math.min(this.#time.steadyMs() - this.#tickedMs, 2 * TICK_MS);
  }
}

function newClient(url: string): RedisClient {
  return createClient({
    url,
    RESP: 2,
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: 2 * KEYS_MAX,
    // Deadlines are enforced above: the client's own cost an AbortSignal per call, whose garbage took 25 % of a
    // request.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
  });
}

/** Why a server with `cluster_enabled:1` is refused: redirections to the node of a key are not followed. */
export const CLUSTER_REFUSED = {
  finding: 'It is a node of a cluster (cluster_enabled:1), and counting cannot follow keys to the other nodes',
  advice: 'set REDIS_URL to a server without cluster mode',
} as const;

export type ServerInfo = ReadonlyMap<string, string>;

/** Reads the text that INFO gives. */
export function readInfo(text: string): ServerInfo {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** True if a server with this information is a node of a cluster. */
export function isCluster(info: ServerInfo): boolean {
  return info.get('cluster_enabled') === '1';
}

/** The `run_id` and the role of the server. Throws `LimiterNotOpened` if it is a node of a cluster. */
async function identify(client: RedisClient): Promise<string> {
  const info = readInfo(String(await client.sendCommand(IDENTIFY)));
  if (isCluster(info)) {
    const { finding, advice } = CLUSTER_REFUSED;
    throw new LimiterNotOpened(`Cannot count in this Redis. ${finding}; ${advice}`);
  }
  return `${info.get('run_id')} ${info.get('role')}`;
}

function lateness(ms: number): () => Error {
  return () => new Error(`Redis did not answer within ${ms} ms`);
}

/** Reduces an error to its message for the log: its other members may hold an address with a password. */
function withoutAddress(error: unknown): Error {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  return new Error(message || code || 'Redis failed');
}
