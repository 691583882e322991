import type { Refusal } from './errors.ts';
import type { Minute } from './headers.ts';
import type { Clock, Limits } from './options.ts';

/** Initial concurrency, while the limit is unknown: as many as a browser opens connections. */
const WIDTH_START = 6;
const WIDTH_MAX = 100;
/**
 * How much each admitted request raises the concurrency. With 0.5, clients that share an exhausted key have together at
 * most half its limit in flight, plus one request each: too few refusals for a ban.
 */
const WIDTH_STEP = 0.5;
/**
 * How long calls that cannot wait are refused from memory, before one of them probes whether the refusal still holds.
 */
const REFUSAL_KEPT_MS = 60_000;

const MINUTE_MS = 60_000;

/** A call that waits for its turn to be sent. */
export interface Turn {
  /** In Unix milliseconds. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Retries go first. */
  readonly isRetry: boolean;
}

/** Why a call is not sent: the last refusal, or the moment after its deadline that pacing would send it. */
export type Held = Refusal | { readonly turnAt: number };

interface Waiting {
  readonly deadline: number;
  go(held?: Held): void;
}

/**
 * Schedules the calls of a client by its shared view of the limit. Sends them in order: none before the time that a 429
 * named, never more in flight than requests remain, a single one after a refusal, and with pacing evenly over the rest
 * of the minute.
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
  #probedAt = 0;
  /** Counts refusals, to recognize responses to requests that were sent before the last one. */
  #refusals = 0;
  #opensAt = 0;
  #paceMs = 0;
  #sentAt = 0;
  /** With pacing: requests left in the minute window, when it resets, and the pace in the next one. */
  #left = Number.POSITIVE_INFINITY;
  #resetAt = 0;
  #nextPaceMs = 0;

  constructor(clock: Clock, isPaced: boolean) {
    this.#clock = clock;
    this.#isPaced = isPaced;
    this.#width = isPaced ? 1 : WIDTH_START;
  }

  /** The number of refusals so far. Read it when sending, and pass it to `learn` with the response. */
  get ticket(): number {
    return this.#refusals;
  }

  /**
   * Resolves with undefined when the call may be sent; the caller must call `leave` afterwards. Resolves with the
   * reason if the call would wait beyond its deadline or through a ban. Rejects with the signal's reason.
   */
  enter({ deadline, signal, isRetry }: Turn): Promise<Held | undefined> {
    return new Promise((resolve, reject) => {
      const now = this.#clock.now();
      if (this.#blocks(deadline, now)) {
        if (now < this.#probedAt + REFUSAL_KEPT_MS) return resolve(this.#refusal);
        this.#probedAt = now;
        this.#inFlight += 1;
        return resolve(undefined);
      }
      const turnAt = this.#turnAt(isRetry ? 0 : this.#queue.length, now);
      if (turnAt >= deadline) return resolve({ turnAt });
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
        this.#sendNext();
      };
      signal.addEventListener('abort', stop);
      if (isRetry) this.#queue.unshift(waiting);
      else this.#queue.push(waiting);
      return this.#sendNext();
    });
  }

  /** Ends a request that `enter` admitted. */
  leave(): void {
    this.#inFlight -= 1;
    this.#sendNext();
  }

  /**
   * Updates the view of the limit from the response to an admitted request, and raises the concurrency. Room found by
   * a request that was sent after the last refusal ends that refusal.
   */
  learn(ticket: number, { remaining }: Limits, minute: Minute | undefined): void {
    this.#width = Math.min(this.#width + WIDTH_STEP, WIDTH_MAX);
    if (ticket === this.#refusals && remaining > 0) this.#opensAt = 0;
    this.#remaining = remaining;
    if (this.#isPaced && minute) {
      const now = this.#clock.now();
      const untilResetMs = minute.seconds * 1_000;
      this.#paceMs = untilResetMs / Math.max(1, minute.remaining);
      this.#left = minute.remaining;
      this.#resetAt = now + untilResetMs;
      this.#nextPaceMs = MINUTE_MS / minute.limit;
      if (minute.remaining === 0) this.#sentAt = now;
      const queue = this.#queue;
      this.#queue = [];
      for (const waiting of queue) {
        const turnAt = this.#turnAt(this.#queue.length, now);
        if (turnAt >= waiting.deadline) waiting.go({ turnAt });
        else this.#queue.push(waiting);
      }
    }
    this.#sendNext();
  }

  /** Records a refusal: all calls wait, and those that cannot wait are refused. */
  refused(refusal: Refusal): void {
    this.#opensAt = refusal.at + (refusal.retryAfter ?? 0) * 1_000;
    this.#refusals += 1;
    this.#refusal = refusal;
    this.#probedAt = refusal.at;
    this.#width = 1;
    const queue = this.#queue;
    this.#queue = [];
    for (const waiting of queue) {
      if (this.#blocks(waiting.deadline, refusal.at)) waiting.go(refusal);
      else this.#queue.push(waiting);
    }
  }

  /** Whether a call must be refused: during a ban, or if the limit admits no request before its deadline. */
  #blocks(deadline: number, now: number): boolean {
    return this.#opensAt > now && (this.#refusal?.code === 'key_banned' || this.#opensAt >= deadline);
  }

  /** With pacing: when the call at this place of the queue will be sent, as far as is known. Otherwise 0. */
  #turnAt(place: number, now: number): number {
    if (!this.#isPaced) return 0;
    const first = Math.max(now, this.#opensAt, this.#sentAt + this.#paceMs);
    if (place < this.#left && now < this.#resetAt) return first + place * this.#paceMs;
    const placeAfterReset = now < this.#resetAt ? place - this.#left : place;
    return Math.max(first, this.#resetAt) + placeAfterReset * this.#nextPaceMs;
  }

  #sendNext(): void {
    this.#timer?.abort();
    for (let [next] = this.#queue; next; [next] = this.#queue) {
      const now = this.#clock.now();
      const waitMs = Math.max(this.#opensAt, this.#sentAt + this.#paceMs) - now;
      if (waitMs > 0) {
        this.#timer = new AbortController();
        this.#clock.sleep(Math.ceil(waitMs), this.#timer.signal).then(
          () => this.#sendNext(),
          () => {},
        );
        return;
      }
      if (this.#inFlight >= Math.max(1, Math.min(Math.floor(this.#width), this.#remaining))) return;
      this.#inFlight += 1;
      this.#sentAt = now;
      this.#left -= 1;
      this.#queue.shift();
      next.go();
    }
  }
}
