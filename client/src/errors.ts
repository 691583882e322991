import type { ErrorCode, Operation } from './contract.ts';

/**
 * What every error of this client has in common. The caller's own abort is no such error: it rejects with the reason
 * of the signal. No error holds the API key.
 */
export class PetCatalogError extends Error {
  override readonly name: string = 'PetCatalogError';
  /** The operation that failed. */
  declare readonly operation: Operation;
  /** What went wrong, if the service said it. */
  declare readonly code: ErrorCode | undefined;
  /** The status of the HTTP answer, if there was one. */
  declare readonly status: number | undefined;
  /** What the service calls the request in its log. */
  declare readonly requestId: string | undefined;
  /** How many seconds to wait before the next try, if the answer said so. */
  declare readonly retryAfter: number | undefined;

  constructor(operation: Operation, message: string, told: Told = {}, cause?: Error) {
    super(`${operation}: ${message}`, cause && { cause });
    Object.assign(this, told, { operation });
  }
}

/** What an answer told of a failure. */
interface Told {
  readonly code?: ErrorCode;
  readonly status?: number;
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
}

/**
 * The service could not be reached, or what answered was not the service: then `status` is there, such as a proxy's 502.
 * The cause tells what `fetch` said.
 */
export class ConnectionError extends PetCatalogError {
  override readonly name = 'ConnectionError';
}

/** A deadline passed. The cause is the failure before it, if there was one. */
export class TimeoutError extends PetCatalogError {
  override readonly name = 'TimeoutError';
}

/** The codes of a 429. Waiting always helps, and the answer says how long. */
type LimitCode = 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'key_banned';
/** The codes of a 503. Waiting mostly helps. */
type OutageCode = 'unavailable' | 'outcome_unknown';

/** What the service said when it refused or failed. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
  readonly requestId: string | undefined;
  /** Seconds, counted from the answer. */
  readonly retryAfter: number | undefined;
  /** The moment of the answer, in Unix milliseconds. */
  readonly at: number;
}

class ServiceError extends PetCatalogError {
  override readonly name = 'ApiError';
  declare readonly code: ErrorCode;
  declare readonly status: number;
  /** The moment until which to wait, if the answer said so. */
  declare readonly retryAt: Date | undefined;

  constructor(operation: Operation, refusal: Refusal, now: number) {
    const { at, message, ...told } = refusal;
    super(operation, `${message} (${told.code})`, told);
    if (told.retryAfter === undefined) return;
    const untilMs = at + told.retryAfter * 1_000;
    const retryAfter = Math.max(1, Math.ceil((untilMs - now) / 1_000));
    Object.assign(this, { retryAfter, retryAt: new Date(untilMs) });
  }
}

/**
 * The service refused the call or failed at it. `code` tells which; a switch over it tells TypeScript whether
 * `retryAfter` and `retryAt` are there.
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

/** For `error instanceof ApiError`. Only the client makes them. */
export const ApiError = ServiceError as new (operation: Operation, refusal: Refusal, now: number) => ApiError;
