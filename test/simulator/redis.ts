import type { RedisClient } from '../../src/limits/redis/link.ts';
import { SCRIPT } from '../../src/limits/redis/script.ts';
import type { Dice } from './dice.ts';
import { count } from './redis-scripts.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Weather } from './weather.ts';

/** As Redis refuses a script that it was not given since it started. */
const NOSCRIPT = 'NOSCRIPT No matching script.';
/** As the client that the service uses: a retry, the longest that connecting takes, and the longest silence. */
const RETRY_MS = 1_000;
const CONNECT_MS = 900;
const SILENCE_MS = 1_500;
/** Of what was sent on a connection that is then closed, how much reaches the server all the same. */
const ARRIVES_ANYWAY = 0.5;

/** A value that the server set when it counted a request. */
export interface SetInRedis {
  readonly keyId: string;
  /** Seconds of the server's clock. */
  readonly now: number;
  readonly value: string;
}

interface ServerOptions {
  readonly time: VirtualTime;
  readonly dice: Dice;
  /** How far its clock is ahead of true time. */
  readonly skewMs: number;
  /** A request was counted. */
  readonly onSet: (set: SetInRedis) => void;
}

/** A Redis that loses what a real one loses. */
export class SimulatedRedis {
  readonly #options: ServerOptions;
  readonly #connections = new Set<Connection>();
  #values = new Map<string, string>();
  #snapshot = new Map<string, string>();
  #isLoaded = false;
  #runs = 1;
  #steppedMs = 0;
  isUp = true;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  get nowMs(): number {
    return this.#options.time.nowMs + this.#options.skewMs + this.#steppedMs;
  }

  /** Its clock is set. */
  step(ms: number): void {
    this.#steppedMs += ms;
  }

