import { promise } from './promise.ts';

const DAY_SECONDS = 86_400;
const LENGTHS = [60, 300, 900, 3_600];
/** A change is followed within a second, and the reads that follow it take some milliseconds. */
const FOLLOWED_MS = 1_000 + 300;
/** Two processes may read one second apart. */
const APART_MS = 1_500;

/** A ban that a process told of, or that the database has. */
export interface ModelBan {
  readonly keyId: string;
  /** The start as it is stored, which names it among the bans of its key. */
  readonly startedAt: number;
  readonly level: number;
  /** True time. */
  readonly endsMs: number;
  /** The process that decided on it, and when that answered with it. */
  readonly life: object | undefined;
  readonly answeredMs: number;
  /** When it was first seen in the database. */
  storedMs: number | undefined;
  /** When an operator began to lift it: from then on it may be gone. When that was done, if it was. */
  liftBegunMs: number | undefined;
  liftedMs: number | undefined;
  /** Its process ended before it was stored, or the database lost it before it was told. */
  mayBeLost: boolean;
}

export interface StoredBan {
  readonly key_id: string;
  readonly started_at: number;
  readonly ends_at: number;
  readonly level: number;
  readonly lifted_at: number | null;
}

/** A request that was admitted or refused for a ban. */
export interface Met {
  readonly keyId: string;
  readonly life: object;
  readonly askedMs: number;
  readonly nowMs: number;
  /** When the database, or a way to it, failed for the last time. */
  readonly roughUntilMs: number;
}

interface Lift {
  readonly keyId: string;
  readonly begunMs: number;
  endedMs: number;
}

/**
 * What is promised of bans: one that was answered is met by every process within a second of its commit, and by the one
 * that answered it at once; a lift ends it within a second, and voids what was counted or decided before; no key is
 * banned twice at once; a ban outlives restarts, and every Redis. Once a clock was stepped, by which bans are dated,
 * the process that answered a ban keeps it, and no more is promised.
 */
export class BanModel {
  readonly all: ModelBan[] = [];
  readonly #lifts: Lift[] = [];
  /** When the database went back last. */
  #lostMs = Number.NEGATIVE_INFINITY;
  /** Whether the clocks of the processes agree, and always did. */
  isDated = true;

  /** A process tells of a ban that it imposed. */
  add(
    ban: Pick<ModelBan, 'keyId' | 'startedAt' | 'level' | 'endsMs' | 'life'>,
    { nowMs, roughUntilMs }: Pick<Met, 'nowMs' | 'roughUntilMs'>,
  ): void {
    const length = (LENGTHS[ban.level - 1] ?? 0) * 1_000;
    const leftMs = ban.endsMs - nowMs;
    promise(leftMs <= length + APART_MS, () => `${ban.keyId}: a ban of level ${ban.level} with ${leftMs} ms left`);
    const known = this.#find(ban.keyId, ban.startedAt);
    if (known) this.all.splice(this.all.indexOf(known), 1);
    this.all.push({
      ...ban,
      answeredMs: nowMs,
      storedMs: known?.storedMs,
      // `startedAt` is by the clock of the process, which may have been stepped.
      liftBegunMs: known?.liftBegunMs ?? this.#voidingMs(ban.keyId, ban.endsMs - length, roughUntilMs),
      liftedMs: known?.liftedMs,
      mayBeLost: ban.endsMs - length < this.#lostMs,
    });
  }

