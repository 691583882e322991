import { promise } from './promise.ts';

const DAY_SECONDS = 86_400;
const LENGTHS = [60, 300, 900, 3_600];
/** A lifted ban is followed within a second. */
const FOLLOWED_MS = 1_000 + 200;

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

interface BanMoment {
  readonly nowMs: number;
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

  /** A ban was decided, or set in Redis. Throws if it is longer or shorter than it must be. */
  add(ban: Pick<ModelBan, 'keyId' | 'starts' | 'ends' | 'level'> & { life?: object }, moment: BanMoment): void {
    const { nowMs, mayBeNew } = moment;
    const known = this.all.find(({ keyId, starts }) => keyId === ban.keyId && starts === ban.starts);
    if (known) {
      known.life ??= ban.life;
      // Another one in the second of one that was lifted.
      known.liftedMs = undefined;
      return;
    }
    const before = this.all.filter(({ keyId }) => keyId === ban.keyId);
    // One that is lifted in its last moments may be over before the process learns of that.
    const most = levelAfter(
      before.filter(({ ends, liftedMs }) => mayBeNew || liftedMs === undefined || liftedMs > (ends - 2) * 1_000),
      ban.starts,
    );
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
    promise(Math.abs(ban.starts - nowMs / 1_000) <= 2, () => `${ban.keyId}: a ban that does not start now`);
    this.all.push({
      ...ban,
      life: ban.life,
      storedMs: undefined,
      sharedMs: undefined,
      liftedMs: undefined,
      liftBegunMs: undefined,
      mayBeLost: false,
      mayBeShifted: false,
    });
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

  /** Throws if a client was told of a ban that was lifted or is over. False if it is not known why it was imposed. */
  checkBanned({ keyId, until, askedMs, now, roughUntilMs }: BannedAnswer): boolean {
    const ofKey = this.all.filter((each) => each.keyId === keyId);
    const longest = LENGTHS.at(-1) ?? 0;
    promise(until - now <= longest, () => `${keyId}: banned for ${until - now} s`);
    const shifted = ofKey.findLast(({ mayBeShifted }) => mayBeShifted);
    if (shifted && until - now <= shifted.ends - shifted.starts) return true;
    const ban = ofKey.findLast(({ ends }) => Math.abs(ends - until) <= 1);
    // Until it learns that another process was faster, one that decides on a ban tells of its own.
    if (!ban) {
      const isNew = LENGTHS.some((length) => Math.abs(until - now - length) <= 2);
      return isNew && ofKey.some(({ ends }) => now < ends);
    }
    promise(now <= ban.ends + 1, () => `${keyId}: still banned at ${now}, after the ban's end at ${ban.ends}`);
    const { liftedMs } = ban;
    const mayBeKnown = liftedMs === undefined || askedMs < Math.max(liftedMs, roughUntilMs) + FOLLOWED_MS;
    promise(mayBeKnown, () => `${keyId}: banned until ${until}, although the ban was lifted`);
    return true;
  }
}

/** How long the next ban is after some: longer than the last one, or the shortest after a day without. */
function levelAfter(bans: readonly ModelBan[], starts: number): number {
  const last = bans.toSorted((one, other) => one.starts - other.starts).at(-1);
  return !last || starts - last.ends >= DAY_SECONDS ? 1 : Math.min(last.level + 1, LENGTHS.length);
}

export interface BannedAnswer {
  readonly keyId: string;
  /** Seconds of true time. */
  readonly until: number;
  readonly now: number;
  readonly askedMs: number;
  readonly roughUntilMs: number;
}
