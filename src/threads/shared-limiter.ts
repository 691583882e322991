import type { ApiKey } from '../catalog/api-key.ts';
import type { Limiter } from '../limits/limiter.ts';
import { type BanState, type Charge, charge, type Decision, later, look, type WindowState } from '../limits/window.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Clock } from '../stdx/clock.ts';
import { type BanReason, type SlotMemory, Slots, UNTOLD } from './slots.ts';

/** A slot that was handed out to a key, for as long as it is of this generation. */
export interface HandedSlot {
  readonly slot: number;
  readonly generation: number;
  /** Of the key's last ban; undefined without one. */
  readonly ban: BanReason | undefined;
}

/** What the main thread does for the limiters of all threads. */
export interface Desk extends AsyncDisposable {
  /** The slot of a key, with what storage remembers of the key. Rejects with `unavailable` if that cannot be read. */
  handOut(keyId: string): Promise<HandedSlot>;
  /** Stores and announces a ban that a charge began. */
  keepBan(key: Pick<ApiKey, 'id' | 'plan'>, ban: BanState): Promise<void>;
  refreshBans(): Promise<void>;
}

export interface SharedLimiterOptions {
  readonly memory: SlotMemory;
  readonly desk: Desk;
  readonly clock: Clock;
  /** The fewest refusals that lead to a ban; 0 disables bans. */
  readonly banAfter: number;
}

/**
 * Counts in memory that the threads of a process share: exact, because each charge reads and writes its slot under a
 * lock. A key whose slot is known is charged without a message to another thread.
 */
export class SharedLimiter implements Limiter {
  readonly state = 'ok';
  readonly #options: SharedLimiterOptions;
  readonly #slots: Slots;
  readonly #handed: BoundedMap<HandedSlot>;
  readonly #asking = new Map<string, Promise<void>>();

  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.#slots = new Slots(options.memory);
    this.#handed = new BoundedMap(this.#slots.count);
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const handed = this.#handed.get(key.id);
    const charged = handed && this.#charge(handed, key);
    // Start over after every wait: the slot may have gone to another key meanwhile.
    if (!charged) return this.#ask(key.id).then(() => this.charge(key));
    const { decision, newBan } = charged;
    if (!newBan) return decision;
    this.#handed.set(key.id, { ...handed, ban: newBan });
    return this.#options.desk.keepBan({ id: key.id, plan: key.plan }, newBan).then(() => decision);
  }

  peek(key: ApiKey): Decision | Promise<Decision> {
    return this.#look(key) ?? this.#ask(key.id).then(() => this.peek(key));
  }

  current(key: ApiKey, decision: Decision): Decision {
    const now = this.#options.clock();
    return now.unix === decision.now ? decision : (this.#look(key) ?? later(decision, now));
  }

  refreshBans(): Promise<void> {
    return this.#options.desk.refreshBans();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#options.desk[Symbol.asyncDispose]();
  }

  /** Undefined if the slot is another key's by now, or if this thread was not told why the key is banned. */
  #charge({ slot, generation, ban }: HandedSlot, key: ApiKey): Charge | undefined {
    const slots = this.#slots;
    const now = this.#options.clock();
    if (!slots.lock(slot, generation)) return undefined;
    try {
      const known = slots.read(slot, ban);
      const charged = charge(known, key.limits, now, this.#options.banAfter);
      // A refusal during a ban has changed nothing.
      if (charged.decision.ban?.reason === UNTOLD) return undefined;
      if (charged.state === known) return charged;
      slots.write(slot, charged.state);
      slots.markChanged(slot);
      return charged;
    } finally {
      slots.unlock(slot);
    }
  }

  /** Undefined as of `#charge`, and for a key whose slot is unknown here. */
  #look(key: ApiKey): Decision | undefined {
    const handed = this.#handed.get(key.id);
    const known = handed && this.#read(handed);
    const decision = known && look(known, key.limits, this.#options.clock());
    return decision?.ban?.reason === UNTOLD ? undefined : decision;
  }

  #read({ slot, generation, ban }: HandedSlot): WindowState | undefined {
    if (!this.#slots.lock(slot, generation)) return undefined;
    const state = this.#slots.read(slot, ban);
    this.#slots.unlock(slot);
    return state;
  }

  #ask(keyId: string): Promise<void> {
    const underWay = this.#asking.get(keyId);
    if (underWay) return underWay;
    const asking = this.#options.desk
      .handOut(keyId)
      .then((handed) => {
        this.#handed.set(keyId, handed);
      })
      .finally(() => this.#asking.delete(keyId));
    this.#asking.set(keyId, asking);
    return asking;
  }
}
