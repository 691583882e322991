import { HOUR_SECONDS } from '../../stdx/duration.ts';
import type { Operator } from '../audit.ts';
import type { Role } from './token.ts';

/** The time that a session stays open without use. */
export const SESSION_IDLE_SECONDS = HOUR_SECONDS;

/** An open session of the console. Moments are Unix seconds. */
export interface ConsoleSession {
  /** Identifies the session without granting access to it. */
  readonly id: string;
  /** The system user who asked for the login. */
  readonly actor: string;
  readonly role: Role;
  readonly openedAt: number;
  /** The latest moment at which it may end; earlier if it is idle. */
  readonly endsAt: number;
  readonly lastSeenAt: number;
}

export interface NewSession {
  readonly hash: string;
  readonly now: number;
  readonly endsAt: number;
}

/** The console's logins and sessions, stored by token hash, so that reading the database grants no access. */
export interface SessionStorage {
  /** Stores a login that opens one session until `endsAt`. */
  offer(loginHash: string, login: { endsAt: number; actor: string; role: Role }): Promise<void>;
  /** Uses up a login and opens its session; undefined if the login is unknown, expired or used. */
  open(loginHash: string, session: NewSession): Promise<ConsoleSession | undefined>;
  /** Finds an open session: not ended, and used within `SESSION_IDLE_SECONDS`. */
  find(hash: string, now: number): Promise<ConsoleSession | undefined>;
  touch(id: string, now: number): Promise<void>;
  /** The open sessions, newest first. */
  list(now: number): Promise<ConsoleSession[]>;
  /** Ends a session by its id. False if it was not open. */
  revoke(id: string, now: number, by: Operator): Promise<boolean>;
}
