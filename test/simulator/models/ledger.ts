import { promise } from './promise.ts';

const WINDOW_SECONDS = 60;

/** The counts of both windows right after a request was counted. */
export interface Count {
  readonly minuteEnds: number;
  readonly minuteUsed: number;
  readonly day: number;
  readonly dayUsed: number;
}

interface CountMoment {
  readonly nowMs: number;
  /** Seconds, and days since 1970, of the clock that the counter goes by. */
  readonly now: number;
  readonly today: number;
  /** The process that learns of it at once. */
  readonly knownTo: object | undefined;
  /** Whether what was saved may be unknown to the one that counted. */
  readonly mayMiss: boolean;
}

interface Entry extends Count {
  readonly atMs: number;
  /** The process that learned of it, and so may save it. */
  knownTo: object | undefined;
  learnedMs: number;
  /** Whether it may not have been saved: it was lost before, or the only one that knew ended. */
  mayBeGone: boolean;
}

/** A loss of counts: what processes learned before `safeMs` they saved. */
interface Loss {
  readonly safeMs: number;
  /** What the counter still has. */
  readonly kept: Count | undefined;
}

/**
 * What one counter counted for one key, kept apart from the code under test. Each request takes the next place in both
 * windows: the one behind the last, or the first of a window that opens with it, once the last one has ended. A loss
 * takes the counter back to what it still has. From there each window may rise at once to any count of before that a
 * process learned, and must be above all those that were saved.
 */
export class Ledger {
  readonly #name: string;
  /** Whether what was saved is replaced, not raised, by one that begins with less: nothing brings the rest back. */
  readonly #isReplaced: boolean;
  #entries: Entry[] = [];
  /** What the counter has. */
  #kept: Count | undefined;
  #wasLost = false;
  /** Whether the place of the next request cannot be told. */
  #isUnknown = false;

  constructor(name: string, { isReplaced }: { isReplaced: boolean }) {
    this.#name = name;
    this.#isReplaced = isReplaced;
  }

  /** A request was counted at a second. Throws if it took a wrong place. */
  add(count: Count, { nowMs, now, today, knownTo, mayMiss }: CountMoment): void {
    const kept = this.#kept;
    if (!this.#isUnknown) {
      const learned = this.#entries.filter((each) => each.knownTo !== undefined);
      const isNext =
        [kept, ...learned.filter((each) => isLaterMinute(each, kept))].some((from) =>
          followsMinute(from, count, now),
        ) && [kept, ...learned.filter((each) => isLaterDay(each, kept))].some((from) => followsDay(from, count, today));
      promise(isNext, () => `${this.#name}: counted as ${show(count)} at ${now}, after ${show(kept)}`);
      // What was told in this very moment may have been told after it.
      const earlier = mayMiss ? [] : learned.filter((each) => each.learnedMs < nowMs);
      const saved = earlier.find((each) => !each.mayBeGone && isMissed(each, count, now));
      promise(!saved, () => `${this.#name}: counted as ${show(count)} at ${now}, although ${show(saved)} was saved`);
    }
    if (this.#wasLost && this.#isReplaced)
      this.#entries = this.#entries.filter((each) => isLaterMinute(count, each) && isLaterDay(count, each));
    this.#wasLost = false;
    this.#isUnknown = false;
    this.#kept = count;
    this.#entries.push({ ...count, atMs: nowMs, knownTo, learnedMs: nowMs, mayBeGone: false });
    if (this.#entries.length > 4_000) this.#entries = this.#entries.slice(2_000);
  }

  /** Whether a request was counted so, and no process was told yet. */
  has(count: Count): boolean {
    return this.#entries.some((each) => each.knownTo === undefined && isSame(each, count));
  }

  /** A process was told that its request was counted. Throws if it was not, or if another was told the same. */
  claim(count: Count, process: object, nowMs: number): void {
    const entry = this.#entries.findLast((each) => isSame(each, count) && each.knownTo === undefined);
    promise(entry !== undefined, () => `${this.#name}: admitted as ${show(count)}, which was not counted for it`);
    entry.knownTo = process;
    entry.learnedMs = nowMs;
  }

  /** A process ended without saving what it learned after a moment. */
  forget(process: object, safeMs: number): void {
    for (const each of this.#entries) each.mayBeGone ||= each.knownTo === process && each.atMs > safeMs;
  }

  /** What was saved after a moment may be lost, though the counter still has it. */
  mayLose(safeMs: number): void {
    for (const each of this.#entries) each.mayBeGone ||= each.atMs > safeMs;
  }

  /** The counter lost counts, or came back with older ones. */
  lose({ safeMs, kept }: Loss): void {
    this.#kept = kept;
    this.#wasLost = true;
    for (const each of this.#entries)
      each.mayBeGone ||= each.atMs > safeMs && (isLaterMinute(each, kept) || isLaterDay(each, kept));
  }

  /** The clock was stepped while nothing was there to notice: windows may end sooner, or later. */
  shift(): void {
    this.#isUnknown = true;
    for (const each of this.#entries) each.mayBeGone = true;
  }

  /** Whether some window of the past that has not ended at a second has this few places left. */
  isSpentAt(now: number, limit: number, minuteEnds: number): boolean {
    if (this.#isUnknown) return true;
    return minuteEnds > now && this.#entries.some((each) => each.minuteEnds === minuteEnds && each.minuteUsed >= limit);
  }

  isDaySpent(day: number, limit: number): boolean {
    return this.#isUnknown || this.#entries.some((each) => each.day === day && each.dayUsed >= limit);
  }
}

function isLaterMinute(one: Count, other: Count | undefined): boolean {
  if (!other) return true;
  return (
    one.minuteEnds > other.minuteEnds || (one.minuteEnds === other.minuteEnds && one.minuteUsed > other.minuteUsed)
  );
}

function isLaterDay(one: Count, other: Count | undefined): boolean {
  return !other || one.day > other.day || (one.day === other.day && one.dayUsed > other.dayUsed);
}

/** Whether a count begins behind one that was saved. */
function isMissed(saved: Count, count: Count, now: number): boolean {
  return (now < saved.minuteEnds && !isLaterMinute(count, saved)) || !isLaterDay(count, saved);
}

function followsMinute(from: Count | undefined, to: Count, now: number): boolean {
  if (from && now < from.minuteEnds) return to.minuteEnds === from.minuteEnds && to.minuteUsed === from.minuteUsed + 1;
  return to.minuteEnds === now + WINDOW_SECONDS && to.minuteUsed === 1;
}

/** The day turns at midnight, and never back. */
function followsDay(from: Count | undefined, to: Count, today: number): boolean {
  if (from && to.day === from.day) return today <= from.day && to.dayUsed === from.dayUsed + 1;
  return to.dayUsed === 1 && to.day === today && (!from || to.day > from.day);
}

function isSame(one: Count, other: Count): boolean {
  return (
    one.minuteEnds === other.minuteEnds &&
    one.minuteUsed === other.minuteUsed &&
    one.day === other.day &&
    one.dayUsed === other.dayUsed
  );
}

function show(count: Count | undefined): string {
  if (!count) return 'nothing';
  const { minuteEnds, minuteUsed, day, dayUsed } = count;
  return `${minuteUsed} of the minute until ${minuteEnds}, ${dayUsed} of the day ${day}`;
}
