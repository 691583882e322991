import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';
import type { Moment } from '../stdx/time.ts';

/** The lengths of the first ban, of the next ones in a row, and of all further ones. */
export const BAN_SECONDS = [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 15 * MINUTE_SECONDS, HOUR_SECONDS] as const;
/** After this long without a ban, a key starts over at the shortest. */
const BAN_MEMORY_SECONDS = DAY_SECONDS;

/** A temporary ban of a key. Moments are Unix seconds. */
export interface Ban {
  readonly startedAt: number;
  readonly endsAt: number;
  /** 1 for a first ban; each further one without a ban-free day in between is one higher, and longer. */
  readonly level: number;
  readonly reason: string;
}

/** A ban that this process enforces until the steady second `ends`. */
export interface RunningBan extends Ban {
  readonly ends: number;
}

/** A ban that begins now, one level above the last one unless that ended a day ago. */
export function nextBan(last: Ban | null | undefined, { startedAt, reason }: Pick<Ban, 'startedAt' | 'reason'>): Ban {
  const isInRow = last && startedAt - last.endsAt < BAN_MEMORY_SECONDS;
  const level = isInRow ? Math.min(last.level + 1, BAN_SECONDS.length) : 1;
  return { startedAt, endsAt: startedAt + (BAN_SECONDS[level - 1] ?? 0), level, reason };
}

/** A ban as it is stored now: a clock that was set back does not make it longer than it is from now on. */
export function cappedBan(ban: Ban, now: number): Ban {
  const { startedAt, endsAt } = ban;
  return startedAt <= now ? ban : { ...ban, startedAt: now, endsAt: now + endsAt - startedAt };
}

/** A ban as the process enforces it from the moment at which it reads it. */
export function enforced(ban: Ban, { unix, steady }: Moment): RunningBan {
  const capped = cappedBan(ban, unix);
  return { ...capped, ends: steady + capped.endsAt - unix };
}

/** The ban, if it runs at a moment. */
export function runningBan(ban: RunningBan | null, { steady }: Pick<Moment, 'steady'>): RunningBan | undefined {
  return ban !== null && steady < ban.ends ? ban : undefined;
}

/** The ban of a key, if it runs at a Unix second, for operators. */
export function banAt({ ban }: { readonly ban: Ban | null }, now: number): Ban | undefined {
  return ban !== null && now < ban.endsAt ? ban : undefined;
}
