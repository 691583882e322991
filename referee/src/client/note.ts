import { hash } from 'node:crypto';

export const DIGEST_CHARACTERS = 22;

/** The requests of a play that are noted; later ones are played, and not judged. */
export const NOTES_MAX = 10_000;

/** The time by which a request may be early: timers are not exact, and neither are networks. */
export const TOLERANCE_MS = 100;

/**
 * The record of a request. Digests show whether two requests are the same; no byte of a body is kept. Moments are
 * milliseconds of the monotonic clock, which starts at Unix time.
 */
export interface Note {
  readonly at: number;
  /** When the answer ended, or its connection did. */
  readonly answeredAt: number;
  readonly method: string;
  /** The path, shortened. */
  readonly path: string;
  /** Method, path with `{}` for the segments that name one resource, and the operation where an address has many. */
  readonly kind: string;
  /** A digest of method, path, query and body. */
  readonly call: string;
  /** A digest; empty without a body, null for one that did not arrive, which is compared with nothing. */
  readonly body: string | null;
  /** A digest; null without a key. */
  readonly idempotencyKey: string | null;
  /** True with an If-Match, by which a repetition fails where the first try was carried out. */
  readonly isConditional: boolean;
  /** A digest. */
  readonly credentials: string;
  /** The connection that it came on, by number. */
  readonly connection: number;
  readonly connectedAt: number;
  /** The step that it met, as it is written; null for none. */
  readonly step: string | null;
  /** True if it came while a limit, quota or ban was in force, and so spent no step. */
  readonly isEarly: boolean;
  /** Null if no answer was sent. */
  readonly status: number | null;
  /** The seconds that the answer asked to wait, from `answeredAt` on; fractional for a date. */
  readonly retryAfter: number | null;
  /** True if all of the answer was sent. */
  readonly isDelivered: boolean;
  /** True if the upstream carried it out. */
  readonly isDone: boolean;
  /** True if the upstream answered it well, with JSON. */
  readonly hasJson: boolean;
  /** True if the upstream's answer told when its limit resets. */
  readonly hasReset: boolean;
}

export interface CommandEnd {
  /** Null if a signal ended it. */
  readonly exit: number | null;
  readonly timedOut: boolean;
}

/** What was seen of a client under a script. */
export interface Play {
  readonly script: string;
  /** The steps that were met, of how many. */
  readonly reached: number;
  readonly steps: number;
  readonly requests: readonly Note[];
  /** The command that sent the requests; absent for a client that nobody started. */
  readonly command?: CommandEnd;
  /** The reason why the play proves nothing about the client. */
  readonly failure?: string;
  /** Observations that change no verdict. */
  readonly remarks: readonly string[];
}

/** The digest by which notes tell requests apart. */
export function digest(content: string | Buffer): string {
  return hash('sha256', content, 'base64url').slice(0, DIGEST_CHARACTERS);
}

const NUMBER_OR_UUID = /^(\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const OPAQUE = /^(?=.*\d).{12,}$/;
const KIND_CHARACTERS_MAX = 100;

/**
 * The kind of a request: its method, its path with `{}` for a number, a UUID, or a long segment with a digit, and its
 * operation.
 */
export function kindOf(method: string, path: string, operation?: string): string {
  const segments = path.split('/').map((each) => (NUMBER_OR_UUID.test(each) || OPAQUE.test(each) ? '{}' : each));
  const address = `${method} ${segments.join('/')}`.slice(0, KIND_CHARACTERS_MAX);
  return operation === undefined ? address : `${address} ${operation}`;
}

/** A request in words: its method, path and operation. */
export function nameOf({ method, path, kind }: Pick<Note, 'method' | 'path' | 'kind'>): string {
  return [method, path, ...kind.split(' ').slice(2)].join(' ');
}
