import { hash } from 'node:crypto';
import type { Static } from 'typebox';

export const DIGEST_CHARACTERS = 22;

/** The requests of a rehearsal that are noted. */
export const NOTES_MAX = 10_000;

const flag = { type: 'boolean' } as const;
const number = { type: 'number' } as const;
const text = { type: 'string', maxLength: 4_096 } as const;
const textOrNull = { type: ['string', 'null'], maxLength: 4_096 } as const;
const numberOrNull = { type: ['number', 'null'] } as const;

const NOTE_MEMBERS = {
  at: number,
  /** When the answer ended, or its connection did. */
  answeredAt: number,
  /** By how many seconds the clock was turned when the request came. */
  turnedBy: number,
  method: text,
  /** The template of the path, or the path itself where routes are unknown. */
  route: text,
  target: text,
  /** A digest; null without a body. */
  body: textOrNull,
  /** A digest; null without the header. */
  idempotencyKey: textOrNull,
  /** A digest of the credentials, which a client may renew after a refusal; null where every request has the same. */
  credentials: textOrNull,
  /** The step that it consumed, as it is written; null for none. */
  step: textOrNull,
  /** True if it came while a `limit`, `quota` or `ban` was in force, and so consumed no step. */
  isEarly: flag,
  /** Null if no answer was sent. */
  status: numberOrNull,
  /** The seconds that the answer asked to wait, from `answeredAt` on; fractional for a date. */
  retryAfter: numberOrNull,
  /** True if all of the answer was sent. */
  isDelivered: flag,
  /** True if the operation was carried out. */
  isDone: flag,
  /** True if it created a resource, which the replay of an earlier outcome does not. */
  hasCreated: flag,
} as const;

/**
 * The record of a request in a rehearsal. The digests tell whether two requests are the same; the Idempotency-Key and
 * the body themselves are never kept. Moments are milliseconds of the machine's monotonic clock, which starts at Unix
 * time and is never turned.
 */
export type Note = { readonly [Member in keyof typeof NOTE_MEMBERS]: Static<(typeof NOTE_MEMBERS)[Member]> };

const CommandEnd = {
  type: 'object',
  required: ['exit', 'timedOut'],
  properties: {
    /** Null if a signal ended it. */
    exit: numberOrNull,
    timedOut: flag,
  },
} as const;
export type CommandEnd = Readonly<Static<typeof CommandEnd>>;

/** A rehearsal as `rehearse run --json` prints it, as far as it is shown again. */
export const PrintedRehearsal = {
  type: 'object',
  required: ['keyId', 'script', 'reached', 'requests'],
  properties: {
    /** Null for a rehearsal before another API. */
    keyId: textOrNull,
    script: text,
    reached: { type: 'integer', minimum: 0 },
    requests: {
      type: 'array',
      maxItems: NOTES_MAX,
      items: { type: 'object', required: Object.keys(NOTE_MEMBERS), properties: NOTE_MEMBERS },
    },
    /** The command that sent the requests, where it is known. */
    command: CommandEnd,
    /** Why the rehearsal proves nothing about the client. */
    failure: text,
    /** Observations about the upstream, which change no verdict. */
    remarks: { type: 'array', maxItems: 20, items: text },
  },
} as const;

export interface Rehearsed extends Readonly<Omit<Static<typeof PrintedRehearsal>, 'requests'>> {
  readonly requests: readonly Note[];
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