  value(keyId: string): string | undefined {
    return [...this.#values].find(([key]) => key.endsWith(`{${keyId}}`))?.[1];
  }

  /** Opens a connection, which is not connected yet, over a way with its weather. */
  client(weather: Weather): Connection {
    const { time, dice } = this.#options;
    return new Connection(this, { time, dice, weather });
  }

  connected(connection: Connection): void {
    this.#connections.add(connection);
  }

  disconnected(connection: Connection): void {
    this.#connections.delete(connection);
  }

  /** Keeps what there is for a restart from old data. */
  takeSnapshot(): void {
    this.#snapshot = new Map(this.#values);
  }

  stop(): void {
    this.isUp = false;
    for (const connection of [...this.#connections]) connection.fail('the server closed the connection');
  }

  /** Starts with what it had, with what the snapshot has, or with nothing. */
  start(data: 'all' | 'old' | 'none'): void {
    if (data === 'old') this.#values = new Map(this.#snapshot);
    if (data === 'none') this.#values = new Map();
    this.#isLoaded = false;
    this.#runs += 1;
    this.isUp = true;
  }

  /** Another server with older data answers from now on, on the same connections. */
  failOver(): void {
    this.start('old');
  }

  /** FLUSHALL, on a server that goes on running. */
  flush(): void {
    this.#values = new Map();
  }

  flushScripts(): void {
    this.#isLoaded = false;
  }

  /** Runs a command; what it throws is an error reply. */
  run([name = '', ...args]: readonly string[]): unknown {
    if (name === 'INFO') return `run_id:${this.#runs}\r\nrole:master\r\ncluster_enabled:0\r\n`;
    const [script = '', keyCount = '', ...rest] = args;
    const isKnown = script === (name === 'EVAL' ? SCRIPT.source : SCRIPT.sha);
    if (!isKnown) throw new Error(`The simulated Redis knows no ${name} ${script}`);
    if (name === 'EVAL') this.#isLoaded = true;
    else if (!this.#isLoaded) throw new Error(NOSCRIPT);
    return this.#count(rest.slice(0, Number(keyCount)), rest.slice(Number(keyCount)));
  }

  #count(keys: readonly string[], argv: readonly string[]): (string | null)[] {
    const { reply, counted } = count(this.#values, { keys, argv, serverMs: this.nowMs });
    for (const { key, value } of counted) {
      const keyId = /\{(.*)\}$/.exec(key)?.[1] ?? '';
      this.#options.onSet({ keyId, now: Math.floor(this.nowMs / 1_000), value });
    }
    return reply;
  }
}

interface ConnectionOptions {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly weather: Weather;
}

/**
 * One connection at a time, replaced when it breaks: commands arrive, run and are answered in the order in which they
 * were sent.
 */
export class Connection implements RedisClient {
  readonly #server: SimulatedRedis;
  readonly #options: ConnectionOptions;
  readonly #listeners = { error: [] as ((error: unknown) => void)[], ready: [] as ((error: unknown) => void)[] };
  readonly #pending = new Set<(error: Error) => void>();
  /** How often it was connected. */
  #epoch = 0;
  isReady = false;
  #isOver = false;
  #activeMs = 0;
  /** When the last command arrives, and when its answer is there. */
  #arrivesMs = 0;
  #answeredMs = 0;

  constructor(server: SimulatedRedis, options: ConnectionOptions) {
    this.#server = server;
    this.#options = options;
  }

  on(event: 'error' | 'ready', listener: (error: unknown) => void): void {
    this.#listeners[event].push(listener);
  }

  async connect(): Promise<void> {
    const { time, weather } = this.#options;
    while (!this.#isOver && !this.isReady) {
      await time.wait(weather.fault === 'silent' ? CONNECT_MS : weather.legMs() * 2);
      if (this.#isOver) return;
      if (this.#server.isUp && weather.fault !== 'silent' && weather.fault !== 'down') return this.#open();
      for (const listener of this.#listeners.error) listener(new Error('connect ECONNREFUSED'));
      await time.wait(RETRY_MS);
    }
  }

  #open(): void {
    this.#epoch += 1;
    this.isReady = true;
    this.#activeMs = this.#options.time.nowMs;
    this.#arrivesMs = 0;
    this.#answeredMs = 0;
    this.#server.connected(this);
    this.#watchSilence(this.#epoch);
    for (const listener of this.#listeners.ready) listener(undefined);
  }

  #watchSilence(epoch: number): void {
    const { time } = this.#options;
    time.after(this.#activeMs + SILENCE_MS - time.nowMs, () => {
      if (epoch !== this.#epoch || !this.isReady) return;
      if (time.nowMs - this.#activeMs >= SILENCE_MS) this.fail('the socket timed out');
      else this.#watchSilence(epoch);
    });
  }

  sendCommand(command: string[]): Promise<unknown> {
    const { time, weather, dice } = this.#options;
    if (!this.isReady) return Promise.reject(new Error('The client is offline'));
    const epoch = this.#epoch;
    this.#activeMs = time.nowMs;
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      const settle = (answer: () => void) => {
        if (this.#pending.delete(reject)) answer();
      };
      this.#arrivesMs = Math.max(time.nowMs + weather.legMs(), this.#arrivesMs);
      time.after(this.#arrivesMs - time.nowMs, () => {
        const isGone = !this.isReady || epoch !== this.#epoch;
        if (isGone && !dice.chance(ARRIVES_ANYWAY)) return;
        if (weather.fault === 'silent' || !this.#server.isUp) return;
        if (weather.fault === 'down' || weather.loses()) return isGone || this.fail('read ECONNRESET');
        const reply = this.#answer(command);
        if (isGone) return;
        if (weather.loses()) return this.fail('read ECONNRESET');
        this.#answeredMs = Math.max(time.nowMs + weather.legMs(), this.#answeredMs);
        time.after(this.#answeredMs - time.nowMs, () => {
          this.#activeMs = time.nowMs;
          settle(() => (reply instanceof Error ? reject(reply) : resolve(reply)));
        });
      });
    });
  }

  destroy(): void {
    this.#isOver = true;
    this.#close(new Error('The client was destroyed'));
  }

  /** The process is gone. */
  sever(): void {
    this.#pending.clear();
    this.destroy();
  }

  /** The connection breaks. */
  fail(reason: string): void {
    if (!this.isReady) return;
    const error = new Error(reason);
    this.isReady = false;
    for (const listener of this.#listeners.error) listener(error);
    this.#close(error);
    void this.connect();
  }

  #close(error: Error): void {
    this.isReady = false;
    this.#server.disconnected(this);
    for (const reject of this.#pending) reject(error);
    this.#pending.clear();
  }

  /** The reply to a command, or the error. */
  #answer(command: readonly string[]): unknown {
    try {
      return this.#server.run(command);
    } catch (error) {
      return error;
    }
  }
}
