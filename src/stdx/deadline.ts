import type { Time } from './time.ts';

export interface Deadline {
  readonly ms: number;
  readonly lateness: () => Error;
  readonly time: Pick<Time, 'setTimeout'>;
}

/** Settles as `work` does, unless that takes longer than `ms`: then rejects with what `lateness` makes. */
export async function within<T>(work: Promise<T>, { ms, lateness, time }: Deadline): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  using _timer = time.setTimeout(() => reject(lateness()), ms);
  return await Promise.race([work, late]);
}
