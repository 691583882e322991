/**
 * What is kept of a request with a rehearsed key. The digests tell whether two requests are the same; the
 * Idempotency-Key and the body themselves are never kept. Moments are Unix milliseconds.
 */
export interface Note {
  readonly at: number;
  /** When the answer went out, or what came instead of it. */
  readonly answeredAt: number;
  readonly method: string;
  /** The template of the path. */
  readonly route: string;
  /** A digest of path and query. */
  readonly target: string;
  /** A digest; null without a body. */
  readonly body: string | null;
  /** A digest; null without the header. */
  readonly idempotencyKey: string | null;
  /** The step that it spent, as it is written; null for none. */
  readonly step: string | null;
  /** Whether it came during a `limit`, `quota` or `ban`, and so spent no step. */
  readonly isEarly: boolean;
  /** Null if no answer was sent. */
  readonly status: number | null;
  /** The seconds of the answer's `Retry-After`. */
  readonly retryAfter: number | null;
  /** Whether all of the answer was sent. */
  readonly isDelivered: boolean;
  /** Whether the operation was carried out. */
  readonly isDone: boolean;
  /** Whether it created a resource, which the replay of an earlier outcome does not. */
  readonly hasCreated: boolean;
}

/** What is kept of a key's rehearsal. */
export interface KeyRehearsal {
  readonly keyId: string;
  readonly script: string;
  /** How many steps were spent. */
  readonly reached: number;
  readonly notes: readonly Note[];
}

/** How early a request may come: timers are not exact, and neither are networks. */
export const FORGIVEN_MS = 100;
