import { randomUUID } from 'node:crypto';
import type { LimitStorage } from '../../catalog/limit.ts';
import { type RedisCounts, type SharedBan, toStorage } from './counts.ts';

/** A ban decided here that is still to be stored, and then marked as stored in Redis. */
interface NewBan {
  readonly keyId: string;
  readonly ban: SharedBan;
  /** One attempt at storing it, however often it is retried. */
  readonly attempt: string;
  /** When the key's last ban was lifted, as far as that had been followed when this one was decided. */
  readonly followedLift: number | undefined;
  /** The ban that Redis holds until then. */
  inRedis: SharedBan | undefined;
  isStored: boolean;
  isUnderWay: boolean;
}

interface NewBansOptions {
  readonly limits: Pick<LimitStorage, 'insertBan'>;
  readonly redis: Pick<RedisCounts, 'replaceBan'>;
  /** Storage has a ban, perhaps as lifted. */
  readonly onStored: () => void;
  /** Storage has a ban, and Redis knows it. */
  readonly onShared: (keyId: string, ban: SharedBan, stored: SharedBan) => void;
}

/** The bans decided by this instance, until storage and Redis have them. */
export class NewBans {
  readonly #options: NewBansOptions;
  readonly #bans = new Set<NewBan>();

  constructor(options: NewBansOptions) {
    this.#options = options;
  }

  [Symbol.iterator](): Iterator<NewBan> {
    return this.#bans.values();
  }

  /** A ban of a key that storage may not have yet; no other ban of the key is later. */
  find(keyId: string): SharedBan | undefined {
    for (const { keyId: banned, ban } of this.#bans) if (banned === keyId) return ban;
    return undefined;
  }

  /** Stores a ban. If storage fails, `retry` stores it; then this rejects. */
  add(ban: Pick<NewBan, 'keyId' | 'ban' | 'followedLift' | 'inRedis'>): Promise<void> {
    const newBan = { ...ban, attempt: randomUUID(), isStored: false, isUnderWay: false };
    this.#bans.add(newBan);
    return this.#keep(newBan);
  }

  /** Stores what is not stored yet. Rejects at the first failure. */
  async retry(): Promise<void> {
    for (const newBan of this.#bans) await this.#keep(newBan);
  }

  /** A ban that was stored was lifted: Redis must not get it. */
  drop(newBan: NewBan): void {
    this.#bans.delete(newBan);
  }

  async #keep(newBan: NewBan): Promise<void> {
    const { limits, redis, onStored, onShared } = this.#options;
    const { keyId, ban } = newBan;
    if (newBan.isUnderWay) return;
    newBan.isUnderWay = true;
    try {
      if (!newBan.isStored) await limits.insertBan(toStorage(keyId, ban), newBan);
      newBan.isStored = true;
      onStored();
      const stored = { ...ban, isStored: true };
      const replaced = await redis.replaceBan(keyId, newBan.inRedis, stored);
      if (replaced === undefined) return;
      if (typeof replaced === 'object' && (replaced.another?.startedAt ?? 0) < ban.startedAt) {
        // Redis came back with data from before the ban; the next retry puts it there.
        newBan.inRedis = replaced.another;
        return;
      }
      this.#bans.delete(newBan);
      onShared(keyId, ban, stored);
    } finally {
      newBan.isUnderWay = false;
    }
  }
}
