import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Time } from '../../stdx/time.ts';
import type { Finding } from '../../telemetry/finding.ts';
import { soon } from './soon.ts';

/** The time that findings are kept; longer if an examination would take more than this share of the time. */
const KEPT_MS = 600_000;
const TIME_SHARE = 0.02;
/** The time that a page waits for the first findings. */
const WAIT_MS = 500;

/** The findings and their moment, in Unix seconds. */
export interface Examined {
  readonly at: number;
  readonly findings: readonly Finding[];
}

export interface ExaminationOptions {
  /** The checks of `doctor`. It must not hold up the event loop. */
  readonly examine: () => Promise<readonly Finding[]>;
  readonly time: Time;
}

/** Repeats what the command `doctor` checks, while operators look at it. */
export class Examination {
  readonly #options: ExaminationOptions;
  readonly #run = oneAtATime(() => this.#examine());
  #last: Examined | undefined;
  #staleAtMs = 0;

  constructor(options: ExaminationOptions) {
    this.#options = options;
  }

  /** The latest findings; undefined if the first are not there within half a second. Never rejects. */
  async latest(): Promise<Examined | undefined> {
    if (this.#options.time.steadyMs() >= this.#staleAtMs) {
      this.#staleAtMs = Number.POSITIVE_INFINITY;
      const running = this.#run();
      if (!this.#last) await soon(running, WAIT_MS);
    }
    return this.#last;
  }

  async #examine(): Promise<void> {
    const startedMs = this.#options.time.steadyMs();
    const findings = await this.#options.examine().catch((error: Error): Finding[] => {
      const advice = 'run `pet-catalog doctor` on the machine';
      return [{ check: 'doctor', status: 'warning', finding: `The checks failed: ${error.message}`, advice }];
    });
    this.#last = { at: this.#options.time.now().unix, findings };
    const endedMs = this.#options.time.steadyMs();
    this.#staleAtMs = endedMs + Math.max(KEPT_MS, (endedMs - startedMs) / TIME_SHARE);
  }
}
