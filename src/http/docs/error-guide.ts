import type { AnyErrorCode } from '../../catalog/error.ts';
import { shippedFile } from '../../shipped.ts';

export interface ErrorGuide {
  /** One sentence. */
  readonly meaning: string;
  readonly cause: string;
  /** Advice to the caller. */
  readonly action: string;
  /** A message of the public API, if it has the code. */
  readonly message?: string;
}

/** A code on the page of errors. */
const SECTION =
  /^### `(?<code>\w+)`\n\n\*\*\d+\*\* (?<meaning>.+)\n\n- \*\*Cause:\*\* (?<cause>.+)\n- \*\*Remedy:\*\* (?<action>.+)\n- \*\*Message:\*\* (?<message>.+)$/gm;

/** Documents every error code: those of the public API by the page of errors, then those of the operator's alone. */
export const ERROR_GUIDE = {
  ...sectionsOf(shippedFile('http/docs/pages/errors.md').toString()),
  missing_token: {
    meaning: 'The request has no token.',
    cause: 'The Authorization header is missing, duplicated, or not a bearer token.',
    action: 'Send “Authorization: Bearer” and your token.',
  },
  invalid_token: {
    meaning: 'The token is not valid.',
    cause: 'The token is mistyped, revoked or expired, or it is an API key. The response does not say which.',
    action: 'Check that the token was copied completely; otherwise issue another one.',
  },
  insufficient_role: {
    meaning: 'The role of the token does not suffice.',
    cause: 'The operation needs another role, which the message names.',
    action: 'Use a token with this role.',
  },
  key_revoked: {
    meaning: 'The key is revoked, which is final.',
    cause: 'It was revoked before this request.',
    action: 'Issue a new key.',
  },
  category_in_use: {
    meaning: 'The category has pets, so it was not deleted.',
    cause: 'At least one pet belongs to it.',
    action: 'Keep the category, or rename it.',
  },
  misdirected_request: {
    meaning: 'The operator listener is not called by this name.',
    cause: 'The Host header is no address, not localhost, and not in OPERATOR_HOSTS.',
    action: 'Call the listener by its address, or add the name to OPERATOR_HOSTS.',
  },
} as Readonly<Record<AnyErrorCode, ErrorGuide>>;

function sectionsOf(page: string): Record<string, ErrorGuide> {
  const sections = [...page.matchAll(SECTION)].map(({ groups }) => groups as unknown as ErrorGuide & { code: string });
  return Object.fromEntries(sections.map(({ code, ...guide }) => [code, guide]));
}
