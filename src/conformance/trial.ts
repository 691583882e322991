import { randomBytes } from 'node:crypto';
import type { Client } from './client.ts';
import { type Exchange, jsonOf, membersOf, retryAfterOf, type Sent } from './exchange.ts';
import { Skipped } from './rule.ts';

const CREATES_MAX = 40;
const REQUEST_SECONDS_MAX = 10;
/** Without `full`; the answers to the last requests come within the rest of 30 s. */
const SECONDS_MAX = 26;
/** A server may keep the connection of malformed requests open. */
const RAW_MS_MAX = 4_000;
const SERVER_BUSY = 503;

/** How time passes at the server. Tests turn its clock. */
export interface Pace {
  /** Monotonic seconds. */
  now(): number;
  /** Returns when so many seconds of the server have passed. */
  wait(seconds: number, why: string): Promise<void>;
}

/** The keys that the referee was given. */
export interface Keys {
  readonly key: string;
  /** A fresh key of the free plan, which is spent. */
  readonly limitedKey: string | undefined;
  /** A key of the other environment. */
  readonly otherEnvironmentKey: string | undefined;
}

export interface TrialOptions {
  readonly keys: Keys;
  readonly pace: Pace;
  /** Whether to wait for windows and bans. */
  readonly isFull: boolean;
  /** How many requests ask for the last token at once. */
  readonly concurrency: number;
}

/** A request to send; by default with the key. */
export interface Wanted {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** An `Authorization` of its own; undefined for none. */
  readonly authorization?: string | undefined;
}

/** The path of the categories, and the lines that every request needs. */
export interface RawTarget {
  readonly path: string;
  readonly headers: string;
}

/** One run against one server: its keys, its requests, and what all rules know of them. */
export class Trial {
  readonly keys: Keys;
  readonly concurrency: number;
  readonly #client: Client;
  readonly #pace: Pace;
  readonly #isFull: boolean;
  readonly #endsAt: number;
  readonly #probes = new Map<unknown, Promise<unknown>>();
  /** Begins every name, so that the categories of a run can be told from others. */
  readonly #run = `conformance-${randomBytes(4).toString('hex')}`;
  #names = 0;
  #creates = 0;
  #retryAt = 0;

  constructor(client: Client, { keys, pace, isFull, concurrency }: TrialOptions) {
    this.#client = client;
    this.keys = keys;
    this.concurrency = concurrency;
    this.#pace = pace;
    this.#isFull = isFull;
    this.#endsAt = pace.now() + SECONDS_MAX;
  }

  /** Runs a probe for the first rule that asks for it, and gives its result to all. */
  once<T>(probe: (trial: Trial) => Promise<T>): Promise<T> {
    const running = this.#probes.get(probe) as Promise<T> | undefined;
    if (running) return running;
    const started = probe(this);
    this.#probes.set(probe, started);
    return started;
  }

  /** A name that no category has. */
  newName(): string {
    this.#names += 1;
    return `${this.#run}-${this.#names}`;
  }

  /** Sends a request with the key; waits as `Retry-After` says, once. Rejects with `Skipped` if that takes too long. */
  async send(wanted: Wanted = {}): Promise<Exchange> {
    await this.#wait(this.#retryAt - this.#pace.now(), 'the key is over its limit');
    const exchange = await this.sendOnce(wanted);
    const { answer } = exchange;
    const usesKey = !('authorization' in wanted);
    const seconds = retryAfterOf(answer);
    if (!usesKey || seconds === undefined || (answer.status !== 429 && answer.status !== SERVER_BUSY)) return exchange;
    this.#retryAt = this.#pace.now() + seconds;
    await this.#wait(seconds, answer.status === 429 ? 'the key is over its limit' : 'the server is busy');
    return this.sendOnce(wanted);
  }

  /** Sends a request, whatever its answer. `isAlone`: on a connection of its own. */
  async sendOnce(wanted: Wanted, { isAlone = false } = {}): Promise<Exchange> {
    const { method = 'GET', path = '/categories', headers = {}, body } = wanted;
    const authorization = 'authorization' in wanted ? wanted.authorization : `Bearer ${this.keys.key}`;
    const sent: Sent = { method, path, headers: { ...(authorization && { authorization }), ...headers }, body };
    const mayCreate = method === 'POST';
    if (mayCreate && this.#creates >= CREATES_MAX) throw new Skipped(`${CREATES_MAX} categories were created`);
    this.#creates += mayCreate ? 1 : 0;
    const timeoutMs = this.#requestMs();
    const exchange = await (isAlone ? this.#client.sendAlone(sent, timeoutMs) : this.#client.send(sent, timeoutMs));
    if (mayCreate && !hasCreated(exchange)) this.#creates -= 1;
    return exchange;
  }

  /** The whole address of a path. */
  addressOf(path: string): string {
    return this.#client.addressOf(path);
  }

  /** Creates a category from a value or, as it is, a text. */
  post(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Exchange> {
    return this.send({
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** Writes bytes as they are, and returns the statuses of all answers until the server ends the connection. */
  async sendRaw(compose: (target: RawTarget) => string): Promise<number[]> {
    await this.#wait(this.#retryAt - this.#pace.now(), 'the key is over its limit');
    const headers = `Host: ${this.#client.host}\r\nAuthorization: Bearer ${this.keys.key}\r\n`;
    const path = this.#client.pathOf('/categories');
    return this.#client.sendRaw(compose({ path, headers }), Math.min(this.#requestMs(), RAW_MS_MAX));
  }

  /** Lets seconds of the server pass. Rejects with `Skipped` if there is no time for them. */
  wait(seconds: number, why: string): Promise<void> {
    return this.#wait(seconds, why);
  }

  async #wait(seconds: number, why: string): Promise<void> {
    if (seconds <= 0) return;
    if (!this.#isFull && this.#pace.now() + seconds > this.#endsAt) {
      throw new Skipped(`${why} for ${Math.ceil(seconds)} s; --full waits`);
    }
    await this.#pace.wait(seconds, why);
  }

  #requestMs(): number {
    if (this.#isFull) return REQUEST_SECONDS_MAX * 1000;
    const left = this.#endsAt - this.#pace.now();
    if (left <= 0) throw new Skipped('the time is over; --full has more');
    return Math.min(left + 3, REQUEST_SECONDS_MAX) * 1000;
  }
}

function hasCreated({ answer }: Exchange): boolean {
  return answer.status < 300 && membersOf(jsonOf(answer)).id !== undefined;
}
