import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../client/src/pet-catalog.ts';
import type { ManualClock } from '../clock.ts';

/** Turns of the event loop without a request in flight, after which nothing but a wait is left to happen. */
const QUIET_TURNS = 5;

/** Time that passes when everybody waits, for the clients and the service alike. */
export interface VirtualTime {
  /** For the option `clock` of a client. */
  readonly clock: Clock;
  /** For the option `fetch` of a client: the time stands still while a request is under way. */
  readonly fetch: typeof fetch;
  /** Milliseconds since it began. */
  elapsedMs(): number;
  /** Lets time pass until the work is done. */
  run<Result>(work: Promise<Result>): Promise<Result>;
}

interface Sleeper {
  readonly until: number;
  wake(): void;
}

/** Time that is driven by the waits of clients, and turns the clock of the service with it. */
export function virtualTime(serviceClock: ManualClock): VirtualTime {
  const start = serviceClock.now().unix * 1_000;
  let now = start;
  let inFlight = 0;
  const sleepers = new Set<Sleeper>();

  const sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const sleeper = {
        until: now + ms,
        wake: () => {
          sleepers.delete(sleeper);
          resolve();
        },
      };
      sleepers.add(sleeper);
      signal.addEventListener('abort', () => {
        sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });

  const advance = () => {
    const next = [...sleepers].sort((one, other) => one.until - other.until)[0];
    if (!next) return;
    const seconds = Math.floor(next.until / 1_000) - Math.floor(now / 1_000);
    now = Math.max(now, next.until);
    if (seconds > 0) serviceClock.advance(seconds);
    for (const sleeper of sleepers) if (sleeper.until <= now) sleeper.wake();
  };

  return {
    clock: { now: () => now, sleep },
    fetch: async (input, init) => {
      inFlight += 1;
      try {
        const response = await fetch(input, init);
        const text = await response.text();
        return new Response(response.status === 204 || response.status === 304 ? null : text, response);
      } finally {
        inFlight -= 1;
      }
    },
    elapsedMs: () => now - start,
    async run(work) {
      let isDone = false;
      const finished = work.finally(() => {
        isDone = true;
      });
      finished.catch(() => {});
      for (let quiet = 0; !isDone; ) {
        await nextTurn();
        quiet = inFlight === 0 ? quiet + 1 : 0;
        if (quiet < QUIET_TURNS) continue;
        quiet = 0;
        advance();
      }
      return finished;
    },
  };
}
