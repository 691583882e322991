import type { Refusal } from './errors.ts';
import type { Minute } from './headers.ts';
import type { Clock, Limits } from './options.ts';

/** Requests in flight at once before anything is known of the limit: as many as a browser opens connections. */
const WIDTH_START = 6;
const WIDTH_MAX = 100;
/**
 * How much each admitted request widens the way. With a half, clients that share a key and find it exhausted have together
 * at most half its limit in flight, and one request each: too few refusals for a ban.
 */
const WIDTH_STEP = 0.5;
/** How long a refusal is taken at its word by calls that cannot wait; then one of them looks whether it still holds. */
const REFUSAL_KEPT_MS = 60_000;

/** A call that asks to be sent. */
export interface Turn {
  /** When the call gives up, in Unix milliseconds. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Whether it has been sent before; such a call goes first. */
  readonly isRetry: boolean;
}

interface Waiting {
  readonly deadline: number;
  go(held?: Refusal): void;
}

/**
 * The one view of the limit that all calls of a client share. It lets calls go in order: none before the moment that a
 * 429 named, never more in flight than the service says remain, one alone after a refusal, and with pacing as far
 * apart as spends what the minute has left evenly.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #isPaced: boolean;
  #queue: Waiting[] = [];
  #timer: AbortController | undefined;
  #inFlight = 0;
  #width: number;
  #remaining = WIDTH_MAX;
  #refusal: Refusal | undefined;
  #lookedAt = 0;
  /** How many refusals there have been, so that answers to what was sent before the last one are known. */
  #refusals = 0;
  #opensAt = 0;
  #paceMs = 0;
  #sentAt = 0;

  constructor(clock: Clock, isPaced: boolean) {
    this.#clock = clock;
    this.#isPaced = isPaced;
    this.#width = isPaced ? 1 : WIDTH_START;
  }

  /** How many refusals were known when a request was sent; its answer is told with it. */
  get ticket(): number {
    return this.#refusals;
  }

  /**
   * Resolves when the call may be sent; then `leave` must follow. Resolves with a known refusal if the call would have
   * to wait beyond its deadline or through a ban. Rejects with the signal's reason.
   */
  enter({ deadline, signal, isRetry }: Turn): Promise<Refusal | undefined> {
    return new Promise((resolve, reject) => {
      const now = this.#clock.now();
      if (this.#holds(deadline, now)) {
        if (now < this.#lookedAt + REFUSAL_KEPT_MS) return resolve(this.#refusal);
        this.#lookedAt = now;
        this.#inFlight += 1;
        return resolve(undefined);
      }
      const waiting: Waiting = {
        deadline,
        go(held) {
          signal.removeEventListener('abort', stop);
          resolve(held);
        },
      };
      const stop = () => {
        this.#queue = this.#queue.filter((other) => other !== waiting);
        reject(signal.reason);
        this.#letGo();
      };
      signal.addEventListener('abort', stop);
      if (isRetry) this.#queue.unshift(waiting);
      else this.#queue.push(waiting);
      return this.#letGo();
    });
  }

  /** A request is over. */
  leave(): void {
    this.#inFlight -= 1;
    this.#letGo();
  }

  /**
   * An answer told of the limit. What was sent since the last refusal and finds room shows that it holds no more. Each
   * admitted request lets more go at once.
   */
  learn(ticket: number, { remaining }: Limits, minute: Minute | undefined): void {
    this.#width = Math.min(this.#width + WIDTH_STEP, WIDTH_MAX);
    if (ticket === this.#refusals && remaining > 0) this.#opensAt = 0;
    this.#remaining = remaining;
    if (this.#isPaced && minute) {
      const [left, seconds] = minute;
      this.#paceMs = (seconds * 1_000) / Math.max(1, left);
      if (left === 0) this.#sentAt = this.#clock.now();
    }
    this.#letGo();
  }

  /** A request was refused: everybody waits, and whoever cannot is told so. */
  refused(refusal: Refusal): void {
    this.#opensAt = refusal.at + (refusal.retryAfter ?? 0) * 1_000;
    this.#refusals += 1;
    this.#refusal = refusal;
    this.#lookedAt = refusal.at;
    this.#width = 1;
    const queue = this.#queue;
    this.#queue = [];
    for (const waiting of queue) {
      if (this.#holds(waiting.deadline, refusal.at)) waiting.go(refusal);
      else this.#queue.push(waiting);
    }
  }

  /** Whether a call with this deadline cannot wait for the moment at which the limit admits again. */
  #holds(deadline: number, now: number): boolean {
    return this.#opensAt > now && (this.#refusal?.code === 'key_banned' || this.#opensAt >= deadline);
  }

  #letGo(): void {
    this.#timer?.abort();
    for (let [next] = this.#queue; next; [next] = this.#queue) {
      const now = this.#clock.now();
      const waitMs = Math.max(this.#opensAt, this.#sentAt + this.#paceMs) - now;
      if (waitMs > 0) {
        this.#timer = new AbortController();
        this.#clock.sleep(Math.ceil(waitMs), this.#timer.signal).then(
          () => this.#letGo(),
          () => {},
        );
        return;
      }
      if (this.#inFlight >= Math.max(1, Math.min(Math.floor(this.#width), this.#remaining))) return;
      this.#inFlight += 1;
      this.#sentAt = now;
      this.#queue.shift();
      next.go();
    }
  }
}
