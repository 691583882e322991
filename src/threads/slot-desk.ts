import type { ApiKey } from '../catalog/api-key.ts';
import { CatalogError } from '../catalog/error.ts';
import { CountKeeper, type CountKeeperOptions } from '../limits/count-keeper.ts';
import type { BanState, WindowState } from '../limits/window.ts';
import type { Desk, HandedSlot } from './shared-limiter.ts';
import { type SlotMemory, Slots, UNTOLD } from './slots.ts';

/** How many of the oldest slots are examined for one whose key may be evicted. */
const LOOKS_MAX = 16;
/** Between two tries the counts are saved, so that keys may be evicted. */
const TRIES_MAX = 3;

/**
 * The desk of the main thread: hands out slots, saves what changed in them, evicts the oldest keys when they are used
 * up, and takes lifted bans out of them. It alone knows which key has which slot, and why keys are banned.
 */
export class SlotDesk implements Desk, AsyncDisposable {
  readonly #slots: Slots;
  readonly #held = new Map<string, number>();
  /** The key of each slot that was handed out. */
  readonly #holders: string[] = [];
  /** The slot that is handed out next: the oldest, once all were. */
  #next = 0;
  readonly #bans = new Map<string, BanState>();
  readonly #keeper: CountKeeper;

  constructor(memory: SlotMemory, options: CountKeeperOptions) {
    this.#slots = new Slots(memory);
    this.#keeper = new CountKeeper(options, {
      find: (keyId) => this.#find(keyId),
      takeChanged: () => new Set(this.#slots.takeChanged().flatMap((slot) => this.#holders[slot] ?? [])),
      bans: () => [...this.#bans],
      replaceBan: (keyId, ban, by) => this.#replaceBan(keyId, ban, by),
    });
  }

  async handOut(keyId: string): Promise<HandedSlot> {
    for (let tries = 0; ; tries += 1) {
      const slot = this.#held.get(keyId);
      if (slot !== undefined) return { slot, generation: this.#slots.generation(slot), ban: this.#bans.get(keyId) };
      if (tries === TRIES_MAX) break;
      if (tries > 0) await this.#keeper.save();
      await this.#keeper.read(keyId, (state) => this.#hold(keyId, state));
    }
    throw new CatalogError('unavailable', 'The counts of too many keys are not stored yet; try again in a second');
  }

  async keepBan(key: Pick<ApiKey, 'id' | 'plan'>, ban: BanState): Promise<void> {
    this.#bans.set(key.id, ban);
    await this.#keeper.keepBan(key, ban);
  }

  refreshBans(): Promise<void> {
    return this.#keeper.refreshBans();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#keeper[Symbol.asyncDispose]();
  }

  #find(keyId: string): WindowState | undefined {
    const slot = this.#held.get(keyId);
    return slot === undefined ? undefined : this.#slots.locked(slot, () => this.#read(slot, keyId));
  }

  #read(slot: number, keyId: string): WindowState {
    return this.#slots.read(slot, this.#bans.get(keyId));
  }

  #hold(keyId: string, state: WindowState): void {
    const slot = this.#takeSlot();
    if (slot === undefined) return;
    this.#slots.locked(slot, () => this.#slots.write(slot, state));
    this.#held.set(keyId, slot);
    this.#holders[slot] = keyId;
    if (state.ban) this.#bans.set(keyId, state.ban);
  }

  /** A slot that no key has; undefined if the counts of the oldest keys are not stored yet. */
  #takeSlot(): number | undefined {
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const slot = this.#next;
      this.#next = (slot + 1) % this.#slots.count;
      const holder = this.#holders[slot];
      if (holder === undefined || this.#evict(holder, slot)) return slot;
    }
    return undefined;
  }

  /** Evicts a key if storage has all of it. The slot gets a new generation, so that no thread counts in it any more. */
  #evict(keyId: string, slot: number): boolean {
    const isEvicted = this.#slots.locked(slot, () => {
      // A thread may have begun a ban that this one has yet to be told of.
      const isToldOf = this.#read(slot, keyId).ban?.reason !== UNTOLD;
      if (this.#slots.hasChanged(slot) || !this.#keeper.isSaved(keyId) || !isToldOf) return false;
      this.#slots.renew(slot);
      return true;
    });
    if (!isEvicted) return false;
    this.#held.delete(keyId);
    this.#bans.delete(keyId);
    return true;
  }

  #replaceBan(keyId: string, ban: BanState, by: BanState | undefined): void {
    const slot = this.#held.get(keyId);
    if (slot === undefined) return;
    this.#slots.locked(slot, () => {
      const state = this.#read(slot, keyId);
      if (state.ban?.starts !== ban.starts) return;
      this.#slots.write(slot, { ...state, ban: by });
      if (by) this.#bans.set(keyId, by);
      else this.#bans.delete(keyId);
    });
  }
}
