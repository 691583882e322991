import type { ApiKey } from '../../../src/catalog/api-key.ts';
import type { RunningBan } from '../../../src/catalog/ban.ts';
import type { Limits } from '../../../src/catalog/plan.ts';
import type { Counts } from '../../../src/catalog/window-counts.ts';
import type { Decision } from '../../../src/limits/limiter.ts';
import type { Time } from '../../../src/stdx/time.ts';
import { assertConsistent } from '../../kit/limiter-model.ts';
import type { SetInRedis } from '../redis.ts';
import { BanModel, type RunningMs, type StoredBan } from './bans.ts';
import { Ledger } from './ledger.ts';
import { promise } from './promise.ts';
import { RefusalCount } from './refusals.ts';

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** How long it takes at most until a ban that was decided is told. */
const ANNOUNCED_MS = 3_000;
/** A refusal is told later than this only if it led to a ban that was over by then, or if the clock was stepped. */
const LATE_MS = 10_000;
/** Of what happens in one moment, a request is counted before a client is told of it. */
const FIRST = -1e15;
/** The window of refusals, and what it takes to follow a change. */
const UNCERTAIN_MS = 90_000;

/** The process that decided. */
export interface Decider {
  /** Its clock, and how far its steady seconds are ahead of true time. */
  readonly clock: Pick<Time, 'now'>;
  readonly aheadSeconds: number;
  readonly isDead: boolean;
}

/** A decision as a client got it. */
export interface Decided {
  readonly life: Decider;
  readonly key: ApiKey;
  readonly decision: Decision;
  readonly isPeek: boolean;
  readonly isFromMemory: boolean;
  readonly askedMs: number;
  readonly nowMs: number;
  /** When storage, or the way to it, failed for the last time. */
  readonly roughUntilMs: number;
}

/** With how far the unix time of the process was ahead of true time, in seconds. */
type Dated = Decided & { readonly ahead: number };

interface Banned {
  readonly life: Decider;
  readonly ban: RunningBan & { readonly keyId: string };
  readonly limits: readonly Limits[];
  readonly nowMs: number;
  readonly roughUntilMs: number;
}

/** What must be so within `ANNOUNCED_MS`. */
interface Expected {
  readonly sinceMs: number;
  readonly isSo: () => boolean;
  readonly broken: () => string;
}

interface LimitsModelOptions {
  readonly banAfter: number;
  /** How many instances share the limits, and how far their Redis is ahead of true time; undefined for one alone. */
  readonly shared: { readonly instances: number; readonly skewMs: number } | undefined;
  readonly runningMs: RunningMs;
}

/** Who counted: one process alone, Redis, or one process by its share. */
type Counter = 'alone' | 'redis' | 'share';

interface Event {
  readonly nowMs: number;
  readonly order: number;
  /** Whether it tells of a request that was counted in an earlier moment. */
  readonly wasCounted?: () => boolean;
  readonly check: () => void;
}

/** What was admitted, refused and banned, and whether it had to be. */
export class LimitsModel {
  readonly bans = new BanModel();
  readonly #options: LimitsModelOptions;
  readonly #ledgers = new Map<string, Ledger>();
  readonly #shares = new WeakMap<Decider, Map<string, Ledger>>();
  /** The keys that a process has met. */
  readonly #met = new WeakMap<Decider, Set<string>>();
  readonly #refusals = new WeakMap<Decider, Map<string, RefusalCount>>();
  /** Until when the refusals of a key are not known: those from before a ban was lifted may be forgotten. */
  readonly #uncertainUntilMs = new Map<string, number>();
  #events: Event[] = [];
  #expected: Expected[] = [];

  constructor(options: LimitsModelOptions) {
    this.#options = options;
  }

