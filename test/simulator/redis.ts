import type { RedisClient } from '../../src/limits/redis/link.ts';
import { COUNT, REPLACE_BAN } from '../../src/limits/redis/scripts.ts';
import type { Dice } from './dice.ts';
import { count, type Ran, replaceBan } from './redis-scripts.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Weather } from './weather.ts';

/** As Redis refuses a script that it was not given since it started. */
const NOSCRIPT = 'NOSCRIPT No matching script.';
/** Of what was sent on a connection that is then closed, how much reaches the server all the same. */
const ARRIVES_ANYWAY = 0.5;

/** A value that the server set. */
export interface SetInRedis {
  readonly did: 'count' | 'replace ban';
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
  /** A request was counted, or a ban replaced. */
  readonly onSet: (set: SetInRedis) => void;
}

/** A Redis that loses what a real one loses. */
export class SimulatedRedis {
  readonly #options: ServerOptions;
  readonly #connections = new Set<Connection>();
  #values = new Map<string, string>();
  #snapshot = new Map<string, string>();
  #loaded = new Set<string>();
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
    const connection = new Connection(this, { time, dice, weather });
    this.#connections.add(connection);
    return connection;
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
    for (const connection of this.#connections) connection.fail('the server closed the connection');
  }

  /** Starts with what it had, with what the snapshot has, or with nothing. */
  start(data: 'all' | 'old' | 'none'): void {
    if (data === 'old') this.#values = new Map(this.#snapshot);
    if (data === 'none') this.#values = new Map();
    this.#loaded = new Set();
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
    this.#loaded = new Set();
  }

  /** Runs a command; what it throws is an error reply. */
  run([name = '', ...args]: readonly string[]): unknown {
    if (name === 'INFO') return `run_id:${this.#runs}\r\nrole:master\r\ncluster_enabled:0\r\n`;
    if (name === 'SCRIPT') return this.#load(args[1] ?? '');
    const [script = '', keyCount = '', ...rest] = args;
    const known = [COUNT, REPLACE_BAN].find(({ source, sha }) => script === (name === 'EVAL' ? source : sha));
    if (!known) throw new Error(`The simulated Redis knows no ${name} ${script}`);
    if (name === 'EVAL') this.#loaded.add(known.sha);
    else if (!this.#loaded.has(known.sha)) throw new Error(NOSCRIPT);
    const [keys, argv] = [rest.slice(0, Number(keyCount)), rest.slice(Number(keyCount))];
    return known === COUNT ? this.#count(keys, argv) : this.#replaceBan(keys[0] ?? '', argv);
  }

  #load(source: string): string {
    const script = [COUNT, REPLACE_BAN].find((each) => each.source === source);
    if (!script) throw new Error('The simulated Redis does not know this script');
    this.#loaded.add(script.sha);
    return script.sha;
  }

  #count(keys: readonly string[], argv: readonly string[]): (string | null)[] {
    const { reply, counted } = count(this.#values, { keys, argv, serverMs: this.nowMs });
    for (const { key, value } of counted) this.#tell('count', key, value);
    return reply;
  }

  #replaceBan(key: string, argv: readonly string[]): Ran['reply'] {
    const { value, reply } = replaceBan(this.#values.get(key), argv);
    if (value === undefined) return reply;
    this.#values.set(key, value);
    this.#tell('replace ban', key, value);
    return reply;
  }

  #tell(did: SetInRedis['did'], key: string, value: string): void {
    const keyId = /\{(.*)\}$/.exec(key)?.[1] ?? '';
    this.#options.onSet({ did, keyId, now: Math.floor(this.nowMs / 1_000), value });
  }
}

interface ConnectionOptions {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly weather: Weather;
}

/** One connection: commands arrive, run and are answered in the order in which they were sent. */
export class Connection implements RedisClient {
  readonly #server: SimulatedRedis;
  readonly #options: ConnectionOptions;
  readonly #onError: ((error: unknown) => void)[] = [];
  readonly #pending = new Set<(error: Error) => void>();
  #isOpen = false;
  #isClosed = false;
  /** When the last command arrives, and when its answer is there. */
  #arrivesMs = 0;
  #answeredMs = 0;

  constructor(server: SimulatedRedis, options: ConnectionOptions) {
    this.#server = server;
    this.#options = options;
  }

  on(_event: 'error', listener: (error: unknown) => void): void {
    this.#onError.push(listener);
  }

  async connect(): Promise<void> {
    const { time, weather } = this.#options;
    await time.wait(weather.legMs() * 2);
    if (weather.fault === 'silent') await new Promise(() => {});
    if (this.#isClosed) throw new Error('The connection was closed');
    if (!this.#server.isUp || weather.fault === 'down') throw new Error('connect ECONNREFUSED');
    this.#isOpen = true;
  }

  sendCommand(command: string[]): Promise<unknown> {
    const { time, weather, dice } = this.#options;
    if (!this.#isOpen) return Promise.reject(new Error('The client is closed'));
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      const settle = (answer: () => void) => {
        if (this.#pending.delete(reject)) answer();
      };
      this.#arrivesMs = Math.max(time.nowMs + weather.legMs(), this.#arrivesMs);
      time.after(this.#arrivesMs - time.nowMs, () => {
        if (!this.#isOpen && !dice.chance(ARRIVES_ANYWAY)) return;
        if (weather.fault === 'silent' || !this.#server.isUp) return;
        if (weather.fault === 'down' || weather.loses()) return this.fail('read ECONNRESET');
        const answer = this.#answer(command);
        if (weather.loses()) return this.fail('read ECONNRESET');
        this.#answeredMs = Math.max(time.nowMs + weather.legMs(), this.#answeredMs);
        time.after(this.#answeredMs - time.nowMs, () => settle(() => answer(resolve, reject)));
      });
    });
  }

  destroy(): void {
    this.#close(new Error('The client was destroyed'));
  }

  /** The process is gone. */
  sever(): void {
    this.#pending.clear();
    this.#close(new Error());
  }

  /** The connection breaks. */
  fail(reason: string): void {
    if (this.#isClosed) return;
    const error = new Error(reason);
    this.#close(error);
    for (const listener of this.#onError) listener(error);
  }

  #close(error: Error): void {
    this.#isOpen = false;
    this.#isClosed = true;
    this.#server.disconnected(this);
    for (const reject of this.#pending) reject(error);
    this.#pending.clear();
  }

  #answer(command: readonly string[]): (resolve: (reply: unknown) => void, reject: (error: unknown) => void) => void {
    try {
      const reply = this.#server.run(command);
      return (resolve) => resolve(reply);
    } catch (error) {
      return (_resolve, reject) => reject(error);
    }
  }
}
