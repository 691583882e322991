import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemTime, type Time, type Timer } from '../../src/stdx/time.ts';

interface Event {
  atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** The time of one process. */
export interface ProcessTime extends Time {
  /** The process is gone: nothing that it waits for happens. */
  kill(): void;
}

/**
 * Time that passes only when it is told to, for all processes alike. Events happen one after the other, in the order of
 * their moments; between two of them everything that needs no time is done, so that a run depends on nothing else.
 */
export class VirtualTime {
  #nowMs: number;
  #made = 0;
  /** Ascending. */
  readonly #events: Event[] = [];
  readonly #leaps: { readonly fromMs: number; readonly toMs: number }[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  /** True time, in Unix milliseconds: what a clock that was never stepped shows. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Has something happen after so many milliseconds. Returns what calls it off. */
  after(ms: number, run: () => void): () => void {
    this.#made += 1;
    const event = { atMs: this.#nowMs + ms, order: this.#made, run };
    this.#insert(event);
    return () => {
      const at = this.#events.indexOf(event);
      if (at !== -1) this.#events.splice(at, 1);
    };
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** The time of a process that starts now, on a machine whose system clock is ahead by `skewMs`. */
  process(skewMs = () => 0): ProcessTime {
    const waiting = new Set<() => void>();
    const startedMs = this.#nowMs;
    const start = (run: () => void, { ms, repeats }: { ms: number; repeats: boolean }): Timer => {
      let callOff = () => {};
      const cancel = () => {
        callOff();
        waiting.delete(cancel);
      };
      const wait = () => {
        callOff = this.after(ms, () => {
          if (repeats) wait();
          else waiting.delete(cancel);
          run();
        });
      };
      waiting.add(cancel);
      wait();
      const timer: Timer = { unref: () => timer, [Symbol.dispose]: cancel };
      return timer;
    };
    const time = systemTime({
      monotonicMs: () => this.#nowMs - startedMs,
      systemMs: () => this.#nowMs + skewMs(),
      setTimeout: (run, ms) => start(run, { ms, repeats: false }),
      setInterval: (run, ms) => start(run, { ms, repeats: true }),
    });
    return {
      ...time,
      kill: () => {
        for (const cancel of waiting) cancel();
      },
    };
  }

  /** Lets time pass, with all that happens in it. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await quiet();
    while (this.#events[0] && this.#events[0].atMs <= untilMs) {
      const event = this.#events.shift() as Event;
      this.#nowMs = event.atMs;
      event.run();
      await quiet();
    }
    this.#nowMs = untilMs;
  }

  /** Lets time pass without anything happening, as if all processes were suspended. What was due happens next. */
  leap(ms: number): void {
    this.#leaps.push({ fromMs: this.#nowMs, toMs: this.#nowMs + ms });
    this.#nowMs += ms;
    for (const event of this.#events) event.atMs = Math.max(event.atMs, this.#nowMs);
  }

  /** How long the processes were running between two moments: the time without leaps. */
  runningMs(fromMs: number, toMs: number): number {
    let ms = toMs - fromMs;
    for (const leap of this.#leaps) ms -= Math.max(0, Math.min(leap.toMs, toMs) - Math.max(leap.fromMs, fromMs));
    return ms;
  }

  #insert(event: Event): void {
    let at = this.#events.length;
    while (at > 0 && (this.#events[at - 1] as Event).atMs > event.atMs) at -= 1;
    this.#events.splice(at, 0, event);
  }
}

/** Waits until nothing is left that would go on without time. */
async function quiet(): Promise<void> {
  do await nextTurn();
  while (process.getActiveResourcesInfo().includes('Immediate'));
}
