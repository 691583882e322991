import type { Counts } from '../../../src/catalog/window-counts.ts';
import { promise } from './promise.ts';

const WINDOW_SECONDS = 60;
/** How long the end of a window may not be stored yet: a reset that is stored before it is merged begins a new one. */
const UNSAVED_SECONDS = 2;

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

interface Entry extends Counts {
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
  readonly kept: Counts | undefined;
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
  #kept: Counts | undefined;
  #wasLost = false;
  /** Whether the place of the next request cannot be told. */
  #isUnknown = false;
  #resets = { minuteReset: 0, dayReset: 0 };

  constructor(name: string, { isReplaced }: { isReplaced: boolean }) {
    this.#name = name;
    this.#isReplaced = isReplaced;
  }

  /** A request was counted at a second. Throws if it took a wrong place. */
  add(told: Counts, { nowMs, now, today, knownTo, mayMiss }: CountMoment): void {
    const kept = this.#kept;
    const count = this.#isReplaced ? this.knowing(told) : told;
    if (!this.#isUnknown) {
      const learned = this.#entries.filter((each) => each.knownTo !== undefined);
      // Of several windows that are open after a loss, a reset may leave any.
      const isOpen = (each: Entry) => each.minuteReset < count.minuteReset && now < each.minuteEnds;
      const isNext =
        [kept, ...learned.filter((each) => isLaterMinute(each, kept) || isOpen(each))].some((from) =>
          followsMinute(from, count, { now, mayMiss }),
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

  /** A process forgets no reset that a request told it of, but one that is on its way may know of none. */
  knowing(count: Counts): Counts {
    const { minuteReset, dayReset } = this.#resets;
    this.#resets = {
      minuteReset: Math.max(count.minuteReset, minuteReset),
      dayReset: Math.max(count.dayReset, dayReset),
    };
    return { ...count, ...this.#resets };
  }

  /** Whether a request was counted so, and no process was told yet. */
  has(count: Counts): boolean {
    return this.#entries.some((each) => each.knownTo === undefined && isTold(each, count));
  }

  /** A process was told that its request was counted. Throws if it was not, or if another was told the same. */
  claim(count: Counts, process: object, nowMs: number): void {
    const { minuteReset, dayReset } = count;
    const told = this.#entries.filter((each) => isTold(each, count) && each.knownTo === undefined);
    // One that was counted after a reset of which it did not know took the place of the later reset.
    const entry =
      told.findLast((each) => each.minuteReset === minuteReset && each.dayReset === dayReset) ?? told.at(-1);
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

  /** Whether some window of the past that has not ended at a second has this few places left since a reset. */
  isSpentAt(now: number, limit: number, { minuteEnds, minuteReset }: Counts): boolean {
    const isSpent = (each: Entry) =>
      each.minuteEnds === minuteEnds && each.minuteUsed >= limit && each.minuteReset >= minuteReset;
    return this.#isUnknown || (minuteEnds > now && this.#entries.some(isSpent));
  }

  isDaySpent(limit: number, { day, dayReset }: Counts): boolean {
    const isSpent = (each: Entry) => each.day === day && each.dayUsed >= limit && each.dayReset >= dayReset;
    return this.#isUnknown || this.#entries.some(isSpent);
  }
}

function isLaterMinute(one: Counts, other: Counts | undefined): boolean {
  if (!other) return true;
  const later =
    one.minuteReset - other.minuteReset || one.minuteEnds - other.minuteEnds || one.minuteUsed - other.minuteUsed;
  return later > 0;
}

function isLaterDay(one: Counts, other: Counts | undefined): boolean {
  if (!other) return true;
  return (one.dayReset - other.dayReset || one.day - other.day || one.dayUsed - other.dayUsed) > 0;
}

/** Whether a count begins behind one that was saved. */
function isMissed(saved: Counts, count: Counts, now: number): boolean {
  return (now < saved.minuteEnds && !isLaterMinute(count, saved)) || !isLaterDay(count, saved);
}

function followsMinute(
  from: Counts | undefined,
  to: Counts,
  { now, mayMiss }: Pick<CountMoment, 'now' | 'mayMiss'>,
): boolean {
  if (from && from.minuteReset > to.minuteReset) return false;
  // A reset leaves the end of the window.
  const isReset = from?.minuteReset !== to.minuteReset;
  if (from && now < from.minuteEnds && to.minuteEnds === from.minuteEnds)
    return to.minuteUsed === (isReset ? 0 : from.minuteUsed) + 1;
  const isUnsaved = isReset && (mayMiss || now + WINDOW_SECONDS <= (from?.minuteEnds ?? 0) + UNSAVED_SECONDS);
  if (from && now < from.minuteEnds && !isUnsaved) return false;
  return to.minuteEnds === now + WINDOW_SECONDS && to.minuteUsed === 1;
}

/** The day turns at midnight, and never back. */
function followsDay(from: Counts | undefined, to: Counts, today: number): boolean {
  if (from && from.dayReset > to.dayReset) return false;
  const used = from?.dayReset === to.dayReset ? from.dayUsed : 0;
  if (from && to.day === from.day) return today <= from.day && to.dayUsed === used + 1;
  return to.dayUsed === 1 && to.day === today && (!from || to.day > from.day);
}

/** Whether an entry is what a process was told; what it counts knows of every reset that the process knew of. */
function isTold(entry: Counts, told: Counts): boolean {
  const isAsReset = entry.minuteReset >= told.minuteReset && entry.dayReset >= told.dayReset;
  return (
    isAsReset && (['minuteEnds', 'minuteUsed', 'day', 'dayUsed'] as const).every((each) => entry[each] === told[each])
  );
}

function show(count: Counts | undefined): string {
  if (!count) return 'nothing';
  const { minuteEnds, minuteUsed, minuteReset, day, dayUsed, dayReset } = count;
  return `${minuteUsed} of the minute until ${minuteEnds}, ${dayUsed} of the day ${day}, reset at ${minuteReset}/${dayReset}`;
}
