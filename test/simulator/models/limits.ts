import type { ApiKey } from '../../../src/catalog/api-key.ts';
import type { Ban } from '../../../src/catalog/limit.ts';
import type { Limits } from '../../../src/catalog/plan.ts';
import type { Decision } from '../../../src/limits/limiter.ts';
import type { Moment } from '../../../src/stdx/clock.ts';
import { assertConsistent } from '../../kit/limiter-model.ts';
import type { SetInRedis } from '../redis.ts';
import { BanModel, type BanMoment, type ModelBan, type RunningMs } from './bans.ts';
import { type Count, Ledger } from './ledger.ts';
import { promise } from './promise.ts';
import { RefusalCount } from './refusals.ts';

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** How long it takes at most until a ban that was decided is told. */
const ANNOUNCED_MS = 3_000;
const LATE_MS = 10_000;
/** Of what happens in one moment, a request is counted before a client is told of it. */
const FIRST = -1e12;
/** The window of refusals, and what it takes to follow a change. */
const UNCERTAIN_MS = 90_000;

/** The process that decided. */
export interface Decider {
  /** Its clock, and how far its steady seconds are ahead of true time. */
  readonly clock: () => Moment;
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
  /** Whether the clock of its machine is wrong, and it has not learned the time of Redis. */
  readonly isAstray: boolean;
  readonly askedMs: number;
  readonly nowMs: number;
  /** When storage, or the way to it, failed for the last time. */
  readonly roughUntilMs: number;
  /** Whether the process must know of a ban that another one imposed. */
  readonly knows: (ban: ModelBan, counter: Counter) => boolean;
}

/** With how far the unix time of the process was ahead of true time, in seconds. */
type Dated = Decided & { readonly ahead: number };

interface Banned extends BanMoment {
  readonly life: Decider;
  readonly ban: Ban;
  readonly limits: readonly Limits[];
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
export type Counter = 'alone' | 'redis' | 'share';

/** What was admitted, refused and banned, and whether it had to be. */
export class LimitsModel {
  readonly bans: BanModel;
  readonly #options: LimitsModelOptions;
  readonly #ledgers = new Map<string, Ledger>();
  readonly #shares = new WeakMap<Decider, Map<string, Ledger>>();
  readonly #refusals = new WeakMap<Decider, Map<string, RefusalCount>>();
  /** Until when the refusals of a key are not known: those from before a ban was lifted may be forgotten. */
  readonly #uncertainUntilMs = new Map<string, number>();
  #events: { readonly nowMs: number; readonly order: number; readonly check: () => void }[] = [];
  #expected: Expected[] = [];

  constructor(options: LimitsModelOptions) {
    this.#options = options;
    this.bans = new BanModel(options.runningMs);
  }

  /**
   * Redis counted a request or replaced a ban, whether or not its answer arrives. `mayMiss`: those who count may not
   * know what was saved.
   */
  setInRedis({ did, keyId, now, value }: SetInRedis, { mayMiss, ...moment }: BanMoment & { mayMiss: boolean }): void {
    const { nowMs } = moment;
    if (did === 'count') {
      const counted = { nowMs, now, today: Math.floor(now / DAY_SECONDS), knownTo: undefined, mayMiss };
      const check = () => this.#ledger(keyId).add(countIn(value), counted);
      this.#events.push({ nowMs, order: FIRST, check });
      return;
    }
    const [starts = 0, ends = 0] = value.split(' ').slice(4).map(Number);
    if (starts === 0) return;
    const { level } = JSON.parse(value.slice(value.indexOf('{'))) as { level: number };
    this.#events.push({ nowMs, order: 1, check: () => this.bans.add({ keyId, starts, ends, level }, moment) });
  }

  /** The counter lost counts that were saved only up to a safe moment. `inRedis`: what it still has of a key. */
  lose({ atMs, safeMs, inRedis }: { atMs: number; safeMs: number; inRedis?: (keyId: string) => string }): void {
    this.check(atMs);
    for (const [keyId, ledger] of this.#ledgers) {
      const value = inRedis?.(keyId);
      ledger.lose({ safeMs, kept: value ? countIn(value) : undefined });
    }
  }