  /** Redis counted a request, whether or not its answer arrives. `mayMiss`: it may not know what was saved. */
  setInRedis({ keyId, now, value }: SetInRedis, { nowMs, mayMiss }: { nowMs: number; mayMiss: boolean }): void {
    const counted = { nowMs, now, today: Math.floor(now / DAY_SECONDS), knownTo: undefined, mayMiss };
    const check = () => this.#ledger(keyId).add(countIn(value), counted);
    this.#events.push({ nowMs, order: FIRST, check });
  }

  /** The counter lost counts that were saved only up to a safe moment. `inRedis`: what it still has of a key. */
  lose({ atMs, safeMs, inRedis }: { atMs: number; safeMs: number; inRedis?: (keyId: string) => string }): void {
    this.check(atMs);
    for (const [keyId, ledger] of this.#ledgers) {
      const value = inRedis?.(keyId);
      ledger.lose({ safeMs, kept: value ? countIn(value) : undefined });
    }
  }

  /** The database lost what was saved after a moment, with the bans and lifts that it has no more. */
  loseSaved(bans: readonly StoredBan[], { atMs, safeMs }: { atMs: number; safeMs: number }): void {
    this.check(atMs);
    this.bans.lose(bans, atMs);
    for (const [keyId, ledger] of this.#ledgers) {
      ledger.mayLose(safeMs);
      this.lifted(keyId, atMs);
    }
  }

