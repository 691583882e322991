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
}

interface Entry extends Count {
  readonly atMs: number;
  /** The process that learned of it, and so could save it. */
  knownTo: object | undefined;
  /** Whether a later loss cannot bring the counter back to it: it was lost before, or with the only one that knew. */
  isLost: boolean;
}

/** A loss of counts: those from before `safeMs` must not be among the lost ones. */
interface Loss {
  readonly atMs: number;
  readonly safeMs: number;
}

/**
 * What one counter counted for one key, kept apart from the code under test. Each request takes the next place in both
 * windows: the one behind the last, or the first of a window that opens with it, once the last one has ended. Only
 * after a loss may it go back, to a place that was taken after the last safe moment.
 */
export class Ledger {
  readonly #name: string;
  #entries: Entry[] = [];
  #loss: Loss | undefined;
  /** The latest day that a refusal told of. */
  #told = 0;
  /** Whether the place of the next request cannot be told. */
  #isUnknown = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** A request was counted at a second. Throws if it took a wrong place. */
  add(count: Count, { nowMs, now, today, knownTo }: CountMoment): void {
    const last = this.#entries.at(-1);
    const isNext = followsMinute(last, count, now) && followsDay(last, count, { today, told: this.#told });
    const isAllowed = isNext || this.#isUnknown || this.#goesOnFromBefore(count, { now, today });
    promise(isAllowed, () => {
      return `${this.#name}: counted as ${show(count)} at ${now}, after ${last ? show(last) : 'nothing'}`;
    });
    if (!isNext) {
      for (const each of this.#entries) each.isLost ||= !isEarlierMinute(each, count) || !isEarlierDay(each, count);
    }
    this.#isUnknown = false;
    this.#entries.push({ ...count, atMs: nowMs, knownTo, isLost: false });
    if (this.#entries.length > 4_000) this.#entries = this.#entries.slice(2_000);
  }

  /** A process was told that its request was counted. Throws if it was not, or if another was told the same. */
  claim(count: Count, process: object): void {
    const entry = this.#entries.findLast((each) => isSame(each, count) && each.knownTo === undefined);
    promise(entry !== undefined, () => `${this.#name}: admitted as ${show(count)}, which was not counted for it`);
    entry.knownTo = process;
  }

  /** A process ended without saving what it learned after a moment. */
  forget(process: object, safeMs: number): void {
    for (const each of this.#entries) each.isLost ||= each.knownTo === process && each.atMs > safeMs;
  }

  /** Counts were lost, or came back older. */
  lose(loss: Loss): void {
    // What an earlier loss took before the next request, this one does not bring back.
    const safeMs = this.#isUnsettled ? Math.min(loss.safeMs, this.#loss?.safeMs ?? loss.safeMs) : loss.safeMs;
    this.#loss = { atMs: loss.atMs, safeMs };
  }

  /** What is remembered elsewhere could not be read since the last loss. */
  doubt(): void {
    if (this.#loss && this.#isUnsettled) this.#loss = { ...this.#loss, safeMs: 0 };
  }

  /** The clock was stepped while nothing was there to notice: windows may end sooner, or later. */
  shift(): void {
    this.#isUnknown = true;
  }

  /** A refusal turns the day as well. */
  tell(day: number): void {
    this.#told = Math.max(this.#told, day);
  }

  /** Whether some window of the past that has not ended at a second has this few places left. */
  isSpentAt(now: number, limit: number, minuteEnds: number): boolean {
    if (this.#isUnknown) return true;
    return minuteEnds > now && this.#entries.some((each) => each.minuteEnds === minuteEnds && each.minuteUsed >= limit);
  }

  isDaySpent(day: number, limit: number): boolean {
    return this.#isUnknown || this.#entries.some((each) => each.day === day && each.dayUsed >= limit);
  }

  /** Whether nothing was counted since the last loss. */
  get #isUnsettled(): boolean {
    const last = this.#entries.at(-1);
    return this.#loss !== undefined && last !== undefined && last.atMs <= this.#loss.atMs;
  }

  /**
   * Whether this is the next place after one to which the loss may have brought the counter back. From then on it can
   * only go forward again, when a process adds what it remembers.
   */
  #goesOnFromBefore(count: Count, { now, today }: Pick<CountMoment, 'now' | 'today'>): boolean {
    const loss = this.#loss;
    const last = this.#entries.at(-1);
    if (!loss || !last) return false;
    const safe = this.#entries.findLastIndex(
      ({ atMs, knownTo, isLost }) => knownTo !== undefined && !isLost && atMs <= loss.safeMs,
    );
    const since = this.#entries.slice(Math.max(0, safe));
    const isSettled = last.atMs > loss.atMs;
    const minutes = since.filter((each) => !isSettled || !isEarlierMinute(each, last));
    const days = since.filter((each) => !isSettled || !isEarlierDay(each, last));
    const mayBeEmpty = !isSettled && safe === -1;
    return (
      [...minutes, ...(mayBeEmpty ? [undefined] : [])].some((from) => followsMinute(from, count, now)) &&
      [...days, ...(mayBeEmpty ? [undefined] : [])].some((from) => followsDay(from, count, { today, told: this.#told }))
    );
  }
}

function isEarlierMinute(one: Count, other: Count): boolean {
  return (
    one.minuteEnds < other.minuteEnds || (one.minuteEnds === other.minuteEnds && one.minuteUsed < other.minuteUsed)
  );
}

function isEarlierDay(one: Count, other: Count): boolean {
  return one.day < other.day || (one.day === other.day && one.dayUsed < other.dayUsed);
}

function followsMinute(from: Count | undefined, to: Count, now: number): boolean {
  if (from && now < from.minuteEnds) return to.minuteEnds === from.minuteEnds && to.minuteUsed === from.minuteUsed + 1;
  return to.minuteEnds === now + WINDOW_SECONDS && to.minuteUsed === 1;
}

/** The day turns at midnight, and never back: it may be one that the counter told of before its clock was set back. */
function followsDay(from: Count | undefined, to: Count, { today, told }: { today: number; told: number }): boolean {
  if (from && to.day === from.day) return today <= from.day && to.dayUsed === from.dayUsed + 1;
  return to.dayUsed === 1 && (to.day === today || to.day === told) && (!from || to.day > from.day);
}

function isSame(one: Count, other: Count): boolean {
  return (
    one.minuteEnds === other.minuteEnds &&
    one.minuteUsed === other.minuteUsed &&
    one.day === other.day &&
    one.dayUsed === other.dayUsed
  );
}

function show({ minuteEnds, minuteUsed, day, dayUsed }: Count): string {
  return `${minuteUsed} of the minute until ${minuteEnds}, ${dayUsed} of the day ${day}`;
}
