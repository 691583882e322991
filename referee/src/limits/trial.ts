import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Sending } from './client.ts';
import { type Exchange, NoAnswer, type Sent, Skipped, type Wanted } from './exchange.ts';
import type { Limited } from './limited.ts';

/** Without `isFull`; the answers to the last requests come within the rest of 30 s. */
const SECONDS_MAX = 26;
const FULL_SECONDS_MAX = 1_200;
const REQUEST_SECONDS_MAX = 10;
const REMEMBERED_MAX = 1_000;
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
  /** The number of requests that may be sent. */
  readonly requestsMax: number;
  readonly pace: Pace;
  /** True to wait for windows, about two minutes. */
  readonly isFull: boolean;
  /** The number of requests that ask for the last token at once. */
  readonly concurrency: number;
}

/** One run against one server: its requests, and what all rules know of them. */
export class Trial {
  readonly options: TrialOptions;
  readonly #client: Pick<Client, 'send'>;
  /** The limit that is spent; undefined until it is known. */
  limited: Limited | undefined;
  /** The number that was sent. */
  requests = 0;
  /** The seconds that the slower of the first answers took. */
  latency = 0;
  /** All answers, in the order in which they came. */
  readonly answered: Exchange[] = [];
  readonly #endsAt: number;
  readonly #probes = new Map<unknown, Promise<unknown>>();

  constructor(client: Pick<Client, 'send'>, options: TrialOptions) {
    this.#client = client;
    this.options = options;
    this.#endsAt = options.pace.now() + (options.isFull ? FULL_SECONDS_MAX : SECONDS_MAX);
  }

  /** Runs a probe for the first rule that asks for it, and gives its result to all. */
  once<T>(probe: (trial: Trial) => Promise<T>): Promise<T> {
    const running = this.#probes.get(probe) as Promise<T> | undefined;
    if (running) return running;
    const started = probe(this);
    this.#probes.set(probe, started);
    return started;
  }

  get secondsLeft(): number {
    return this.#endsAt - this.options.pace.now();
  }

  /** Sends a request once, whatever its answer. `isAlone`: on a new connection. Rejects with `NoAnswer`. */
  async sendOnce(wanted: Wanted, { isAlone = false } = {}): Promise<Exchange> {
    const { requestsMax, pace } = this.options;
    const { method = 'GET', path = '', headers = {}, body } = wanted;
    if (this.requests >= requestsMax) throw new Skipped(`${requestsMax} requests were sent; --max allows more`);
    this.requests += 1;
    const sent: Sent = { method, path, headers: { 'accept-encoding': 'identity', ...headers }, body };
    const sending: Sending = { timeoutMs: this.#requestMs(), isAlone };
    const startedAt = pace.now();
    const answer = await this.#client.send(sent, sending).catch((error: unknown) => {
      throw error instanceof NoAnswer && error.code === 'LATE' && this.secondsLeft <= 0 ? this.#over() : error;
    });
    const seconds = pace.now() - startedAt;
    if (this.answered.length < 2) this.latency = Math.max(this.latency, seconds);
    const exchange = { ...answer, sent, seconds };
    if (this.answered.length < REMEMBERED_MAX) this.answered.push(exchange);
    return exchange;
  }

  /** Lets seconds of the server pass. Rejects with `Skipped` if there is no time for them. */
  async wait(seconds: number, why: string): Promise<void> {
    if (seconds <= 0) return;
    if (seconds > this.secondsLeft) {
      throw new Skipped(`${why} for ${Math.ceil(seconds)} s${this.options.isFull ? '' : '; --full waits'}`);
    }
    await this.options.pace.wait(seconds, why);
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
