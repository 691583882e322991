import { promise } from './promise.ts';

const DAY_SECONDS = 86_400;
const LENGTHS = [60, 300, 900, 3_600];
/** A lifted ban is followed within a second. */
const FOLLOWED_MS = 1_000 + 200;
/** From the second at which a ban starts until it is told, unless the process is suspended meanwhile. */
const TOLD_MS = 2_000;
/** A ban that ended longer ago is not lifted, by whatever clock. */
const ENDED_SECONDS = 5;
/** As long while storage fails, which is asked whether another ban was lifted. */
const TOLD_ROUGH_MS = 8_000;

export interface ModelBan {
  readonly keyId: string;
  /** The process that imposed it, once it told. */
  life: object | undefined;
  /** Seconds of true time, and how long it lasts. */
  readonly starts: number;
  readonly ends: number;
  readonly level: number;
  /** When it was first seen in the database, and in Redis. */
  storedMs: number | undefined;
  sharedMs: number | undefined;
  liftedMs: number | undefined;
  /** When the operator began to lift it: from then on it may be gone. */
  liftBegunMs: number | undefined;
  /** Its process ended before it was stored: it may be lost. */
  mayBeLost: boolean;
  /** The clock was stepped while no process was there to move it: it may end sooner, or later by its length. */
  mayBeShifted: boolean;
}

interface Lift {
  readonly keyId: string;
  readonly begunMs: number;
  endedMs: number;
  wasMade: boolean;
}

/** When a ban was decided or set. */
export interface BanMoment {
  readonly nowMs: number;
  readonly roughUntilMs: number;
  /** Whether the process may not know of earlier bans, or not that they were lifted. */
  readonly mayBeNew: boolean;
}

export interface Admitted {
  readonly keyId: string;
  readonly life: object;
  readonly askedMs: number;
  /** Seconds of true time. */
  readonly now: number;
  /** Whether the process must know of a ban that another one imposed. */
  readonly knows: (ban: ModelBan) => boolean;
}

/** The bans of all keys, from the moment at which they were decided. */
export class BanModel {
  readonly all: ModelBan[] = [];
  readonly #runningMs: RunningMs;
  readonly #lifts: Lift[] = [];

  constructor(runningMs: RunningMs) {
    this.#runningMs = runningMs;
  }

