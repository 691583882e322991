import { hash } from 'node:crypto';

export const DIGEST_CHARACTERS = 22;

/** The requests of a play that are noted. */
export const NOTES_MAX = 10_000;

/**
 * The record of a request. The digests tell whether two requests are the same; the Idempotency-Key and the body
 * themselves are never kept. Moments are milliseconds of the monotonic clock, which starts at Unix time.
 */
export interface Note {
  readonly at: number;
  /** When the answer ended, or its connection did. */
  readonly answeredAt: number;
  readonly method: string;
  /** The path, shortened. */
  readonly route: string;
  readonly target: string;
  /** A digest; null without a body. */
  readonly body: string | null;
  /** A digest; null without the header. */
  readonly idempotencyKey: string | null;
  /** A digest of the credentials, which a client may renew after a refusal. */
  readonly credentials: string | null;
  /** The step that it consumed, as it is written; null for none. */
  readonly step: string | null;
  /** True if it came while a `limit`, `quota` or `ban` was in force, and so consumed no step. */
  readonly isEarly: boolean;
  /** Null if no answer was sent. */
  readonly status: number | null;
  /** The seconds that the answer asked to wait, from `answeredAt` on; fractional for a date. */
  readonly retryAfter: number | null;
  /** True if all of the answer was sent. */
  readonly isDelivered: boolean;
  /** True if the operation was carried out. */
  readonly isDone: boolean;
  /** True if it created a resource, which the replay of an earlier outcome does not. */
  readonly hasCreated: boolean;
}

export interface CommandEnd {
  /** Null if a signal ended it. */
  readonly exit: number | null;
  readonly timedOut: boolean;
}

/** What was seen of a client under a script. */
export interface Play {
  readonly script: string;
  readonly reached: number;
  readonly requests: readonly Note[];
  /** The command that sent the requests, where it is known. */
  readonly command?: CommandEnd;
  /** Why the play proves nothing about the client. */
  readonly failure?: string;
  /** Observations about the upstream, which change no verdict. */
  readonly remarks?: readonly string[];
}

/** The digest by which notes tell requests apart. */
export function digest(content: string | Buffer): string {
  return hash('sha256', content, 'base64url').slice(0, DIGEST_CHARACTERS);
}

/** The digest of an Idempotency-Key; `"k"` and `k` are the same one. */
export function notedKey(header: string | undefined): string | null {
  return header === undefined ? null : digest(header.replace(/^"(.*)"$/, '$1'));
}

/** The time by which a request may be early: timers are not exact, and neither are networks. */
export const TOLERANCE_MS = 100;
