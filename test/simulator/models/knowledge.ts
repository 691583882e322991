import type { Server } from '../server.ts';
import type { VirtualTime } from '../virtual-time.ts';
import type { ModelBan } from './bans.ts';
import type { Counter } from './limits.ts';

/** How often a database that is locked is asked again, and for how long. */
const SETTLED_MS = 1_500;
/** How long a process takes a storage that failed to fail still. */
const FAILING_MS = 3_000;

/** A process at the moment of a decision. */
interface Standing {
  readonly bornMs: number;
  /** Since when it counts without Redis. */
  readonly degradedMs: number | undefined;
  readonly nowMs: number;
  /** Whether the clock of its machine is wrong, and it has not learned the time of Redis, by which bans are dated. */
  readonly isAstray: boolean;
}

interface KnowledgeOptions {
  readonly time: VirtualTime;
  readonly servers: readonly Server[];
  /** When storage, or the way to it, failed for the last time. */
  readonly roughUntilMs: () => number;
}

/** What a process must know by now of the bans that others imposed. */
export class Knowledge {
  readonly #options: KnowledgeOptions;
  #lossMs = 0;
  /** Losses that some processes may not have noticed. */
  #unnoticed = 0;

  constructor(options: KnowledgeOptions) {
    this.#options = options;
  }

  /** The data in Redis is older now, or gone. Unless all processes notice that at once, `notice` is called later. */
  lose({ isNoticed }: { isNoticed: boolean }): void {
    this.#lossMs = this.#options.time.nowMs;
    if (!isNoticed) this.#unnoticed += 1;
  }

  notice(): void {
    this.#lossMs = this.#options.time.nowMs;
    this.#unnoticed -= 1;
  }

  /** Whether Redis lost data that storage could not bring back at once. */
  get isDoubtful(): boolean {
    if (this.#unnoticed > 0) return true;
    return this.#lossMs > 0 && this.#options.roughUntilMs() >= this.#lossMs - SETTLED_MS - FAILING_MS;
  }

  /** Whether a process may count in Redis without what was saved. */
  get mayMiss(): boolean {
    const { time, roughUntilMs } = this.#options;
    return this.#unnoticed > 0 || time.nowMs < roughUntilMs() + SETTLED_MS + FAILING_MS;
  }

  /** Whether a process may decide on a ban before it learns of another one. */
  get mayBeNew(): boolean {
    const { time, servers } = this.#options;
    const { nowMs } = time;
    const isUnmerged = this.#lossMs > 0 && nowMs < this.#lossMs + SETTLED_MS;
    const isApart = ({ ways, life }: Server) =>
      ways.redis.roughUntilMs >= nowMs || (life !== undefined && time.runningMs(life.apartUntilMs, nowMs) < SETTLED_MS);
    return this.isDoubtful || isUnmerged || servers.some(isApart);
  }

  /** Whether a process had to know of a ban when it decided. */
  mustKnow({ bornMs, degradedMs, nowMs, isAstray }: Standing, ban: ModelBan, counter: Counter): boolean {
    const storedMs = ban.storedMs ?? nowMs;
    if (counter === 'alone') return storedMs < bornMs;
    if (counter === 'redis') {
      return !this.isDoubtful && Math.max(storedMs, ban.sharedMs ?? nowMs) < nowMs - SETTLED_MS;
    }
    if (isAstray || degradedMs === undefined || nowMs < degradedMs + SETTLED_MS) return false;
    return storedMs < degradedMs && this.#options.roughUntilMs() < degradedMs - SETTLED_MS;
  }
}
