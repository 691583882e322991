import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { type Time, type Timer, within } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { SCRIPT } from './script.ts';
import { readRedirection } from './slots.ts';

/** The question which server answers, and in which role. */
const IDENTIFY = ['INFO', 'server', 'replication', 'cluster'];
/** The longest that a request waits for Redis. */
export const ANSWER_MS = 50;
/** A deadline that is noticed later than this was missed by this process, which was busy, and not by Redis. */
const BUSY_MS = 10;
/** The interval of heartbeats, and of reconnects while Redis is lost. */
const BEAT_MS = 1_000;
/** Deadline for connecting, with TLS and login. */
const CONNECT_MS = 900;
/** Silence after which the client replaces a connection: longer than the time between heartbeats. */
const SILENCE_MS = 1_500;
/** Backpressure: calls in flight; one more counts as an outage. More than a process can send within a deadline. */
const CALLS_MAX = 40_000;
/** The longest that a question beside the script waits. */
const ASK_MS = 500;
const KEY_PREFIX = 'pet-catalog';
/** The answers of a node of a cluster on keys that it does not have. */
const OF_CLUSTER = /^(MOVED|ASK|CROSSSLOT|CLUSTERDOWN)\b/;

export interface RedisLinkOptions {
  /** `redis://` or `rediss://`, with user and password if required. */
  readonly url: string;
  /** The beginning of every key in Redis; for tests. */
  readonly keyPrefix?: string;
  readonly events: Pick<Events, 'redisFailed' | 'redisLate'>;
  /** True for a node of a cluster that counts the keys that it has. */
  readonly isNode?: boolean;
  /** The keys on which a heartbeat counts, so that a server is noticed that cannot write. */
  readonly beatKeys: () => readonly string[];
  /** Called with the reply to each heartbeat. */
  readonly onBeat: (reply: unknown, sentMs: number) => void;
  /** Called at each heartbeat that finds a node of a cluster where none is expected, or the key on another node. */
  readonly onCluster: () => void;
  /** Called when the server is lost, and when it can be used again. */
  readonly onChange: () => void;
  /** Deadline of a Redis call, in milliseconds; for tests. */
  readonly answerMs?: number;
  /** Makes the client of Redis; for tests. */
  readonly newClient?: (url: string, answerMs: number) => RedisClient;
  readonly time: Time;
}

/**
 * The part of a Redis client that the link needs. It replaces a connection that breaks or falls silent: every loss
 * emits an error, and every connection `ready`. What was sent before a loss is rejected, as is what is sent until then.
 */
export interface RedisClient {
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown;
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  sendCommand(command: string[]): Promise<unknown>;
  destroy(): void;
}

interface Call {
  readonly settle: (reply: unknown) => void;
  deadline?: Timer;
}

/**
 * Redis or Valkey with a hard deadline: a call settles within 50 ms, with `undefined` if there is no answer. After one
 * that fails or is late, all settle at once, and none is sent until a writing script was answered in time, which is
 * tried on each new connection and every second.
 */
