/**
 * White space by Unicode's White_Space property and U+FEFF, as plain characters, so that the contract's pattern means
 * the same in every language: `\s` differs in each, and PCRE2, RE2 and Perl have no `\u`.
 */
const WHITE_SPACE = ' \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF';
const CONTROL = '\\x00-\\x1F';

/** Says which characters no text may hold, for messages and pages. */
export const NO_CONTROL = 'no C0 control character (U+0000 to U+001F)';

/** A display name: not blank, no control characters. Shared by every named resource. */
export const Name = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  // Linear by construction: leading white space, the first other character, then any allowed characters.
  pattern: `^[${WHITE_SPACE}]*[^${CONTROL}${WHITE_SPACE}][^${CONTROL}]*$`,
  'x-violation': {
    [`^[${WHITE_SPACE}]*$`]: 'send at least one character that is not white space',
    [`[${CONTROL}]`]: `send ${NO_CONTROL}`,
  },
  'x-well-formed': true,
} as const;

/** A resource's id; within the integers that every JSON parser reads exactly (RFC 8259, section 6). */
export const Id = {
  type: 'integer',
  format: 'int64',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  example: 1,
} as const;

/** A place in a list that is ordered by a number and an id. */
export interface Place {
  readonly number: number;
  readonly id: string;
}

/** Selects a page of a list with ascending ids. */
export interface PageQuery {
  /** Only ids above this one. */
  readonly after: number;
  readonly limit: number;
}

/** A resource with the moment (Unix seconds) and the key that made it; an import's is its way, such as `cli`. */
export type Made<T> = T & { readonly createdAt: number; readonly keyId: string };

/** Selects a page of what was made, newest first: only ids below one, by a key, by the keys of an owner. */
export interface NewestQuery<T> {
  readonly below: number;
  readonly limit: number;
  readonly key?: string | undefined;
  readonly owner?: string | undefined;
  isWanted(made: Made<T>): boolean;
}

/**
 * Decides by the present state of a resource whether it may be changed: throws `precondition_failed` if not. Storage
 * calls it in the transaction that changes, before anything is written.
 */
export type Precondition<T> = (present: T) => void;