  /** Notes which bans the database has. Throws if a key is banned twice at once, or too long or too briefly. */
  see(stored: readonly StoredBan[], { nowMs, roughUntilMs }: Pick<Met, 'nowMs' | 'roughUntilMs'>): void {
    for (const row of stored) this.#seeOne(row, { nowMs, roughUntilMs });
    if (!this.isDated) return;
    for (const [keyId, rows] of Map.groupBy(stored, ({ key_id }) => key_id)) {
      const kept = rows.filter(({ lifted_at }) => lifted_at === null).sort((a, b) => a.started_at - b.started_at);
      for (const [index, row] of kept.entries()) {
        const length = LENGTHS[row.level - 1];
        promise(row.ends_at - row.started_at === length, () => `${keyId}: a ban of ${row.ends_at - row.started_at} s`);
        const before = kept[index - 1];
        if (!before) continue;
        promise(before.ends_at <= row.started_at, () => `${keyId}: banned twice at ${row.started_at}`);
        // Of one that waited for storage the level is that which its process knew of.
        if (row.started_at * 1_000 <= roughUntilMs || this.#lifts.some((lift) => lift.keyId === keyId)) continue;
        const level = levelAfter(before, row.started_at);
        promise(row.level === level, () => `${keyId}: a ban of level ${row.level} instead of ${level}`);
      }
    }
  }

  /** A process ended without storing what it decided. */
  forget(life: object): void {
    for (const ban of this.all) ban.mayBeLost ||= ban.life === life && ban.storedMs === undefined;
  }

  /** The database went back to these: a ban that it has no more may end at any moment, and no lift is sure. */
  lose(stored: readonly StoredBan[], atMs: number): void {
    this.#lostMs = atMs;
    const kept = new Set(stored.map((row) => `${row.key_id} ${row.started_at}`));
    for (const ban of this.all) {
      if (!kept.has(`${ban.keyId} ${ban.startedAt}`)) ban.liftBegunMs ??= atMs;
      ban.liftedMs = undefined;
    }
    for (const lift of this.#lifts) lift.endedMs = Number.POSITIVE_INFINITY;
  }

  /**
   * An operator begins to lift what keeps a key out; it may be gone from now on. Or to reset its windows: that forgets
   * refusals, and what they led to, but no ban that is stored and runs by the clock of its process.
   */
  beginLift(keyId: string, begunMs: number, isReset = false): (end: { nowMs: number; isDone: boolean }) => void {
    const lift = { keyId, begunMs, endedMs: Number.POSITIVE_INFINITY };
    this.#lifts.push(lift);
    for (const ban of this.#of(keyId))
      if (!isReset || ban.storedMs === undefined || !this.isDated) ban.liftBegunMs ??= begunMs;
    return ({ nowMs, isDone }) => {
      if (!isDone) return;
      lift.endedMs = nowMs;
      if (isReset) return;
      for (const ban of this.#of(keyId)) if (ban.answeredMs <= begunMs) ban.liftedMs ??= nowMs;
    };
  }

  /** When the last lift of a key began that every process must have followed by now. */
  followedLiftMs(keyId: string, { nowMs, roughUntilMs }: Pick<Met, 'nowMs' | 'roughUntilMs'>): number | undefined {
    return this.#lifts.findLast((lift) => {
      return lift.keyId === keyId && Math.max(lift.endedMs, roughUntilMs) + FOLLOWED_MS < nowMs;
    })?.begunMs;
  }

  /** Whether a process need not have followed the last lift of a key by then. */
  mayMissLift(keyId: string, { askedMs, roughUntilMs }: Pick<Met, 'askedMs' | 'roughUntilMs'>): boolean {
    return this.#voidingMs(keyId, askedMs, roughUntilMs) !== undefined;
  }

  /** Whether a ban of a key ends after a moment. */
  isOn(keyId: string, nowMs: number): boolean {
    return this.#of(keyId).some(({ endsMs }) => nowMs < endsMs + APART_MS);
  }

  /** Throws if a ban was in force when a request was admitted. */
  checkAdmitted({ keyId, life, askedMs, nowMs, roughUntilMs }: Met): void {
    const ban = this.#of(keyId).find((each) => {
      if (each.liftBegunMs !== undefined || nowMs >= each.endsMs - APART_MS) return false;
      if (each.life === life) return each.answeredMs < askedMs;
      const { storedMs = Number.POSITIVE_INFINITY } = each;
      return this.isDated && Math.max(storedMs, roughUntilMs) + FOLLOWED_MS < askedMs;
    });
    promise(
      ban === undefined,
      () => `${keyId}: admitted, during a ban until ${new Date(ban?.endsMs ?? 0).toISOString()}`,
    );
  }

