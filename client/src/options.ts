import type { Operation } from './contract.ts';

/** The options of a client. */
export interface PetCatalogOptions {
  /** The address of the service, ending in `/v1`. */
  readonly baseUrl: string | URL;
  /** The API key. It is sent only to `baseUrl` and appears in no error or event. */
  readonly apiKey: string | undefined;
  /** Timeout of a call in milliseconds, including waits and retries. Default: two minutes. */
  readonly timeoutMs?: number | undefined;
  /** Timeout of one attempt in milliseconds. Default: 30 seconds. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Attempts per call. Default: 5; 1 disables retries. */
  readonly maxAttempts?: number | undefined;
  /** Spreads calls evenly over the rest of the minute window instead of sending until a 429. */
  readonly pace?: boolean | undefined;
  /** Called for every response. Errors that it throws are ignored. */
  readonly onResponse?: ((event: ResponseEvent) => void) | undefined;
  /** Called once per deprecated operation. Default: `console.warn`. Errors that it throws are ignored. */
  readonly onDeprecation?: ((event: DeprecationEvent) => void) | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** For tests: the clock for waits and timeouts. */
  readonly clock?: Clock | undefined;
}

/** The options of a call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of the call in milliseconds, including waits and retries. */
  readonly timeoutMs?: number | undefined;
}

/** The options of a call that creates a resource. */
export interface CreateOptions extends CallOptions {
  /**
   * Identifies a create for 24 hours, so that a retry does not create a second resource: 1 to 255 printable ASCII
   * characters. Default: the client generates one per call and sends it with each attempt. Set your own if another
   * process may retry.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The clock of the client. */
export interface Clock {
  /** The current time in Unix milliseconds. Must be monotonic. */
  now(): number;
  /** Resolves after `ms`; rejects and clears its timer when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** A response, as passed to `onResponse`. */
export interface ResponseEvent {
  readonly operation: Operation;
  readonly status: number;
  /** The attempt of the call, from 1. */
  readonly attempt: number;
  /** From sending to the end of the response. */
  readonly durationMs: number;
  /** The limit headers of the response; undefined without them. */
  readonly limits: Limits | undefined;
  readonly requestId: string | undefined;
}

/** The window of the key with the fewer requests left. */
export interface Limits {
  readonly limit: number;
  readonly remaining: number;
  /** When it resets, in Unix seconds. */
  readonly reset: number;
}

/** A deprecated operation, as passed to `onDeprecation`. */
export interface DeprecationEvent {
  readonly operation: Operation;
  /** When it was deprecated. */
  readonly deprecation: Date | undefined;
  /** When it will be removed. */
  readonly sunset: Date | undefined;
  /** The documentation of the deprecation. */
  readonly link: string | undefined;
}
