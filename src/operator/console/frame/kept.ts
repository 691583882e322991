import type { Time } from '../../../stdx/time.ts';

/** The time that a page waits for the first result. */
const WAIT_MS = 500;
/** Work that would take more than this share of the time is repeated more rarely. */
const TIME_SHARE = 0.02;

/**
 * Keeps the result of slow work, and repeats the work where that is asked for later than `keptMs`. Gives the latest
 * result; undefined if the first is not there within half a second, and rejects if that failed before.
 */
export function keptResult<T>(
  work: () => Promise<T>,
  { keptMs, time }: { keptMs: number; time: Pick<Time, 'steadyMs'> },
): () => Promise<T | undefined> {
  let last: T | undefined;
  let staleAtMs = 0;
  let running: Promise<T> | undefined;
  const run = async () => {
    const startedMs = time.steadyMs();
    try {
      last = await work();
      staleAtMs = time.steadyMs() + Math.max(keptMs, (time.steadyMs() - startedMs) / TIME_SHARE);
      return last;
    } finally {
      running = undefined;
    }
  };
  return async () => {
    if (!running && time.steadyMs() >= staleAtMs) {
      running = run();
      // A page that waits has the failure; the next one tries again.
      running.catch(() => {});
    }
    if (last !== undefined || !running) return last;
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), WAIT_MS);
    return Promise.race([running, late]).finally(() => clearTimeout(timer));
  };
}