  /** Throws if a client was told of a ban that was lifted or is over. False if it is not known why it was imposed. */
  checkBanned({ keyId, askedMs, nowMs, roughUntilMs }: Met, untilMs: number): boolean {
    const longestMs = (LENGTHS.at(-1) ?? 0) * 1_000;
    promise(untilMs - nowMs <= longestMs + APART_MS, () => `${keyId}: banned for ${untilMs - nowMs} ms`);
    const told = this.#of(keyId).filter(({ endsMs }) => !this.isDated || Math.abs(endsMs - untilMs) <= APART_MS);
    const mayBeKnown = ({ liftedMs }: ModelBan) =>
      !this.isDated || liftedMs === undefined || askedMs < Math.max(liftedMs, roughUntilMs) + FOLLOWED_MS;
    promise(told.length === 0 || told.some(mayBeKnown), () => `${keyId}: banned, although the ban was lifted`);
    return told.length > 0;
  }

  /** Throws if a ban that was answered is missing in the database, although nothing is wrong with that any more. */
  checkEnd(): void {
    for (const { keyId, startedAt, storedMs, liftBegunMs, mayBeLost, endsMs } of this.all) {
      // Another ban may have been running when it was to be stored.
      const isOther = (each: ModelBan) =>
        each.keyId === keyId &&
        each.storedMs !== undefined &&
        each.startedAt * 1_000 < endsMs &&
        startedAt * 1_000 < each.endsMs;
      const isKept = storedMs !== undefined || liftBegunMs !== undefined || mayBeLost || !this.isDated;
      promise(isKept || this.all.some(isOther), () => `${keyId}: the ban of ${startedAt} was never stored`);
    }
  }

  #seeOne(
    { key_id: keyId, started_at: startedAt, ends_at, level }: StoredBan,
    { nowMs, roughUntilMs }: Pick<Met, 'nowMs' | 'roughUntilMs'>,
  ): void {
    const known = this.#find(keyId, startedAt);
    if (known) {
      known.storedMs ??= nowMs;
      known.mayBeLost = false;
      return;
    }
    const liftBegunMs = this.#voidingMs(keyId, startedAt * 1_000, roughUntilMs);
    const unknown = { life: undefined, liftedMs: undefined, mayBeLost: false };
    const seen = { answeredMs: nowMs, storedMs: nowMs, liftBegunMs };
    this.all.push({ keyId, startedAt, level, endsMs: ends_at * 1_000, ...unknown, ...seen });
  }

  #find(keyId: string, startedAt: number): ModelBan | undefined {
    return this.all.find((ban) => ban.keyId === keyId && ban.startedAt === startedAt);
  }

  #of(keyId: string): ModelBan[] {
    return this.all.filter((ban) => ban.keyId === keyId);
  }

  /** When a lift began that may void what is decided at a moment: its process need not have followed it by then. */
  #voidingMs(keyId: string, decidedMs: number, roughUntilMs: number): number | undefined {
    return this.#lifts.find((lift) => {
      return lift.keyId === keyId && Math.max(lift.endedMs, roughUntilMs) + FOLLOWED_MS > decidedMs;
    })?.begunMs;
  }
}

/** The level of the ban after another one: longer, or the shortest after a day without. */
function levelAfter(last: StoredBan, startedAt: number): number {
  return startedAt - last.ends_at >= DAY_SECONDS ? 1 : Math.min(last.level + 1, LENGTHS.length);
}

/** How long the processes were running between two moments. */
export type RunningMs = (fromMs: number, toMs: number) => number;
