import { MACHINE } from '../../stdx/time.ts';
import { within } from '../../stdx/within.ts';

class NotYet extends Error {}

/** The result of `work`, or undefined after `ms`; the work then continues. */
export async function soon<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  try {
    return await within(work, { ms, lateness: () => new NotYet(), time: MACHINE });
  } catch (error) {
    if (error instanceof NotYet) return undefined;
    throw error;
  }
}
