import type { Operator } from './audit.ts';

/** An open session of the console. Moments are Unix seconds. */
export interface ConsoleSession {
  /** Tells it apart without opening it. */
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

/** The console's logins and sessions, by the hashes of their tokens, so that whoever reads the database opens none. */
export interface SessionStorage {
  /** Offers a login that opens one session until `endsAt`. */
  offer(loginHash: string, login: { endsAt: number; actor: string }): Promise<void>;
  /** Spends a login and opens a session for it; undefined if there is no such login, it has ended or was spent. */
  open(loginHash: string, session: NewSession): Promise<ConsoleSession | undefined>;
  /** A session that is still open. */
  find(hash: string, now: number): Promise<ConsoleSession | undefined>;
  /** The sessions that are open, the newest first. */
  list(now: number): Promise<ConsoleSession[]>;
  /** Ends a session by its id. False if it was not open. */
  revoke(id: string, now: number, by: Operator): Promise<boolean>;
}
