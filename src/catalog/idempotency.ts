import { DAY_SECONDS } from '../stdx/duration.ts';

/** The time that the outcome of work is kept for repeats of it. */
export const IDEMPOTENCY_SECONDS = DAY_SECONDS;

/** The mark by which a repeat of work is recognised. Without `idempotency` there is none. */
export interface OnceId {
  /** The API key or operator token that asks for the work. */
  readonly keyId: string;
  readonly idempotency?: {
    /** The Idempotency-Key, unique within the API key or token. */
    readonly key: string;
    /** A hash of everything that a repeat must be equal in. */
    readonly fingerprint: string;
  };
}

/** The outcome of work that is done once; `isReplay` if it was done before, and this is what was kept of it. */
export interface Once<T> {
  readonly resource: T;
  readonly isReplay: boolean;
}