  /** The clock of the only process was stepped while it was down. */
  shift(): void {
    for (const ledger of this.#ledgers.values()) ledger.shift();
    for (const ban of this.bans.all) ban.mayBeLost = ban.mayBeShifted = true;
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
    const { refusal, day } = decision;
    const order = !refusal ? day.limit - day.remaining - 1e9 : refusal === 'key_banned' ? 2 : 0;
    this.#events.push({ nowMs, order, check: () => this.#checkDecided({ ...decided, ahead }) });
  }

  /** A process decided to ban a key, which had these limits at one time or another. */
  banned(banned: Banned): void {
    const ahead = this.#options.shared ? 0 : this.#aheadOf(banned.life);
    this.#events.push({ nowMs: banned.nowMs, order: 1, check: () => this.#checkBan({ ...banned, ahead }) });
  }

  /** Checks what happened since the last call. */
  check(nowMs: number): void {
    const events = this.#events.sort((one, other) => one.nowMs - other.nowMs || one.order - other.order);
    this.#events = [];
    for (const { check } of events) check();
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

  #checkBan({ life, ban, limits, ahead, ...moment }: Banned & { readonly ahead: number }): void {
    const [starts, ends] = [ban.startedAt - ahead, ban.endsAt - ahead];
    const refusals = this.#refusalsOf(life, ban.keyId);
    const { count, isKnown } = refusals.addBan(starts);
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
    this.bans.add({ keyId: ban.keyId, life, starts, ends, level: ban.level }, moment);
  }

  #checkDecided(decided: Dated): void {
    const { key, decision, life, isPeek } = decided;
    assertConsistent(decision, decision.now);
    const waits = decision.minute.reset - decision.now;
    promise(waits <= MINUTE_SECONDS || decision.ban !== undefined, () => `${key.id}: a minute that ends in ${waits} s`);
    const counter = this.#counterOf(decided);
    const ledger = counter === 'share' ? this.#share(life, key.id) : this.#ledger(key.id);
    if (decision.refusal && !isPeek) ledger.tell(decision.day.reset / DAY_SECONDS - 1);
    if (decision.refusal === 'key_banned') this.#checkBanned(decided, counter);
    else if (decision.refusal && !isPeek) this.#checkRefused(decided, { counter, ledger });
    else if (!isPeek) this.#checkAdmitted(decided, { counter, ledger });
  }

  #checkAdmitted(decided: Dated, { counter, ledger }: { counter: Counter; ledger: Ledger }): void {
    const { key, decision, life, ahead } = decided;
    const count = countOf(decision);
    const now = decision.now;
    const today = Math.floor(now / DAY_SECONDS);
    if (counter === 'redis') ledger.claim(count, life);
    else {
      // In true seconds, which no step of a clock moves.
      const inTruth = { ...count, minuteEnds: count.minuteEnds - ahead };
      ledger.add(inTruth, { nowMs: decided.nowMs, now: now - ahead, today, knownTo: life, mayMiss: false });
    }
    const trueNow = Math.floor(decided.nowMs / 1_000);
    const { askedMs } = decided;
    const knows = (ban: ModelBan) => decided.knows(ban, counter);
    this.bans.checkAdmitted({ keyId: key.id, life, askedMs, now: trueNow, knows });
  }

  #checkRefused(decided: Dated, { counter, ledger }: { counter: Counter; ledger: Ledger }): void {
    const { key, life, decision, isFromMemory, askedMs, nowMs } = decided;
    const { minute, day, refusal } = decision;
    const isDaySpent = day.remaining === 0;
    const code = isDaySpent ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
    promise(refusal === code, () => `${key.id}: refused with ${refusal} instead of ${code}`);
    const ahead = counter === 'redis' ? 0 : decided.ahead;
    const serverNow = Math.floor((nowMs + (this.#options.shared?.skewMs ?? 0)) / 1_000);
    const now = isFromMemory ? serverNow : decision.now - ahead;
    const isSpent = isDaySpent
      ? ledger.isDaySpent(day.reset / DAY_SECONDS - 1, day.limit)
      : ledger.isSpentAt(now, minute.limit, minute.reset - ahead);
    promise(isSpent, () => `${key.id}: refused by ${counter} with ${JSON.stringify(decision)}, although there is room`);
    if (counter === 'share') return;
    // It may be told long after it was decided, if the process was suspended in between.
    const mayForget = () => askedMs < (this.#uncertainUntilMs.get(key.id) ?? 0);
    const refusals = this.#refusalsOf(life, key.id);
    const { count, isKnown } = refusals.add(decision.now - ahead, { mayForget: mayForget() });
    const isDue = count > key.limits.minute && count >= this.#options.banAfter;
    if (!isDue || !isKnown) return;
    // Answers that were under way when a process decided on a ban are still refusals of a window.
    const isBanned = () => this.bans.isNew(key.id, nowMs);
    this.#expect({
      sinceMs: nowMs,
      isSo: () => isBanned() || mayForget() || life.isDead,
      broken: () => `${key.id}: refused ${count} times after a 429, and not banned`,
    });
  }

  #checkBanned(decided: Dated, counter: Counter): void {
    const { key, life, decision, askedMs, nowMs, roughUntilMs } = decided;
    const ahead = counter === 'redis' ? 0 : decided.ahead;
    const until = (decision.ban?.until ?? 0) - ahead;
    const now = decision.now - ahead;
    if (counter === 'share' && decided.isAstray) {
      this.bans.checkLength({ keyId: key.id, until, now });
      return;
    }
    // A ban is told once it is stored; if the clock was stepped meanwhile, its moments are those of before.
    const lateMs = Math.max(Math.abs(now * 1_000 - nowMs), nowMs - askedMs);
    if (counter === 'alone' && lateMs > LATE_MS) return;
    // The process tells of a ban once Redis has it, and refuses from the moment at which it decides.
    this.#expect({
      sinceMs: nowMs,
      isSo: () => this.bans.checkBanned({ keyId: key.id, until, askedMs, nowMs, now, roughUntilMs }) || life.isDead,
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
    const { unix, steady } = clock();
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
function countIn(value: string): Count {
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0] = value.split(' ').map(Number);
  return { minuteEnds, minuteUsed, day, dayUsed };
}

function countOf({ minute, day }: Decision): Count {
  return {
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
