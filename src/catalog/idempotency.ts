import { DAY_SECONDS } from '../stdx/duration.ts';

/** How long the outcome of a create is kept for retries with the same Idempotency-Key. */
export const IDEMPOTENCY_SECONDS = DAY_SECONDS;

/** The key that creates a resource, and how to recognise a retry. */
export interface Origin {
  readonly keyId: string;
  readonly idempotency?: {
    /** The Idempotency-Key, unique within the API key. */
    readonly key: string;
    /** A hash of everything that a retry must repeat. */
    readonly fingerprint: string;
  };
}

/** Identifies a change that was already made, and says what is kept of its outcome. */
export interface Retry<T> {
  readonly origin: Origin;
  outcome(changed: T): unknown;
}

/** Thrown instead of repeating a change: carries what was kept of the first. */
export class ChangeReplayed extends Error {
  readonly outcome: unknown;

  constructor(outcome: unknown) {
    super('The change was made already');
    this.outcome = outcome;
  }
}

/** The outcome of a create; `isReplay` if an earlier attempt produced it. */
export interface Created<T> {
  readonly resource: T;
  readonly isReplay: boolean;
}
