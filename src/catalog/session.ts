import type { Operator } from './audit.ts';

/** An open session of the console. Moments are Unix seconds. */
export interface ConsoleSession {
  /** Identifies the session without granting access to it. */
  readonly id: string;
  /** The system user who asked for the login. */
  readonly actor: string;
  readonly openedAt: number;
  readonly endsAt: number;
}

export interface NewSession {
  readonly hash: string;
  readonly now: number;
  readonly endsAt: number;
}

/** The console's logins and sessions, stored by token hash, so that reading the database grants no access. */
export interface SessionStorage {
  /** Stores a login that opens one session until `endsAt`. */
  offer(loginHash: string, login: { endsAt: number; actor: string }): Promise<void>;
  /** Uses up a login and opens its session; undefined if the login is unknown, expired or used. */
  open(loginHash: string, session: NewSession): Promise<ConsoleSession | undefined>;
  /** Finds an open session. */
  find(hash: string, now: number): Promise<ConsoleSession | undefined>;
  /** The open sessions, newest first. */
  list(now: number): Promise<ConsoleSession[]>;
  /** Ends a session by its id. False if it was not open. */
  revoke(id: string, now: number, by: Operator): Promise<boolean>;
}