  /** A ban was decided, or set in Redis. Throws if it is longer or shorter than it must be. */
  add(ban: Pick<ModelBan, 'keyId' | 'starts' | 'ends' | 'level'> & { life?: object }, moment: BanMoment): void {
    const { mayBeNew, nowMs, roughUntilMs } = moment;
    // Several processes may ban a key in one second.
    const known = this.all.find(
      ({ keyId, starts, level }) => keyId === ban.keyId && starts === ban.starts && level === ban.level,
    );
    if (known) {
      known.life ??= ban.life;
      return;
    }
    const before = this.all.filter(({ keyId }) => keyId === ban.keyId);
    // One that is lifted in its last moments may be over before the process learns of that, and while storage fails
    // Redis is believed, which may still have it.
    const mayCount = ({ ends, liftedMs = Number.POSITIVE_INFINITY }: ModelBan) =>
      liftedMs > (ends - 2) * 1_000 || nowMs <= roughUntilMs;
    const kept = before.filter(mayCount);
    // Of several processes that ban at once, each may know only of the last ban before.
    const most = mayBeNew
      ? Math.max(1, ...before.map((each) => levelAfter([each], ban.starts)))
      : levelAfter(kept, ban.starts);
    const certain = before.filter((each) => {
      return each.storedMs !== undefined && each.liftBegunMs === undefined && !each.mayBeLost;
    });
    const isShifted = before.some(({ mayBeShifted }) => mayBeShifted);
    const least = mayBeNew ? 1 : levelAfter(certain, ban.starts);
    promise(
      isShifted || (least <= ban.level && ban.level <= most),
      () => `${ban.keyId}: a ban of level ${ban.level}, not from ${least} to ${most}`,
    );
    const length = LENGTHS[ban.level - 1];
    promise(ban.ends - ban.starts === length, () => `${ban.keyId}: a ban of ${ban.ends - ban.starts} s, not ${length}`);
    promise(this.#startsNow(ban.starts, moment), () => `${ban.keyId}: a ban that does not start now`);
    this.all.push({
      ...ban,
      life: ban.life,
      storedMs: undefined,
      sharedMs: undefined,
      liftedMs: undefined,
      liftBegunMs: this.#lifts.find((lift) => mayLift(lift, ban, moment))?.begunMs,
      mayBeLost: false,
      mayBeShifted: false,
    });
  }

  /** Whether a key was banned just before a moment, or after it. */
  isNew(keyId: string, nowMs: number): boolean {
    return this.all.some((ban) => ban.keyId === keyId && this.#runningMs(ban.starts * 1_000, nowMs) < TOLD_MS);
  }

  /** Notes which bans are stored by now, and which ones Redis has. */
  see({ nowMs, stored, ahead, slack, inRedis }: SeenBans): void {
    for (const ban of this.all) {
      if (inRedis(ban.keyId).includes(`"startedAt":${ban.starts},`)) ban.sharedMs ??= nowMs;
      if (ban.storedMs !== undefined || ban.mayBeShifted) continue;
      const isStored = stored.some(({ key_id, started_at, level }) => {
        return key_id === ban.keyId && level === ban.level && Math.abs(started_at - ahead - ban.starts) <= slack;
      });
      if (!isStored) continue;
      ban.storedMs = nowMs;
      ban.mayBeLost = false;
      // It was stored before the lift, or as lifted.
      const wasLifted = this.#lifts.some(({ keyId, begunMs, wasMade }) => {
        return wasMade && keyId === ban.keyId && ban.starts <= Math.floor(begunMs / 1_000);
      });
      if (wasLifted) ban.liftedMs ??= nowMs;
    }
  }

  /** An operator begins to lift the ban of a key, which may be gone from now on. */
  beginLift(keyId: string, begunMs: number): (end: { nowMs: number; wasMade: boolean }) => void {
    const lift: Lift = { keyId, begunMs, endedMs: Number.POSITIVE_INFINITY, wasMade: false };
    this.#lifts.push(lift);
    const bans = this.all.filter((ban) => ban.keyId === keyId && ban.ends > begunMs / 1_000 - ENDED_SECONDS);
    for (const ban of bans) ban.liftBegunMs ??= begunMs;
    return ({ nowMs, wasMade }) => {
      lift.endedMs = nowMs;
      lift.wasMade = wasMade;
      for (const ban of bans) if (wasMade && ban.storedMs !== undefined) ban.liftedMs = nowMs;
    };
  }

