import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Sending } from './client.ts';
import {
  bodyOf,
  type Exchange,
  membersOf,
  NoAnswer,
  retryAfterOf,
  type Sent,
  Skipped,
  type Wanted,
} from './exchange.ts';
import type { Limited } from './limited.ts';
import { parseJson } from './list-reader.ts';

/** Without `isFull`; the answers to the last requests come within the rest of 30 s. */
const SECONDS_MAX = 26;
const FULL_SECONDS_MAX = 1_200;
const CREATES_MAX = 40;
const REQUEST_SECONDS_MAX = 10;
/** A server may keep the connection of malformed requests open. */
const RAW_MS_MAX = 4_000;
/** A request that met a failure of the server or of the connection is sent again so often. */
const RETRIES_MAX = 4;
const RETRY_SECONDS = 0.2;
/** Failures that may pass; 501 and 505 never do. */
const MAY_PASS: ReadonlySet<number> = new Set([500, 502, 503, 504]);
/** A server that answers later gets independent requests at once. */
const SLOW_SECONDS = 0.12;
const REMEMBERED_MAX = 1_000;
const REMEMBERED_BODY_CHARACTERS = 2_000;
const PROGRESS_SECONDS = 1;

/** The passing of time at the server. Tests turn its clock. */
export interface Pace {
  /** Monotonic seconds. */
  now(): number;
  /** Returns once this many seconds of the server have passed. */
  wait(seconds: number, why: string): Promise<void>;
}

type Progress = (doing: string, done: number, total: number) => void;

/** The pace of a server that is judged in real time; a wait of more than a second shows how far it is. */
export function realPace(progress: Progress, sleepMs: (ms: number) => Promise<unknown> = sleep): Pace {
  return {
    now: () => performance.now() / 1000,
    async wait(seconds, why) {
      const show = (waited: number) => seconds > PROGRESS_SECONDS && progress(`Waiting: ${why}`, waited, seconds);
      for (let waited = 0; waited < seconds; waited += PROGRESS_SECONDS) {
        show(waited);
        await sleepMs(Math.min(PROGRESS_SECONDS, seconds - waited) * 1000);
      }
      show(seconds);
    },
  };
}

export interface TrialOptions {
  /** The key of requests that name no other credential. */
  readonly key?: string | undefined;
  /** The request that is sent where none is named. */
  readonly usual?: Wanted | undefined;
  readonly otherEnvironmentKey?: string | undefined;
  /** The path of a list of categories, at which a POST creates one. */
  readonly listPath?: string;
  /** The number of requests that may be sent. */
  readonly requestsMax?: number;
  readonly pace: Pace;
  /** True to wait for windows and bans, about two minutes. */
  readonly isFull: boolean;
  /** The number of requests that ask for the last token at once. */
  readonly concurrency: number;
  /** The requests per minute and per day of the limited key, and of the other, if their plans are known. */
  readonly planLimits?: readonly number[] | undefined;
  readonly keyPlanLimits?: readonly number[] | undefined;
}

/** The path of the categories, and the lines that every request needs. */
export interface RawTarget {
  readonly path: string;
  readonly headers: string;
}

/** One run against one server: its keys, its requests, and what all rules know of them. */
export class Trial {
  readonly options: TrialOptions;
  readonly client: Client;
  /** The limit that is spent; undefined if none is judged, or none is known yet. */
  limited: Limited | undefined;
  /** The number that was sent. */
  requests = 0;
  /** All answers, in the order in which they came. */
  readonly answered: Exchange[] = [];
  readonly #pace: Pace;
  readonly #secondsMax: number;
  readonly #endsAt: number;
  readonly #probes = new Map<unknown, Promise<unknown>>();
  /** Begins every name, so that the categories of a run can be distinguished from others. */
  readonly #run = `Conformance-${randomBytes(4).toString('hex')}`;
  #names = 0;
  #creates = 0;
  #retryAt = 0;
  #latency = 0;
  #isCrowded = false;

