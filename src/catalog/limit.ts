import type { Operator } from './audit.ts';

/** What both windows of a key have counted. Moments are Unix seconds, `day` is days since 1970. */
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
  /** 1 for a first ban; each further one without a quiet day between is one higher, and longer. */
  readonly level: number;
  readonly reason: string;
}

export interface LimiterMemory {
  readonly counts: WindowCounts | undefined;
  /** The key's last ban that was not lifted, over or not. */
  readonly ban: Ban | undefined;
}

export interface LimitStorage {
  /** What a limiter needs to go on with a key where it, or its predecessor, stopped. */
  memory(keyId: string): Promise<LimiterMemory>;
  /** Replaces the counts of each key named. */
  saveCounts(counts: readonly WindowCounts[]): Promise<void>;
  /**
   * Brings the counts of each key up to these, never down: in each of the two windows a later one replaces, of the same
   * the greater count stays, an earlier one is ignored. So several instances may tell what they saw in any order.
   */
  raiseCounts(counts: readonly WindowCounts[]): Promise<void>;
  /** Moves the open windows and the bans by so many seconds, after the system clock was stepped by them. */
  move(seconds: number): Promise<void>;
  insertBan(ban: Ban): Promise<void>;
  /** The bans that have not ended by `now` and were not lifted. */
  listBans(now: number): Promise<Ban[]>;
  /** Ends the key's ban and forgets it for the length of later ones. False if it had none that was still on. */
  liftBan(keyId: string, now: number, by: Operator): Promise<boolean>;
  /** The bans of a key, over, lifted or on, the newest first. */
  banHistory(keyId: string, limit: number): Promise<(Ban & { readonly liftedAt: number | null })[]>;
}
