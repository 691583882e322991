import type { ApiKey } from '../catalog/api-key.ts';
import { enforced, nextBan, type RunningBan, runningBan } from '../catalog/ban.ts';
import { CatalogError } from '../catalog/error.ts';
import type { Storage } from '../catalog/storage.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import { type Moment, type Time, type Timer, within } from '../stdx/time.ts';
import type { Events } from '../telemetry/events.ts';
import type { Limiter } from './limiter.ts';
import { banned, charge, type Decision, later, type WindowState, withResets } from './window.ts';

const REFUSAL_WINDOW_SECONDS = 60;
/** Refusals this soon after the first may have been in flight when it was sent, so they do not count. */
const IN_FLIGHT_SECONDS = 2;
/** The time that the refusal that leads to a ban waits for storage. */
const STORED_MS = 250;
const RETRY_INTERVAL_MS = 500;
/** Keys with bans that were decided here; beyond it a key is refused as before instead of banned. */
const OWN_KEYS_MAX = 100_000;

export interface BansOptions {
  readonly storage: Pick<Storage, 'keys'>;
  readonly time: Time;
  readonly events: Pick<Events, 'keyBanned' | 'countsNotSaved'>;
  /** The fewest refusals that lead to a ban; 0 disables bans. */
  readonly banAfter: number;
}

/** A ban that was decided here, until it is over. */
interface Imposed {
  /** The key as it was then. */
  readonly key: ApiKey;
  /** The steady second at which it was decided. */
  readonly since: number;
  ban: RunningBan;
  /** True if a client may have been answered with it: from then on it is enforced here. */
  isAnswered: boolean;
  /** True once this or a competing ban is stored. */
  isStored: boolean;
}

/** Charges a key as it is now. A refusal changes no window, and counts towards a ban. */
export function chargeKey(known: WindowState, key: ApiKey, now: Moment): { state: WindowState; decision: Decision } {
  const charged = charge(withResets(known, key.resets), key.limits, now);
  if (!charged.decision.refusal) return charged;
  const state = countRefusal(charged.state, key.banGeneration, now);
  return { state, decision: { ...charged.decision, refusals: state.refusals } };
}

/**
 * Counts a refusal in a generation of its key's bans: in the window that the first one opened, but for those in flight
 * with it. What was counted in an earlier generation is forgotten; a request of an earlier one counts nothing there.
 */
function countRefusal(known: WindowState, banGeneration: number, { steady }: Moment): WindowState {
  const isOver = steady >= known.refusalsEnd;
  if (banGeneration < known.banGeneration && !isOver) return known;
  if (banGeneration > known.banGeneration || isOver)
    return { ...known, refusalsEnd: steady + REFUSAL_WINDOW_SECONDS, refusals: 0, banGeneration };
  const opened = known.refusalsEnd - REFUSAL_WINDOW_SECONDS;
  return steady < opened + IN_FLIGHT_SECONDS ? known : { ...known, refusals: known.refusals + 1 };
}

/**
 * Bans the keys that a limiter refuses too often, and refuses them without asking it while their ban runs. A ban is a
 * fact about its key in storage (`KeyStorage.impose`), and comes with the key. One that was decided here is also kept
 * here until it is over: while storage fails, or takes too long, it is enforced here alone, and stored later.
 */
export class Bans implements Limiter {
  readonly #limiter: Limiter;
  readonly #options: BansOptions;
  /** The bans of each key in the order in which they were decided. */
  readonly #own = new Map<string, Imposed[]>();
  readonly #timer: Timer;
  readonly #retry = oneAtATime(() => this.#storeAll());

  constructor(limiter: Limiter, options: BansOptions) {
    this.#limiter = limiter;
    this.#options = options;
    this.#timer = options.time.setInterval(() => this.#retry(), RETRY_INTERVAL_MS).unref();
  }