  /** The clock of the only process was stepped: this shifts the windows of keys that it does not have in memory. */
  shift(life: Decider | undefined, atMs: number): void {
    this.check(atMs);
    const met = life && this.#met.get(life);
    for (const [keyId, ledger] of this.#ledgers) if (!met?.has(keyId)) ledger.shift();
  }

  /** Whether a process decided on a request of a key, and so has its counts in memory. */
  hasMet(life: Decider, keyId: string): boolean {
    return this.#met.get(life)?.has(keyId) === true;
  }

  /** A process ended, and did not save what it learned after a moment. */
  forget(life: Decider, { atMs, safeMs }: { atMs: number; safeMs: number }): void {
    this.check(atMs);
    for (const ledger of this.#ledgers.values()) ledger.forget(life, safeMs);
  }

  /** A process decided on a request. It is checked with all else of the same moment, whose order is not known. */
  decided(decided: Decided): void {
    const { nowMs, life, decision } = decided;
    const ahead = this.#aheadOf(life);
    existing(this.#met, life, () => new Set<string>()).add(decided.key.id);
    const { refusal } = decision;
    const { dayUsed, dayReset, minuteReset } = countOf(decided);
    const place = (dayReset + minuteReset) * 1e4 + dayUsed - 1e14;
    const order = !refusal ? place : refusal === 'key_banned' ? 2 : 0;
    const wasCounted = () =>
      !refusal && this.#counterOf(decided) === 'redis' && this.#ledger(decided.key.id).has(countOf(decided));
    this.#events.push({ nowMs, order, wasCounted, check: () => this.#checkDecided({ ...decided, ahead }) });
  }

  /** A process decided to ban a key, which had these limits at one time or another. */
  banned(banned: Banned): void {
    this.#events.push({ nowMs: banned.nowMs, order: 1, check: () => this.#checkBan(banned) });
  }

  /** Checks what happened since the last call. */
  check(nowMs: number): void {
    const events = this.#events.sort((one, other) => one.nowMs - other.nowMs || one.order - other.order);
    this.#events = [];
    for (const moment of Map.groupBy(events, (each) => each.nowMs).values()) {
      // An answer to what was counted earlier may be known to a process that merges it within the moment.
      const others: Event[] = [];
      for (const each of moment) {
        if (each.wasCounted?.()) each.check();
        else others.push(each);
      }
      for (const { check } of others) check();
    }
    this.#expected = this.#expected.filter(({ sinceMs, isSo, broken }) => {
      if (isSo()) return false;
      promise(this.#options.runningMs(sinceMs, nowMs) < ANNOUNCED_MS, broken);
      return true;
    });
  }

  /** The ban of a key is lifted or lost. */
  lifted(keyId: string, nowMs: number): void {
    this.#uncertainUntilMs.set(keyId, nowMs + UNCERTAIN_MS);
  }

  #checkBan({ life, ban, limits, ...moment }: Banned): void {
    const starts = ban.ends - life.aheadSeconds - (ban.endsAt - ban.startedAt);
    const refusals = this.#refusalsOf(life, ban.keyId);
    const { count, isKnown } = refusals.addBan(starts, { told: Math.floor(moment.nowMs / 1_000) });
    const isDue = (after: number) => limits.some(({ minute }) => after > minute) && after >= this.#options.banAfter;
    promise(
      isDue(count) || !isKnown || starts * 1_000 < (this.#uncertainUntilMs.get(ban.keyId) ?? 0),
      () => `${ban.keyId}: banned after ${count} refusals`,
    );
    const liftedMs = this.bans.followedLiftMs(ban.keyId, moment);
    if (liftedMs !== undefined) {
      const most = 1 + refusals.since(Math.floor(liftedMs / 1_000) - 1);
      promise(isDue(most), () => `${ban.keyId}: banned after ${most} refusals since its ban was lifted`);
    }
    const { keyId, startedAt, level, ends } = ban;
    this.bans.add({ keyId, startedAt, level, endsMs: (ends - life.aheadSeconds) * 1_000, life }, moment);
  }

  #checkDecided(decided: Dated): void {
    const { key, decision, life, isPeek } = decided;
    assertConsistent(decision, decision.now);
    if (decision.refusal === 'key_banned') {
      this.#checkBanned(decided);
      return;
    }
    const waits = decision.minute.reset - decision.now;
    promise(waits <= MINUTE_SECONDS, () => `${key.id}: a minute that ends in ${waits} s`);
    const counter = this.#counterOf(decided);
    const ledger = counter === 'share' ? this.#share(life, key.id) : this.#ledger(key.id);
    if (decision.refusal && !isPeek) this.#checkRefused(decided, { counter, ledger });
    else if (!isPeek) this.#checkAdmitted(decided, { counter, ledger });
  }

  #checkAdmitted(decided: Dated, { counter, ledger }: { counter: Counter; ledger: Ledger }): void {
    const { key, decision, life, ahead } = decided;
    const count = countOf(decided);
    const now = decision.now;
    const today = Math.floor(now / DAY_SECONDS);
    if (counter === 'redis') ledger.claim(count, life, decided.nowMs);
    else {
      // In true seconds, which no step of a clock moves.
      const inTruth = { ...count, minuteEnds: count.minuteEnds - ahead };
      ledger.add(inTruth, { nowMs: decided.nowMs, now: now - ahead, today, knownTo: life, mayMiss: false });
    }
    this.bans.checkAdmitted({ ...decided, keyId: key.id });
  }