  /** When the last lift of a key's ban began that every process must have followed by now. */
  followedLiftMs(
    keyId: string,
    { nowMs, roughUntilMs }: Pick<BanMoment, 'nowMs' | 'roughUntilMs'>,
  ): number | undefined {
    return this.#lifts.findLast((lift) => {
      return lift.keyId === keyId && lift.wasMade && Math.max(lift.endedMs, roughUntilMs) + FOLLOWED_MS < nowMs;
    })?.begunMs;
  }

  /** Throws if a ban was in force when a request was admitted. */
  checkAdmitted({ keyId, life, askedMs, now, knows }: Admitted): void {
    const ban = this.all.find(
      (each) =>
        each.keyId === keyId &&
        each.starts * 1_000 < askedMs - 1_000 &&
        now < each.ends - 1 &&
        each.liftBegunMs === undefined &&
        !each.mayBeLost &&
        (each.life === life || knows(each)),
    );
    promise(ban === undefined, () => `${keyId}: admitted at ${now}, during a ban until ${ban?.ends}`);
  }

  /** Throws if a client was told of a ban that is longer than any. */
  checkLength({ keyId, until, now }: Pick<BannedAnswer, 'keyId' | 'until' | 'now'>): void {
    const longest = LENGTHS.at(-1) ?? 0;
    promise(until - now <= longest, () => `${keyId}: banned for ${until - now} s`);
  }

  /** Throws if a client was told of a ban that was lifted or is over. False if it is not known why it was imposed. */
  checkBanned(answer: BannedAnswer): boolean {
    const { keyId, until, askedMs, now, roughUntilMs } = answer;
    const ofKey = this.all.filter((each) => each.keyId === keyId);
    this.checkLength(answer);
    const shifted = ofKey.findLast(({ mayBeShifted }) => mayBeShifted);
    if (shifted && until - now <= shifted.ends - shifted.starts) return true;
    const ban = ofKey.findLast(({ ends }) => Math.abs(ends - until) <= 1);
    // Until it learns that another process was faster, one that decides on a ban tells of its own.
    if (!ban) {
      const starts = LENGTHS.map((length) => until - length).find((start) => this.#startsNow(start, answer));
      return starts !== undefined && ofKey.some(({ ends }) => starts < ends);
    }
    promise(now <= ban.ends + 1, () => `${keyId}: still banned at ${now}, after the ban's end at ${ban.ends}`);
    const { liftedMs } = ban;
    const mayBeKnown = liftedMs === undefined || askedMs < Math.max(liftedMs, roughUntilMs) + FOLLOWED_MS;
    promise(mayBeKnown, () => `${keyId}: banned until ${until}, although the ban was lifted`);
    return true;
  }

  #startsNow(starts: number, { nowMs, roughUntilMs }: Pick<BanMoment, 'nowMs' | 'roughUntilMs'>): boolean {
    const startsMs = starts * 1_000;
    return Math.abs(this.#runningMs(startsMs, nowMs)) <= (roughUntilMs < startsMs ? TOLD_MS : TOLD_ROUGH_MS);
  }
}

/**
 * Whether a lift that began before a ban was decided may end that ban too: the lift was still under way, or the process
 * could not know of it yet, and so may have counted refusals of before. `LimitStorage.insertBan` then goes by the
 * clocks, which may be a second apart.
 */
function mayLift(
  { keyId, begunMs, endedMs }: Lift,
  ban: Pick<ModelBan, 'keyId' | 'starts'>,
  { nowMs, roughUntilMs }: BanMoment,
): boolean {
  if (keyId !== ban.keyId || nowMs < begunMs) return false;
  const isFollowed = Math.max(endedMs, roughUntilMs) + FOLLOWED_MS < nowMs;
  return nowMs <= endedMs || (!isFollowed && ban.starts <= Math.floor(begunMs / 1_000) + 1);
}

/** How long the next ban is after some: longer than the last one, or the shortest after a day without. */
function levelAfter(bans: readonly ModelBan[], starts: number): number {
  const last = bans.toSorted((one, other) => one.starts - other.starts).at(-1);
  return !last || starts - last.ends >= DAY_SECONDS ? 1 : Math.min(last.level + 1, LENGTHS.length);
}

export interface StoredBan {
  readonly key_id: string;
  readonly started_at: number;
  readonly level: number;
}

interface SeenBans {
  readonly nowMs: number;
  readonly stored: readonly StoredBan[];
  /** How far stored moments are ahead of true time, in seconds. */
  readonly ahead: number;
  /** How far a stored moment may be off, in seconds. */
  readonly slack: number;
  /** The value of a key in Redis. */
  readonly inRedis: (keyId: string) => string;
}

/** How long the processes were running between two moments. */
export type RunningMs = (fromMs: number, toMs: number) => number;

export interface BannedAnswer {
  readonly keyId: string;
  /** Seconds of true time. */
  readonly until: number;
  readonly now: number;
  readonly askedMs: number;
  readonly nowMs: number;
  readonly roughUntilMs: number;
}
