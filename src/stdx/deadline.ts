import type { Time, Timer } from './time.ts';

export interface Deadline {
  readonly ms: number;
  readonly lateness: () => Error;
  readonly time: Pick<Time, 'setTimeout'>;
}

/** Settles as `work` does, unless that takes longer than `ms`: then rejects with what `lateness` makes. */
export async function within<T>(work: Promise<T>, { ms, lateness, time }: Deadline): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = time.setTimeout(() => reject(lateness()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer?.[Symbol.dispose]();
  }
}
