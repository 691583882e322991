import { SYSTEM_TIMERS } from '../../stdx/timers.ts';
import { within } from '../../stdx/within.ts';

class NotYet extends Error {}

/** What `work` comes to, or undefined if it takes longer than `ms`. It goes on then. */
export async function soon<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  try {
    return await within(work, { ms, lateness: () => new NotYet(), timers: SYSTEM_TIMERS });
  } catch (error) {
    if (error instanceof NotYet) return undefined;
    throw error;
  }
}
