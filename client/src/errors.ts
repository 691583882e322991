import type { ErrorCode } from './contract.ts';
import type { OperationName } from './operation.ts';

/**
 * The base class of every error of this client. An abort by the caller rejects with the reason of its signal instead.
 * No error contains the API key.
 */
export class PetCatalogError extends Error {
  /** The name of the class. */
  declare readonly name: string;
  /** The operation that failed. */
  declare readonly operation: OperationName;
  /** The error code of the service, if it sent one. */
  declare readonly code: ErrorCode | undefined;
  /** The status of the HTTP response, if there was one. */
  declare readonly status: number | undefined;
  /** The id of the request in the log of the service. */
  declare readonly requestId: string | undefined;
  /** The headers of the response, such as `WWW-Authenticate`, if the service sent one. Not enumerable. */
  declare readonly headers: Headers | undefined;
  /** Seconds to wait before the next attempt, if a time to wait is known. */
  declare readonly retryAfter: number | undefined;
  /** When to try again, if a time to wait is known. */
  declare readonly retryAt: Date | undefined;

  /** Only the client creates instances. */
  constructor(operation: OperationName, message: string, detail: Detail = {}, cause?: Error) {
    super(`${operation}: ${message}`, cause && { cause });
    const { untilMs, headers, ...rest } = detail;
    Object.defineProperty(this, 'headers', { value: headers });
    Object.assign(this, rest, untilMs && { retryAt: new Date(untilMs) }, { operation });
  }

  /** Every member, with name and message, for logs. */
  toJSON(): object {
    return Object.assign({ name: this.name, message: this.message }, this);
  }
}

/** What is known of a failure. */
type Detail = Partial<Pick<PetCatalogError, 'code' | 'status' | 'requestId' | 'headers' | 'retryAfter'>> & {
  /** The moment of `retryAt`, in Unix milliseconds. */
  readonly untilMs?: number | undefined;
};

/**
 * The service could not be reached, or something else responded, such as a proxy with a 502; then `status` is set. The
 * cause is the error of `fetch`, reduced to names, messages and codes such as `ECONNREFUSED`.
 */
export class ConnectionError extends PetCatalogError {
  /** The name of the class. */
  declare readonly name: 'ConnectionError';
}

/**
 * A timeout expired, or pacing would send the call after its deadline; then `retryAt` is set and nothing was sent. The
 * cause is the failure of the previous attempt, if there was one.
 */
export class TimeoutError extends PetCatalogError {
  /** The name of the class. */
  declare readonly name: 'TimeoutError';
}

/** The codes of a 429, which always names a time to wait. */
type LimitCode = 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'key_banned';
/** The codes of a 503, which may name a time to wait. */
type OutageCode = 'unavailable' | 'outcome_unknown';

/** An error response of the service. Its message says what failed and what to do; `retryAfter` counts from it on. */
export interface Refusal
  extends Pick<ServiceError, 'code' | 'message' | 'status' | 'requestId' | 'headers' | 'retryAfter'> {
  /** When the response arrived, by the monotonic clock of `Instant.now`. */
  readonly at: number;
}

/** A moment by two clocks, in milliseconds: the client's, which measures waits, and the machine's, for `retryAt`. */
export interface Instant {
  /** Monotonic, in milliseconds. */
  readonly now: number;
  /** The system clock, in Unix milliseconds. */
  readonly unixMs: number;
}

class ServiceError extends PetCatalogError {
  /** The name of the class. */
  declare readonly name: 'ApiError';
  /** The error code of the service. */
  declare readonly code: ErrorCode;
  /** The status of the HTTP response. */
  declare readonly status: number;
  /** The headers of the response, such as `WWW-Authenticate`. Not enumerable. */
  declare readonly headers: Headers;

  /** Only the client creates instances. */
  constructor(operation: OperationName, refusal: Refusal, { now, unixMs }: Instant) {
    const { at, message, ...detail } = refusal;
    const leftMs = detail.retryAfter && at + detail.retryAfter * 1_000 - now;
    const retryAfter = leftMs === undefined ? undefined : Math.max(1, Math.ceil(leftMs / 1_000));
    const untilMs = leftMs === undefined ? undefined : unixMs + leftMs;
    super(operation, `${message} (${detail.code})`, { ...detail, retryAfter, untilMs });
  }
}

/**
 * The service refused the call or failed. `code` says why; narrowing on it also narrows `retryAfter` and `retryAt`.
 */
export type ApiError = ServiceError &
  (
    | { readonly code: LimitCode; readonly retryAfter: number; readonly retryAt: Date }
    | { readonly code: OutageCode; readonly retryAfter: number | undefined; readonly retryAt: Date | undefined }
    | {
        readonly code: Exclude<ErrorCode, LimitCode | OutageCode>;
        readonly retryAfter: undefined;
        readonly retryAt: undefined;
      }
  );

/** For `error instanceof ApiError`; only the client creates instances. */
export const ApiError = ServiceError as new (operation: OperationName, refusal: Refusal, at: Instant) => ApiError;

// On the prototypes, where stack traces look. `ServiceError` takes the name that it is exported by.
for (const [name, type] of Object.entries({ PetCatalogError, ConnectionError, TimeoutError, ApiError: ServiceError })) {
  Object.defineProperty(type, 'name', { value: name });
  Object.defineProperty(type.prototype, 'name', { value: name, writable: true, configurable: true });
}