  constructor(client: Client, options: TrialOptions) {
    this.client = client;
    this.options = options;
    this.#pace = options.pace;
    this.#secondsMax = options.isFull ? FULL_SECONDS_MAX : SECONDS_MAX;
    this.#endsAt = this.#pace.now() + this.#secondsMax;
  }

  /** Runs a probe for the first rule that asks for it, and gives its result to all. */
  once<T>(probe: (trial: Trial) => Promise<T>): Promise<T> {
    const running = this.#probes.get(probe) as Promise<T> | undefined;
    if (running) return running;
    const started = probe(this);
    this.#probes.set(probe, started);
    return started;
  }

  /** Runs probes at once, each request on a separate connection. A probe that fails then is run again when needed. */
  async atOnce(probes: readonly ((trial: Trial) => Promise<unknown>)[]): Promise<void> {
    this.#isCrowded = true;
    await Promise.all(probes.map((probe) => this.once(probe).catch(() => this.#probes.delete(probe))));
    this.#isCrowded = false;
  }

  newName(): string {
    this.#names += 1;
    return `${this.#run}-${this.#names}`;
  }

  /** The seconds that the slower of the first answers took. */
  get latency(): number {
    return this.#latency;
  }

  get isSlow(): boolean {
    return this.#latency > SLOW_SECONDS;
  }

  /** Seconds since the trial began. */
  get secondsPassed(): number {
    return this.#secondsMax - this.secondsLeft;
  }

  get secondsLeft(): number {
    return this.#endsAt - this.#pace.now();
  }

  /**
   * Sends a request with the key. A refusal by a limit is waited for, a failure that may pass is tried again. Rejects
   * with `Skipped` if that takes too long, with `NoAnswer` if none comes.
   */
  async send(wanted: Wanted = this.options.usual ?? {}, { isAlone = this.#isCrowded } = {}): Promise<Exchange> {
    const usesKey = !('authorization' in wanted);
    for (let tries = 0; ; tries += 1) {
      if (usesKey) await this.wait(this.#retryAt - this.#pace.now(), 'the key is over its limit');
      const exchange = await this.sendOnce(wanted, { isAlone }).catch((error: unknown) => {
        if (!(error instanceof NoAnswer) || error.code === 'LATE' || tries === RETRIES_MAX) throw error;
      });
      const status = exchange?.status ?? 0;
      if (exchange && status !== 429 && (!MAY_PASS.has(status) || tries === RETRIES_MAX)) return exchange;
      const seconds = exchange && retryAfterOf(exchange);
      if (status !== 429) await this.wait(seconds ?? RETRY_SECONDS, 'the server is busy');
      else if (tries === RETRIES_MAX || seconds === undefined) throw new Skipped(`${who(usesKey)} over its limit`);
      else {
        if (usesKey) this.#retryAt = this.#pace.now() + seconds;
        await this.wait(seconds, `${who(usesKey)} over its limit`);
      }
    }
  }

  /** Sends requests that do not depend on each other: in turn, or at once to a slow server. */
  async sendAll(wanted: readonly Wanted[]): Promise<readonly Exchange[]> {
    if (this.isSlow) return Promise.all(wanted.map((each) => this.send(each, { isAlone: true })));
    const exchanges: Exchange[] = [];
    for (const each of wanted) exchanges.push(await this.send(each));
    return exchanges;
  }

  /** Sends a request once, whatever its answer. `isAlone`: on a new connection. Rejects with `NoAnswer`. */
  async sendOnce(wanted: Wanted = {}, { isAlone = this.#isCrowded } = {}): Promise<Exchange> {
    const { key, listPath, requestsMax = Number.POSITIVE_INFINITY } = this.options;
    const { method = 'GET', path = listPath ?? '', headers = {}, body } = wanted;
    const authorization = 'authorization' in wanted ? wanted.authorization : key && `Bearer ${key}`;
    if (this.requests >= requestsMax) throw new Skipped(`${requestsMax} requests were sent; --max allows more`);
    this.requests += 1;
    const sent: Sent = {
      method,
      path,
      headers: { ...(authorization !== undefined && { authorization }), 'accept-encoding': 'identity', ...headers },
      body,
    };
    const mayCreate = method === 'POST' && path === listPath;
    if (mayCreate && this.#creates >= CREATES_MAX) throw new Skipped(`${CREATES_MAX} categories were created`);
    this.#creates += mayCreate ? 1 : 0;
    const isList = method === 'GET' && path === listPath;
    const isOwn = isList ? (name: string) => name.startsWith(this.#run) : undefined;
    const sending: Sending = { timeoutMs: this.#requestMs(), isAlone, isOwn };
    const startedAt = this.#pace.now();
    const answer = await this.client.send(sent, sending).catch((error: unknown) => {
      throw error instanceof NoAnswer && error.code === 'LATE' && this.secondsLeft <= 0 ? this.#over() : error;
    });
    const seconds = this.#pace.now() - startedAt;
    if (this.answered.length < 2) this.#latency = Math.max(this.#latency, seconds);
    const exchange = { ...answer, sent, seconds };
    if (mayCreate && isRefused(exchange)) this.#creates -= 1;
    this.#remember(exchange);
    return exchange;
  }

  /** Creates a category from a value or, as it is, a text. */
  post(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Exchange> {
    return this.send(creating(body, headers));
  }

  /** Writes bytes as they are, and returns the statuses of all answers until the server ends the connection. */
  async sendRaw(compose: (target: RawTarget) => string): Promise<number[]> {
    await this.wait(this.#retryAt - this.#pace.now(), 'the key is over its limit');
    const headers = `Host: ${this.client.host}\r\nAuthorization: Bearer ${this.options.key}\r\n`;
    const path = this.client.pathOf(this.options.listPath ?? '');
    return this.client.sendRaw(compose({ path, headers }), Math.min(this.#requestMs(), RAW_MS_MAX));
  }

  /** Lets seconds of the server pass. Rejects with `Skipped` if there is no time for them. */
  async wait(seconds: number, why: string): Promise<void> {
    if (seconds <= 0) return;
    if (seconds > this.secondsLeft) {
      throw new Skipped(`${why} for ${Math.ceil(seconds)} s${this.options.isFull ? '' : '; --full waits'}`);
    }
    await this.#pace.wait(seconds, why);
  }

  #remember(exchange: Exchange): void {
    if (this.answered.length >= REMEMBERED_MAX) return;
    // A slice would hold the whole text.
    const body = Buffer.from(exchange.body.slice(0, REMEMBERED_BODY_CHARACTERS)).toString();
    this.answered.push({ ...exchange, body, list: undefined });
  }

  #over(): Skipped {
    return new Skipped(this.options.isFull ? 'the time is over' : 'the time is over; --full has more');
  }

  #requestMs(): number {
    const left = this.secondsLeft;
    if (left <= 0) throw this.#over();
    return Math.min(left + 3, REQUEST_SECONDS_MAX) * 1000;
  }
}

/** A create of a value or, as it is, a text. */
export function creating(body: unknown, headers: Readonly<Record<string, string>> = {}): Wanted {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : jsonText(body),
  };
}

/** JSON in which an id beyond 2^53 keeps its digits. */
function jsonText(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? rawJSON(`${each}`) : each));
}

function who(usesKey: boolean): string {
  return usesKey ? 'the key is' : 'a request without a valid key is';
}

/** A failure of the server may have created, if the body was valid. */
function isRefused(exchange: Exchange): boolean {
  const { status, sent } = exchange;
  if (status >= 500) return typeof membersOf(parseJson(sent.body ?? '')).name !== 'string';
  return status >= 300 || bodyOf(exchange).id === undefined;
}