  get lost(): readonly string[] {
    return this.#limiter.lost;
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const ban = this.#banOf(key);
    if (ban) return this.#refuse(key, ban, () => this.charge(key));
    const decision = this.#limiter.charge(key);
    if (!(decision instanceof Promise)) return this.#judge(key, decision);
    const asked = this.#options.time.now();
    return decision.then((late) => this.#judge(key, late, asked));
  }

  peek(key: ApiKey): Decision | Promise<Decision> {
    const ban = this.#banOf(key);
    return ban ? this.#refuse(key, ban, () => this.peek(key)) : this.#limiter.peek(key);
  }

  current(key: ApiKey, decision: Decision): Decision {
    if (!decision.ban) return this.#limiter.current(key, decision);
    const now = this.#options.time.now();
    return now.unix === decision.now ? decision : later(decision, now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#retry();
    await this.#limiter[Symbol.asyncDispose]();
  }

  /** The active ban: the stored or the local one, whichever ends later. */
  #banOf(key: ApiKey): RunningBan | undefined {
    // Fast path: most keys were never banned.
    if (key.ban === null && this.#own.size === 0) return undefined;
    const now = this.#options.time.now();
    const stored = runningBan(key.ban, now);
    const own = this.#lastOf(key, ({ isAnswered }) => isAnswered);
    const running = own && runningBan(own.ban, now);
    return stored && running && stored.ends > running.ends ? stored : (running ?? stored);
  }

  /** Refuses a banned key; decides `anew` if the ban is over by the time at which its windows are known. */
  #refuse(key: ApiKey, ban: RunningBan, anew: () => Decision | Promise<Decision>): Decision | Promise<Decision> {
    const windows = this.#limiter.peek(key, true);
    if (!(windows instanceof Promise)) return this.#tell(windows, ban);
    return windows.then((late) => (runningBan(ban, this.#options.time.now()) ? this.#tell(late, ban) : anew()));
  }

  #tell(windows: Decision, { ends, reason }: RunningBan): Decision {
    const now = this.#options.time.now();
    const { unix, steady } = now;
    // The limiter may count by another clock, by which the day goes on.
    const shown = windows.day.reset > unix ? windows : later(windows, now);
    return banned(shown, { until: ends + unix - steady, reason }, unix);
  }

  /** Passes a decision on, unless it leads to a ban. After a suspension the ban is dated by when it was asked for. */
  #judge(key: ApiKey, decision: Decision, asked?: Moment): Decision | Promise<Decision> {
    const [refusals, banAfter] = [decision.refusals ?? 0, this.#options.banAfter];
    if (banAfter === 0 || refusals < banAfter || refusals <= key.limits.minute) return decision;
    const isDecided = this.#own.get(key.id)?.some(({ isAnswered }) => !isAnswered);
    // What was asked for before a ban earns no second one.
    if (isDecided || this.#banOf(key) || this.#own.size >= OWN_KEYS_MAX) return decision;
    const now = this.#options.time.now();
    const isOver = asked && now.steady >= asked.steady + REFUSAL_WINDOW_SECONDS;
    return isOver ? decision : this.#impose(key, decision, asked ?? now);
  }

  /** Bans a key. Until that is stored, or takes too long, the key is refused by its windows. */
  async #impose(key: ApiKey, decision: Decision, decided: Moment): Promise<Decision> {
    const reason = `refused ${decision.refusals} more times within a minute of a 429`;
    const last = this.#lastOf(key)?.ban ?? key.ban;
    const ban = enforced(nextBan(last, { startedAt: decided.unix, reason }), decided);
    const own: Imposed = { key, since: decided.steady, ban, isAnswered: false, isStored: false };
    this.#own.set(key.id, [...(this.#own.get(key.id) ?? []), own]);
    try {
      const stored = await within(this.#store(own), { ms: STORED_MS, lateness, time: this.#options.time });
      return this.#tellIfRunning(key, decision, stored);
    } catch (error) {
      this.#options.events.countsNotSaved(error);
      own.isAnswered = true;
      this.#options.events.keyBanned({ keyId: key.id, ...ban }, key.plan);
      return this.#tellIfRunning(key, decision, ban);
    }
  }

  /** A process that was suspended meanwhile may find the ban over. */
  #tellIfRunning(key: ApiKey, decision: Decision, ban: RunningBan | undefined): Decision {
    if (!ban || !runningBan(ban, this.#options.time.now())) return decision;
    return this.#tell(this.#limiter.current(key, decision), ban);
  }

  /** The last ban decided here in the generation of the key, or a later one. */
  #lastOf({ id, banGeneration }: ApiKey, isWanted = (_: Imposed) => true): Imposed | undefined {
    return this.#own.get(id)?.findLast((own) => own.key.banGeneration >= banGeneration && isWanted(own));
  }

  /** Stores a ban. Returns the one that is enforced from now on; undefined if its generation is over. */
  async #store(own: Imposed): Promise<RunningBan | undefined> {
    const { id: keyId, plan, banGeneration } = own.key;
    const decided = { banGeneration, isAnswered: own.isAnswered };
    const stored = await this.#options.storage.keys.impose(keyId, own.ban, decided);
    if (!stored) {
      this.#forget(own);
      return undefined;
    }
    // The clock may have been stepped since the decision, by which the ban runs.
    const ends = own.since + stored.ban.endsAt - stored.ban.startedAt;
    const ban = stored.isNew ? { ...stored.ban, ends } : stored.ban;
    if (stored.isNew && !own.isAnswered) this.#options.events.keyBanned({ keyId, ...ban }, plan);
    if (!own.isAnswered || ban.ends > own.ban.ends) own.ban = ban;
    own.isAnswered = true;
    own.isStored = true;
    return ban;
  }

  /** Stores what waits for storage, until that fails again, and forgets what is over. Never rejects. */
  async #storeAll(): Promise<void> {
    const { time, events } = this.#options;
    try {
      for (const own of [...this.#own.values()].flat()) {
        if (own.isAnswered && !own.isStored) await this.#store(own);
        if (own.isStored && !runningBan(own.ban, time.now())) this.#forget(own);
      }
    } catch (error) {
      events.countsNotSaved(error);
    }
  }

  #forget(own: Imposed): void {
    const left = (this.#own.get(own.key.id) ?? []).filter((each) => each !== own);
    if (left.length > 0) this.#own.set(own.key.id, left);
    else this.#own.delete(own.key.id);
  }
}

function lateness(): CatalogError {
  return new CatalogError('unavailable', `The storage did not answer within ${STORED_MS} ms`);
}
