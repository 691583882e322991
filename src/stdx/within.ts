import type { Timer, Timers } from './timers.ts';

export interface Deadline {
  readonly ms: number;
  readonly lateness: () => Error;
  readonly timers: Timers;
}

/** Settles as `work` does, unless that takes longer than `ms`: then rejects with what `lateness` makes. */
export async function within<T>(work: Promise<T>, { ms, lateness, timers }: Deadline): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = timers.setTimeout(() => reject(lateness()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer?.[Symbol.dispose]();
  }
}
