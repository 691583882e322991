import type { VirtualTime } from '../virtual-time.ts';

/** How often a database that is locked is asked again, and for how long. */
const SETTLED_MS = 1_500;
/** How long a process takes a storage that failed to fail still. */
const FAILING_MS = 3_000;

interface KnowledgeOptions {
  readonly time: VirtualTime;
  /** When storage, or the way to it, failed for the last time. */
  readonly roughUntilMs: () => number;
}

/** What the processes know of what was saved. */
export class Knowledge {
  readonly #options: KnowledgeOptions;
  /** Losses that some processes may not have noticed. */
  #unnoticed = 0;

  constructor(options: KnowledgeOptions) {
    this.#options = options;
  }

  /** The data in Redis is older now, or gone. Unless all processes notice that at once, `notice` is called later. */
  lose({ isNoticed }: { isNoticed: boolean }): void {
    if (!isNoticed) this.#unnoticed += 1;
  }

  notice(): void {
    this.#unnoticed -= 1;
  }

  /** Whether a process may count in Redis without what was saved. */
  get mayMiss(): boolean {
    const { time, roughUntilMs } = this.#options;
    return this.#unnoticed > 0 || time.nowMs < roughUntilMs() + SETTLED_MS + FAILING_MS;
  }
}
