import type { PetCatalogError } from './errors.ts';
import type { OperationName } from './operation.ts';

/** A request for `PetCatalog.request`. */
export interface RequestOptions extends CreateOptions, ChangeOptions {
  /** Parameters to append to the path; those that are undefined are left out. */
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  /** The body, to be sent as JSON. */
  readonly body?: object | undefined;
}

/** The options of a client. */
export interface PetCatalogOptions {
  /**
   * The address of the service, with `http` or `https`, which ends in `/v1`. Default: the environment variable
   * `PET_CATALOG_URL`.
   */
  readonly baseUrl?: string | URL | undefined;
  /**
   * The API key. Default: the environment variable `PET_CATALOG_KEY`. It is sent only to `baseUrl` and appears in no
   * error or event.
   */
  readonly apiKey?: string | undefined;
  /** Timeout of a call in milliseconds, including waits and retries. Default: two minutes. */
  readonly timeoutMs?: number | undefined;
  /** Timeout of one attempt in milliseconds. Default: 30 seconds. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Retries per call, after the first attempt. Default: 4. */
  readonly maxRetries?: number | undefined;
  /**
   * Spreads calls evenly over the rest of the minute window instead of sending until a 429. A call whose turn would
   * come after its deadline fails at once with a `TimeoutError` that has `retryAt`. Default: false.
   */
  readonly pace?: boolean | undefined;
  /** Headers of every request, such as a `User-Agent` that names your program. Those of a call replace them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called for every response. Errors that it throws are ignored. */
  readonly onResponse?: ((event: ResponseEvent) => void) | undefined;
  /** Called before each retry, also after a lost response. Errors that it throws are ignored. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
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
  /** Timeout of the call in milliseconds, including waits and retries. Default: that of the client. */
  readonly timeoutMs?: number | undefined;
  /** Retries after the first attempt. Default: that of the client. */
  readonly maxRetries?: number | undefined;
  /**
   * Headers to send with each attempt, such as `X-Request-Id` or `traceparent`. They replace the `User-Agent` of the
   * client, but not `Authorization`, `Content-Type`, `Idempotency-Key`, `If-Match` and `If-None-Match`.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The options of a call that creates a resource. */
export interface CreateOptions extends CallOptions {
  /**
   * Identifies a create for 24 hours, so that a retry does not create a second resource: 1 to 255 printable ASCII
   * characters, none of them a blank at either end. Default: the client generates one per call and sends it with each
   * attempt. Set your own if another process may retry.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The options of a call that changes or removes a resource. */
export interface ChangeOptions extends CallOptions {
  /**
   * The `ETag` of the resource as you know it, from a response's `headers`, or several, separated by commas. The call
   * rejects with `precondition_failed` if the resource has changed since, also by an earlier attempt of the same call
   * whose answer was lost. Default: the call changes the resource in any state. Null, which `headers.get` gives for a
   * header that is missing, and an empty text are a TypeError.
   */
  readonly ifMatch?: string | null | undefined;
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
  /** The operation of the call. */
  readonly operation: OperationName;
  /** The status of the response. */
  readonly status: number;
  /** The attempt of the call, from 1. */
  readonly attempt: number;
  /** Milliseconds from sending to the end of the response. */
  readonly durationMs: number;
  /** The limit headers of the response; undefined without them. */
  readonly limits: Limits | undefined;
  /** The id of the request in the log of the service. */
  readonly requestId: string | undefined;
}

/** A failed attempt that will be repeated, as passed to `onRetry`. */
export interface RetryEvent {
  /** The operation of the call. */
  readonly operation: OperationName;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  /** Milliseconds from the failure to the next attempt, without the wait for a turn of other calls. */
  readonly waitMs: number;
  /** The failure, such as a `ConnectionError` after a lost response. */
  readonly error: PetCatalogError;
}

/** The window of the key with the fewer requests left. */
export interface Limits {
  /** Requests allowed per window. */
  readonly limit: number;
  /** Requests left in this window. */
  readonly remaining: number;
  /** When it resets, in Unix seconds. */
  readonly reset: number;
}

/** A deprecated operation, as passed to `onDeprecation`. */
export interface DeprecationEvent {
  /** The deprecated operation. */
  readonly operation: OperationName;
  /** When it was deprecated. */
  readonly deprecation: Date | undefined;
  /** When it will be removed. */
  readonly sunset: Date | undefined;
  /** The address of its documentation. */
  readonly link: string | undefined;
}
