import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { COUNT, REPLACE_BAN, type Script } from './scripts.ts';

/** A key that is nobody's. Every beat counts there, so that a Redis that cannot write is noticed. */
const BEAT_KEY = 'beat';
const BEAT = ['1000000000', '1000000000', '1', '', '', '0 0 0 0 0 0 '];
/** Longer than this no request waits for Redis. */
const ANSWER_MS = 50;
/** How finely that is measured. */
const TICK_MS = 5;
/** How often Redis is tried while it is lost, and heard while it is not. */
const BEAT_MS = 1_000;
/** For connecting, with TLS and login, and for loading the scripts. */
const CONNECT_MS = 900;
/** Calls under way at once; further ones go unanswered. */
const CALLS_MAX = 20_000;

export interface RedisLinkOptions {
  readonly url: string;
  /** Begins the names of all keys. */
  readonly keyPrefix: string;
  /** Any call or try to connect that failed or came too late. */
  readonly onFailure: (error: unknown) => void;
  /** Redis is lost from now on, or was not there at the beginning. */
  readonly onLost: (error: unknown) => void;
  readonly onBack: () => void;
  readonly answerMs?: number;
}

type Client = ReturnType<typeof newClient>;

interface Call {
  readonly client: Client;
  readonly since: number;
  readonly settle: (reply: unknown) => void;
}

/**
 * One connection to Redis or Valkey that never makes anybody wait: whoever asks is answered within 50 ms, or told that
 * there is no answer. A call that fails or is late ends the connection and leaves all others unanswered at once. From
 * then on a new one is tried every second, and used when it has run a script that writes, in time.
 */
export class RedisLink implements AsyncDisposable {
  readonly #options: RedisLinkOptions;
  readonly #answerMs: number;
  readonly #calls = new Set<Call>();
  readonly #given = new WeakSet<Client>();
  readonly #beat: NodeJS.Timeout;
  #client: Client | undefined;
  #isClosed = false;
  #isLost = false;
  #connecting: Promise<void> | undefined;
  #triedMs = Number.NEGATIVE_INFINITY;
  #tick: NodeJS.Timeout | undefined;
  #tickedMs = 0;
  #listenedMs = 0;

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#beat = setInterval(() => this.#hear(), BEAT_MS).unref();
  }

  get isUp(): boolean {
    return this.#client !== undefined;
  }

  /** Tries to connect, once; later tries come by themselves. Never rejects. */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Runs a script on a key: its reply, or undefined if there is none. Never rejects. */
  run(script: Script, key: string, args: readonly (string | number)[]): Promise<unknown> {
    if (!this.#client || this.#calls.size >= CALLS_MAX) return Promise.resolve(undefined);
    return this.#run(this.#client, script, [`${this.#options.keyPrefix}:{${key}}`, ...args.map(String)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#beat);
    if (this.#client) this.#giveUp(this.#client);
  }

  /** Once a second: a lost Redis is tried again, and a silent one is noticed before a request meets it. */
  #hear(): void {
    if (!this.#client) void this.connect();
    else if (this.#calls.size === 0) void this.run(COUNT, BEAT_KEY, BEAT);
  }

  async #connect(): Promise<void> {
    if (this.#client || this.#isClosed) return;
    this.#triedMs = performance.now();
    let client: Client | undefined;
    try {
      const made = newClient(this.#options.url);
      client = made;
      made.on('error', (error) => this.#giveUp(made, error));
      await within(CONNECT_MS, made.connect());
      const load = ({ source }: Script) => made.sendCommand(['SCRIPT', 'LOAD', source]);
      await within(CONNECT_MS, Promise.all([COUNT, REPLACE_BAN].map(load)));
      // It must write, and be quick: a full Redis, a read-only replica or one far away is of no use.
      const reply = await this.#run(made, COUNT, [`${this.#options.keyPrefix}:{${BEAT_KEY}}`, ...BEAT]);
      if (reply === undefined) return;
      if (this.#isClosed) return made.destroy();
      this.#client = made;
      if (this.#isLost) this.#options.onBack();
      this.#isLost = false;
    } catch (error) {
      if (client) this.#giveUp(client, error);
      else this.#tellFailure(error);
    }
  }

  #run(client: Client, script: Script, args: readonly string[]): Promise<unknown> {
    this.#listen();
    return new Promise((settle) => {
      const call = { client, since: this.#listened(), settle };
      this.#calls.add(call);
      const answered = (reply: unknown) => {
        this.#calls.delete(call);
        settle(reply);
      };
      const failed = (error: unknown) => this.#giveUp(client, error);
      const { source, sha } = script;
      client.sendCommand(['EVALSHA', sha, '1', ...args]).then(answered, (error: Error) => {
        // Scripts are forgotten by a Redis that was told so; then the source is sent along.
        if (!error.message.startsWith('NOSCRIPT')) return failed(error);
        client.sendCommand(['EVAL', source, '1', ...args]).then(answered, failed);
      });
    });
  }

  /** Ends a connection and leaves its callers without an answer. */
  #giveUp(client: Client, error?: unknown): void {
    if (this.#given.has(client)) return;
    this.#given.add(client);
    const wasUsed = this.#client === client;
    if (wasUsed) this.#client = undefined;
    for (const call of this.#calls) {
      if (call.client !== client) continue;
      this.#calls.delete(call);
      call.settle(undefined);
    }
    client.destroy();
    if (this.#isClosed) return;
    this.#tellFailure(error);
    // A single hiccup is over at once; one that comes again and again is given its second.
    if (wasUsed && performance.now() - this.#triedMs > BEAT_MS) void this.connect();
  }

  #tellFailure(error: unknown): void {
    const failure = withoutAddress(error);
    this.#options.onFailure(failure);
    if (!this.#isLost) this.#options.onLost(failure);
    this.#isLost = true;
  }

  /**
   * Measures while calls are under way, in time that this process had for listening: a tick that comes late, because
   * the process itself was busy, counts for two at most, and nobody is given up before the event loop had a turn for
   * reading what has come meanwhile.
   */
  #listen(): void {
    if (this.#tick) return;
    this.#tickedMs = performance.now();
    this.#tick = setInterval(async () => {
      await nextTurn();
      this.#listenedMs = this.#listened();
      this.#tickedMs = performance.now();
      const [oldest] = this.#calls;
      if (!oldest) {
        clearInterval(this.#tick);
        this.#tick = undefined;
      } else if (this.#listenedMs - oldest.since >= this.#answerMs) {
        this.#giveUp(oldest.client, lateness(this.#answerMs));
      }
    }, TICK_MS);
  }

  #listened(): number {
    return this.#listenedMs + Math.min(performance.now() - this.#tickedMs, 2 * TICK_MS);
  }
}

function newClient(url: string) {
  return createClient({
    url,
    RESP: 2,
    disableClientInfo: true,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: 2 * CALLS_MAX,
    // The deadlines are our own; those of the client are an AbortSignal each, whose garbage took a quarter of a request.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false },
  });
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(lateness(ms)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function lateness(ms: number): Error {
  return new Error(`Redis did not answer within ${ms} ms`);
}

/** An error as the log may have it: what went wrong, and nothing that came along, such as an address with a password. */
function withoutAddress(error: unknown): Error {
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  return new Error(message || code || 'Redis failed');
}