  #checkRefused(decided: Dated, { counter, ledger }: { counter: Counter; ledger: Ledger }): void {
    const { key, life, decision, isFromMemory, askedMs, nowMs } = decided;
    const { minute, day } = decision;
    const isDaySpent = day.remaining === 0;
    const ahead = counter === 'redis' ? 0 : decided.ahead;
    // It may be told long after it was decided, if it led to a ban.
    const serverNow = Math.floor((askedMs + (this.#options.shared?.skewMs ?? 0)) / 1_000);
    const now = isFromMemory ? serverNow : decision.now - ahead;
    // If the clock was stepped meanwhile, its moments are those of before.
    const isMisdated = counter !== 'redis' && Math.abs(now * 1_000 - nowMs) > LATE_MS && !this.bans.isDated;
    // Of two in one moment the first may have known of no reset, though the second told its process of one.
    const told = { ...countOf(decided), minuteEnds: minute.reset - ahead };
    if (counter !== 'redis') ledger.knowing(told);
    const isSpent = isDaySpent ? ledger.isDaySpent(day.limit, told) : ledger.isSpentAt(now, minute.limit, told);
    promise(
      isSpent || isMisdated,
      () => `${key.id}: refused by ${counter} with ${JSON.stringify(decision)}, although there is room`,
    );
    if (counter === 'share') return;
    // It may be told long after it was decided, if the process was suspended in between.
    const mayMissLift = this.bans.mayMissLift(key.id, decided);
    const mayForget = () => mayMissLift || askedMs < (this.#uncertainUntilMs.get(key.id) ?? 0);
    const refusals = this.#refusalsOf(life, key.id);
    const { count, isKnown } = refusals.add(isMisdated ? Math.floor(askedMs / 1_000) : decision.now - ahead, {
      mayForget: mayForget(),
    });
    const isDue = count > key.limits.minute && count >= this.#options.banAfter;
    // After a step of a clock a ban of before may stand in the place of the one that is due.
    if (!isDue || !isKnown || !this.bans.isDated) return;
    // Answers that were under way when a process decided on a ban are still refusals of a window.
    const isBanned = () => this.bans.isOn(key.id, askedMs);
    this.#expect({
      sinceMs: nowMs,
      isSo: () => isBanned() || mayForget() || life.isDead,
      broken: () => `${key.id}: refused ${count} times after a 429, and not banned`,
    });
  }

  #checkBanned(decided: Dated): void {
    const { key, life, decision, nowMs, ahead } = decided;
    const until = (decision.ban?.until ?? 0) - ahead;
    // Another process may have stored it, and not told of it yet.
    this.#expect({
      sinceMs: nowMs,
      isSo: () => this.bans.checkBanned({ ...decided, keyId: key.id }, until * 1_000) || life.isDead,
      broken: () => `${key.id}: banned until ${until} without a reason`,
    });
  }

  /** Expects something to be so soon, if it is not yet. */
  #expect(expected: Expected): void {
    if (!expected.isSo()) this.#expected.push(expected);
  }

  #counterOf({ key, decision }: Decided): Counter {
    const { shared } = this.#options;
    if (!shared) return 'alone';
    if (decision.minute.limit === key.limits.minute && decision.day.limit === key.limits.day) return 'redis';
    for (const window of ['minute', 'day'] as const) {
      const share = Math.ceil(key.limits[window] / shared.instances);
      const { limit } = decision[window];
      promise(limit === share, () => `${key.id}: a share of ${limit} instead of ${share} in the ${window}`);
    }
    return 'share';
  }

  #aheadOf({ clock, aheadSeconds }: Decider): number {
    const { unix, steady } = clock.now();
    return unix - steady + aheadSeconds;
  }

  #ledger(keyId: string): Ledger {
    return existing(this.#ledgers, keyId, () => new Ledger(keyId, { isReplaced: !this.#options.shared }));
  }

  #share(life: Decider, keyId: string): Ledger {
    const ledgers = existing(this.#shares, life, () => new Map<string, Ledger>());
    return existing(ledgers, keyId, () => new Ledger(`a share of ${keyId}`, { isReplaced: true }));
  }

  #refusalsOf(life: Decider, keyId: string): RefusalCount {
    const counts = existing(this.#refusals, life, () => new Map<string, RefusalCount>());
    return existing(counts, keyId, () => new RefusalCount());
  }
}

/** The counts in a value of Redis. */
function countIn(value: string): Counts {
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0, minuteReset = 0, dayReset = 0] = value
    .split(' ')
    .map(Number);
  return { minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset };
}

/** The counts that a decision tells of, with the resets that its process knew of. */
function countOf({ decision: { minute, day }, key: { resets } }: Decided): Counts {
  return {
    minuteReset: resets.minute,
    dayReset: resets.day,
    minuteEnds: minute.reset,
    minuteUsed: minute.limit - minute.remaining,
    day: day.reset / DAY_SECONDS - 1,
    dayUsed: day.limit - day.remaining,
  };
}

function existing<K, V>(map: { get(key: K): V | undefined; set(key: K, value: V): unknown }, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