export class RedisLink implements AsyncDisposable {
  readonly #options: RedisLinkOptions;
  readonly #answerMs: number;
  readonly #calls = new Set<Call>();
  readonly #heartbeat: Timer;
  readonly #time: Time;
  #client: RedisClient | undefined;
  #probing: Promise<void> | undefined;
  #isClosed = false;
  /** Why it is lost; undefined while it can be used, or its first attempt is under way. */
  failure: Error | undefined;
  /**
   * The server, by its `run_id` and role; undefined until it can be used. Another object whenever its data may be older
   * than what was counted: at once on a new connection, within a second if another server or role is behind it.
   */
  server: { readonly id: string } | undefined;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#time = options.time;
    this.#heartbeat = this.#time.setInterval(() => this.#probe(), BEAT_MS).unref();
  }

  get isUp(): boolean {
    return this.server !== undefined;
  }

  /** Waits until Redis can be used, or the first attempt failed; the client repeats it. Never rejects. */
  async connect(): Promise<void> {
    const ms = connectMs(this.#answerMs);
    const { promise: tried, resolve: end } = Promise.withResolvers<void>();
    try {
      const client = (this.#options.newClient ?? newClient)(this.#options.url, this.#answerMs);
      this.#client = client;
      client.on('ready', () => this.#probe());
      client.on('error', (error) => {
        this.lose(error);
        end();
      });
      // It repeats its attempts, and rejects only when it is destroyed.
      client
        .connect()
        .then(() => this.#probing)
        .then(end, () => {});
      await within(tried, { ms, lateness: () => late(ms), time: this.#time });
    } catch (error) {
      this.lose(error);
    }
  }

  /**
   * Runs the script on keys; with `isAsking` on a node to which their slot is about to move. Returns its reply,
   * undefined without one in time, or the error of a node of a cluster that does not have the keys. Never rejects.
   */
  run(keys: readonly string[], args: readonly string[], isAsking = false): Promise<unknown> {
    const client = this.#client;
    if (!client || !this.isUp) return Promise.resolve(undefined);
    if (!isAsking) return this.#call(client, keys, args);
    const sendCommand = (command: string[]) => {
      client.sendCommand(['ASKING']).catch(() => {});
      return client.sendCommand(command);
    };
    return this.#call({ sendCommand }, keys, args);
  }

  /** Sends a command, whether the server can count or not. Rejects without an answer within half a second. */
  async ask(command: string[]): Promise<unknown> {
    if (!this.#client?.isReady) throw new Error('Redis is not connected');
    return await within(this.#client.sendCommand(command), {
      ms: ASK_MS,
      lateness: () => late(ASK_MS),
      time: this.#time,
    });
  }

  /** Settles all calls without an answer, and takes no more until a probe succeeds. */
  lose(error: unknown): void {
    if (this.#isClosed) return;
    this.server = undefined;
    this.#settleAll();
    this.#options.events.redisFailed();
    if (this.failure) return;
    this.failure = withoutAddress(error);
    this.#options.onChange();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.server = undefined;
    this.#heartbeat[Symbol.dispose]();
    this.#settleAll();
    this.#client?.destroy();
  }

  /** Runs `#examine`, once at a time: while an answer is missing nothing more is sent, so that the client notices. */
  #probe(): Promise<void> {
    this.#probing ??= this.#examine().finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }

  /** Asks which server answers, and has it write: a full Redis, a read-only replica or a distant one is of no use. */
  async #examine(): Promise<void> {
    const client = this.#client;
    if (!client?.isReady) return;
    const { beatKeys, onBeat, onCluster, isNode = false } = this.#options;
    try {
      const keys = beatKeys();
      const sentMs = this.#time.steadyMs();
      const beat = this.#call(client, keys, SCRIPT.beatArgs(keys));
      const [{ id, isCluster }, reply] = await Promise.all([identify(client), beat]);
      const isElsewhere = reply instanceof Error && readRedirection(reply) !== undefined;
      if (isCluster && (isElsewhere || !isNode)) onCluster();
      else if (reply instanceof Error) this.lose(reply);
      else if (reply !== undefined) {
        onBeat(reply, sentMs);
        this.#setServer(id);
      }
    } catch (error) {
      this.lose(error);
    }
  }

  #setServer(id: string): void {
    if (id !== this.server?.id) this.server = { id };
    if (!this.failure) return;
    this.failure = undefined;
    this.#options.onChange();
  }

  #call(client: Pick<RedisClient, 'sendCommand'>, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const { keyPrefix = KEY_PREFIX } = this.#options;
    const given = [`${keys.length}`, ...keys.map((key) => `${keyPrefix}:{${key}}`), ...args];
    return new Promise((resolve) => {
      const call: Call = {
        settle: (reply) => {
          if (!this.#calls.delete(call)) return;
          call.deadline?.[Symbol.dispose]();
          resolve(reply);
        },
      };
      const failed = (error: Error) => {
        if (OF_CLUSTER.test(error.message)) call.settle(error);
        else if (this.#calls.has(call)) this.lose(error);
      };
      this.#calls.add(call);
      this.#watch(call);
      client.sendCommand(['EVALSHA', SCRIPT.sha, ...given]).then(call.settle, (error: Error) => {
        // A server forgets loaded scripts when it restarts; then send the source.
        if (!error.message.startsWith('NOSCRIPT')) return failed(error);
        client.sendCommand(['EVAL', SCRIPT.source, ...given]).then(call.settle, failed);
      });
    });
  }

  /** Gives a call up after its deadline, but not before this process had the time to read a reply. */
  #watch(call: Call): void {
    const dueMs = this.#time.steadyMs() + this.#answerMs;
    call.deadline = this.#time.setTimeout(async () => {
      const wasBusy = this.#time.steadyMs() - dueMs > BUSY_MS;
      await nextTurn();
      if (!this.#calls.has(call)) return;
      if (wasBusy) return this.#watch(call);
      if (this.isUp) this.#options.events.redisLate();
      this.lose(late(this.#answerMs));
    }, this.#answerMs);
  }

  #settleAll(): void {
    for (const call of this.#calls) call.settle(undefined);
  }
}

/** A test that waits for late answers waits for late connections as well. */
function connectMs(answerMs: number): number {
  return Math.max(CONNECT_MS, answerMs);
}

function newClient(url: string, answerMs: number): RedisClient {
  return createClient({
    url,
    RESP: 2,
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: CALLS_MAX,
    // Deadlines are enforced above: the client's own cost an AbortSignal per call, whose garbage took 25 % of a
    // request.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: connectMs(answerMs),
      socketTimeout: Math.max(SILENCE_MS, answerMs),
      reconnectStrategy: BEAT_MS,
    },
  });
}

/** Asks which server answers, in which role, and whether it is a node of a cluster. */
async function identify(client: Pick<RedisClient, 'sendCommand'>): Promise<{ id: string; isCluster: boolean }> {
  const lines = String(await client.sendCommand(IDENTIFY)).split('\r\n');
  const [runId, role, cluster] = ['run_id:', 'role:', 'cluster_enabled:'].map((name) =>
    lines.find((line) => line.startsWith(name)),
  );
  return { id: `${runId} ${role}`, isCluster: cluster === 'cluster_enabled:1' };
}

function late(ms: number): Error {
  return new Error(`Redis did not answer within ${ms} ms`);
}

const RIGHTS = 'let the user of REDIS_URL run the commands on the keys that docs/scaling.md lists';
/** Advice on errors that an operator must remove, by a part of their message. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/NOPERM|can't run this command or subcommand/, RIGHTS],
  [/^OOM/, 'raise maxmemory, or give it a server of its own: it is full'],
  [/^NOREPLICAS/, 'attach replicas, or lower min-replicas-to-write'],
  [/^READONLY/, 'set REDIS_URL to the primary'],
  [/^MISCONF/, 'see why its last snapshot failed, or set stop-writes-on-bgsave-error to no'],
  [/^(NOAUTH|WRONGPASS)/, 'correct user and password in REDIS_URL'],
  [/^(CROSSSLOT|MOVED)/, 'set REDIS_URL to a server or a node of a cluster, and to no proxy over several'],
  [/SELECT is not allowed in cluster mode/, 'leave the number of the database out of REDIS_URL'],
  [/^CLUSTERDOWN/, 'see `redis-cli cluster info`, or set cluster-require-full-coverage to no'],
  [
    /self-signed certificate|unable to (get|verify)/,
    'name the file of its certificate authority in NODE_EXTRA_CA_CERTS',
  ],
];

/** The advice on an error of Redis that an operator must remove; undefined for any other. */
export function adviceOn(error: unknown): string | undefined {
  return ADVICE.find(([pattern]) => pattern.test((error as Error).message ?? ''))?.[1];
}

/** Reduces an error to its message for the log, with what to do: its other members may hold an address and password. */
function withoutAddress(error: unknown): Error {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  const advice = adviceOn(error);
  return new Error(`${message || code || 'Redis failed'}${advice ? `; ${advice}` : ''}`);
}
