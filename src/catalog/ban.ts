import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';
import type { Moment } from '../stdx/time.ts';

/** The lengths of the first ban, of the next ones in a row, and of all further ones. */
export const BAN_SECONDS = [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 15 * MINUTE_SECONDS, HOUR_SECONDS] as const;
/** After this long without a ban, a key starts over at the shortest. */
const BAN_MEMORY_SECONDS = DAY_SECONDS;

/** A temporary ban of a key as it is stored. Moments are Unix seconds. */
export interface StoredBan {
  readonly startedAt: number;
  readonly endsAt: number;
  /** 1 for a first ban; each further one without a ban-free day in between is one higher, and longer. */
  readonly level: number;
  readonly reason: string;
}

/** A ban in a process: `ends` is the steady second until which it enforces the ban. */
export interface Ban extends StoredBan {
  readonly ends: number;
}

export interface KeyBan extends StoredBan {
  readonly keyId: string;
}

export interface PastBan extends StoredBan {
  /** When an operator lifted it; null if none did. */
  readonly liftedAt: number | null;
}

/**
 * A ban that a process decided on. `answered` has the rest if a client was answered with it before it was stored: it is
 * stored as it was answered.
 */
export interface DecidedBan extends Pick<StoredBan, 'startedAt' | 'reason'> {
  readonly answered?: Pick<StoredBan, 'endsAt' | 'level'>;
}

/** A ban that begins now, one level above the last one unless that ended a day ago. */
export function nextBan(last: StoredBan | null | undefined, { startedAt, reason }: DecidedBan): StoredBan {
  const isInRow = last && startedAt - last.endsAt < BAN_MEMORY_SECONDS;
  const level = isInRow ? Math.min(last.level + 1, BAN_SECONDS.length) : 1;
  return { startedAt, endsAt: startedAt + (BAN_SECONDS[level - 1] ?? 0), level, reason };
}

/** A ban as it is stored now: a clock that was set back does not make it longer than it is from now on. */
export function cappedBan(ban: StoredBan, now: number): StoredBan {
  const { startedAt, endsAt } = ban;
  return startedAt <= now ? ban : { ...ban, startedAt: now, endsAt: now + endsAt - startedAt };
}

/** A ban as the process enforces it from the moment at which it reads it. */
export function enforced(ban: StoredBan, { unix, steady }: Moment): Ban {
  const capped = cappedBan(ban, unix);
  return { ...capped, ends: steady + capped.endsAt - unix };
}

/** The ban, if it runs at a moment. */
export function runningBan(ban: Ban | null, { steady }: Pick<Moment, 'steady'>): Ban | undefined {
  return ban !== null && steady < ban.ends ? ban : undefined;
}

/** The ban of a key, if it runs at a Unix second, for operators. */
export function banAt({ ban }: { readonly ban: Ban | null }, now: number): Ban | undefined {
  return ban !== null && now < ban.endsAt ? ban : undefined;
}
