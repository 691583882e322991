import type { Operator } from './audit.ts';

/** The counts of both windows of a key. Moments are Unix seconds, `day` is days since 1970. */
export interface WindowCounts {
  readonly keyId: string;
  readonly minuteEnds: number;
  readonly minuteUsed: number;
  readonly day: number;
  readonly dayUsed: number;
}

/** A temporary ban of a key. Moments are Unix seconds. */
export interface Ban {
  readonly keyId: string;
  readonly startedAt: number;
  readonly endsAt: number;
  /** 1 for a first ban; each further one without a ban-free day in between is one higher, and longer. */
  readonly level: number;
  readonly reason: string;
}

/** A ban that an operator ended at a moment of their own clock, in Unix seconds. */
export interface LiftedBan extends Ban {
  readonly liftedAt: number;
}

/** How a ban came to be stored. */
export interface BanOrigin {
  /** One attempt at storing it, however often it is retried: it is stored once. */
  readonly attempt?: string;
  /** The `liftedAt` of the last lift of the key that was followed before the decision: it does not end this ban. */
  readonly followedLift?: number | undefined;
}

export interface LimiterMemory {
  readonly counts: WindowCounts | undefined;
  /** The key's last ban that was not lifted, active or expired. */
  readonly ban: Ban | undefined;
}

/** What several instances that share a counter remember beside it. */
export interface SharedMemory extends LimiterMemory {
  /** The start of the key's last ban that was lifted. */
  readonly lifted: number | undefined;
}

export interface LimitStorage {
  /** Reads the state from which a limiter resumes counting a key. */
  memory(keyId: string): Promise<LimiterMemory>;
  /** The same of some hundreds of keys at once, in their order, for instances that share a counter. */
  memories(keyIds: readonly string[]): Promise<SharedMemory[]>;
  /** Replaces the counts of each key named. */
  saveCounts(counts: readonly WindowCounts[]): Promise<void>;
  /**
   * Raises the counts of each key, never lowers them: per window, a later one replaces the stored one, the greater
   * count of the same one wins, and an earlier one is ignored. So several instances may save in any order.
   */
  raiseCounts(counts: readonly WindowCounts[]): Promise<void>;
  /** Shifts the open windows and the bans by the seconds that the system clock was stepped. */
  move(seconds: number, attempt?: string): Promise<void>;
  /**
   * Stores a ban. If the key's ban was lifted after this one was decided by another instance, it is stored as lifted:
   * an operator lifts what keeps a client out, whatever is still on its way to storage.
   */
  insertBan(ban: Ban, origin?: BanOrigin): Promise<void>;
  /** The bans that have not ended by `now` and were not lifted. */
  listBans(now: number): Promise<Ban[]>;
  /** The bans that were lifted and would not have ended by `now`. */
  listLiftedBans(now: number): Promise<LiftedBan[]>;
  /** Ends the key's active ban, so that it does not lengthen later ones. False without an active ban. */
  liftBan(keyId: string, now: number, by: Operator): Promise<boolean>;
  /** The bans of a key, active, expired or lifted, newest first. */
  banHistory(keyId: string, limit: number): Promise<(Ban & { readonly liftedAt: number | null })[]>;
}
