import { HOUR_SECONDS } from '../../stdx/duration.ts';
import { checkExpiry, checkName, hasChecksum, hashSecret, mint, newId, SECRET_PREFIX_CHARACTERS } from '../api-key.ts';
import type { Operator } from '../audit.ts';
import { invalid } from '../error.ts';
import { quote } from '../validate.ts';

/** The access of operators: roles, tokens of the API, sessions of the console. */

/** The roles of operators; each may also do what those before it may. */
export const ROLES = ['viewer', 'keys', 'admin'] as const;
export type Role = (typeof ROLES)[number];

const TOKEN_PREFIX = 'petcat_op_';

/** The form of a token of the operator API. */
export const TOKEN_PATTERN = /^petcat_op_[0-9A-Za-z]{36}$/;

/** The time that a session stays open without use. */
export const SESSION_IDLE_SECONDS = HOUR_SECONDS;

/** A token of the operator API as stored, without its secret. Moments are Unix seconds. */
export interface OperatorToken {
  readonly id: string;
  /** The actor in the audit. */
  readonly name: string;
  /** The visible beginning of the secret. */
  readonly prefix: string;
  readonly role: Role;
  /** The actor of its creation; null if the audit does not have it. */
  readonly issuedBy: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** True if a role may do what needs another. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The role with this name. Throws `validation_failed`. */
export function roleNamed(text: string): Role {
  const role = ROLES.find((name) => name === text);
  if (role) return role;
  throw invalid(`There is no role ${quote(text)}; the roles are ${ROLES.join(', ')}`);
}

/** Issues a token with its secret, which exists nowhere else. Throws `validation_failed`. */
export async function issueToken(
  { storage, now, by }: { readonly storage: { readonly tokens: TokenStorage }; now: number; by: Operator },
  { name, role, expiresAt = null }: { name: string; role: Role; expiresAt?: number | null },
): Promise<{ token: OperatorToken; secret: string }> {
  checkName(name, 'token');
  checkExpiry(expiresAt, now, 'token');
  const secret = mint(TOKEN_PREFIX);
  const id = newId('op_');
  const prefix = secret.slice(0, SECRET_PREFIX_CHARACTERS);
  const token = { id, name, prefix, role, issuedBy: by.actor, createdAt: now, expiresAt, revokedAt: null };
  await storage.tokens.insert(token, hashSecret(secret), by);
  return { token, secret };
}

/** True if a text could have been issued as a token; rejects typos without a look-up. */
export function couldBeToken(text: string): boolean {
  return TOKEN_PATTERN.test(text) && hasChecksum(text);
}

/** True if a token may be used now. */
export function isTokenUsable({ expiresAt, revokedAt }: OperatorToken, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now < expiresAt);
}

/** The tokens of the operator API, stored by hash. */
export interface TokenStorage {
  insert(token: OperatorToken, hash: string, by: Operator): Promise<void>;
  /** The token with this hash, usable or not. */
  find(hash: string): Promise<OperatorToken | undefined>;
  /** Every token, newest first. */
  list(): Promise<OperatorToken[]>;
  /** Revokes for good; a repeat keeps the first moment. Undefined if the id is unknown. */
  revoke(id: string, now: number, by: Operator): Promise<OperatorToken | undefined>;
  /** Revokes the tokens of exactly this name, and those that were issued by it. */
  revokeAll(name: string, now: number, by: Operator): Promise<OperatorToken[]>;
}

/** An open session of the console. Moments are Unix seconds. */
export interface ConsoleSession {
  /** Identifies the session without granting access to it. */
  readonly id: string;
  /** Who asked for the login: the system's user, or a name that was given. */
  readonly actor: string;
  readonly role: Role;
  readonly openedAt: number;
  /** The latest moment at which it may end; earlier if it is idle. */
  readonly endsAt: number;
  readonly lastSeenAt: number;
}

export interface NewSession extends Pick<ConsoleSession, 'actor' | 'role' | 'endsAt'> {
  readonly hash: string;
  readonly now: number;
  /** The system's user, where the actor is a name that was given. */
  readonly user?: string;
  /** The newest entry of the audit when the login was offered. */
  readonly offeredAfter: number;
}

/** The console's sessions, stored by token hash, so that reading the database grants no access. */
export interface SessionStorage {
  /** Opens a session; undefined if those of its actor were ended since its login was offered. */
  open(session: NewSession): Promise<ConsoleSession | undefined>;
  /** Finds an open session: not ended, and used within `SESSION_IDLE_SECONDS`. */
  find(hash: string, now: number): Promise<ConsoleSession | undefined>;
  touch(id: string, now: number): Promise<void>;
  /** The open sessions, newest first. */
  list(now: number): Promise<ConsoleSession[]>;
  /** Ends a session by its id. False if it was not open. */
  revoke(id: string, now: number, by: Operator): Promise<boolean>;
  /** Ends the sessions of exactly this actor, and with them logins that were offered and not used yet. */
  revokeAll(actor: string, now: number, by: Operator): Promise<ConsoleSession[]>;
}
