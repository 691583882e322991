import type { Operation } from './contract.ts';

/** How a client is set up. */
export interface PetCatalogOptions {
  /** The address of the service, ending in `/v1`. */
  readonly baseUrl: string | URL;
  /** The API key. It is sent to `baseUrl` alone and shows up nowhere else. */
  readonly apiKey: string | undefined;
  /** How long a call may take in all, its waits and repetitions included. Milliseconds; two minutes if left out. */
  readonly timeoutMs?: number | undefined;
  /** How long one request may take. Milliseconds; 30 seconds if left out. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How many requests a call may send; 5 if left out, 1 for no repetition. */
  readonly maxAttempts?: number | undefined;
  /** Spreads the calls evenly over what the minute has left, instead of sending until a 429. */
  readonly pace?: boolean | undefined;
  /** Told of every answer. What it throws is ignored. */
  readonly onResponse?: ((event: ResponseEvent) => void) | undefined;
  /** Told once of each operation that is going away. If left out, `console.warn` says it. What it throws is ignored. */
  readonly onDeprecation?: ((event: DeprecationEvent) => void) | undefined;
  /** What to send with instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** For tests: the time that waits and deadlines go by. */
  readonly clock?: Clock | undefined;
}

/** What one call may set for itself. */
export interface CallOptions {
  /** Ends the call; it then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** How long the call may take in all. Milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** What a call that creates something may set for itself. */
export interface CreateOptions extends CallOptions {
  /**
   * What tells the service that a create is the same as an earlier one, for 24 hours: 1 to 255 printable ASCII
   * characters. If left out, the client makes one for the call and sends it with each attempt. Give your own where the
   * repetition may come from another process.
   */
  readonly idempotencyKey?: string | undefined;
}

/** What the client reads the time from and waits by. */
export interface Clock {
  /** The present moment in Unix milliseconds. It never goes back. */
  now(): number;
  /** Resolves after so many milliseconds; rejects, and forgets its timer, when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** One answer, as the hook `onResponse` is told of it. */
export interface ResponseEvent {
  readonly operation: Operation;
  readonly status: number;
  /** Which request of the call was answered, from 1. */
  readonly attempt: number;
  /** From sending to the end of the answer. */
  readonly durationMs: number;
  /** What the answer told of the limit; undefined if it told nothing. */
  readonly limits: Limits | undefined;
  readonly requestId: string | undefined;
}

/** The window of the key with the fewer requests left. */
export interface Limits {
  readonly limit: number;
  readonly remaining: number;
  /** When it starts anew, in Unix seconds. */
  readonly reset: number;
}

/** An operation that is going away, as the hook `onDeprecation` is told of it. */
export interface DeprecationEvent {
  readonly operation: Operation;
  /** Since when it should not be used any more. */
  readonly deprecation: Date | undefined;
  /** From when on it is no longer answered. */
  readonly sunset: Date | undefined;
  /** Where to read about it. */
  readonly link: string | undefined;
}
