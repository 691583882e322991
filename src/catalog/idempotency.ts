import { DAY_SECONDS } from '../stdx/duration.ts';

/** How long the outcome of a create is kept for a retry with the same Idempotency-Key. */
export const IDEMPOTENCY_SECONDS = DAY_SECONDS;

/** Who creates something, and how a retry of the same create is told. */
export interface Origin {
  readonly keyId: string;
  readonly idempotency?: {
    /** The caller's own name for the create, unique within its API key. */
    readonly key: string;
    /** Stands for everything that a retry must repeat. */
    readonly fingerprint: string;
  };
}

/** What a create gave; `isReplay` if it did so the first time that it was tried. */
export interface Created<T> {
  readonly resource: T;
  readonly isReplay: boolean;
}
