import type { Time } from '../../stdx/time.ts';
import type { RowGuard } from './checksum.ts';
import type { Joined, Transactions } from './transactions.ts';

export interface NounOptions {
  readonly guard: RowGuard;
  readonly time: Time;
}

/** The storage of one noun: what its statements run on, the guard of its rows, and the time. */
export abstract class SqlNoun<On extends Joined = Transactions> {
  protected readonly transactions: On;
  protected readonly guard: RowGuard;
  protected readonly time: Time;

  constructor(transactions: On, { guard, time }: NounOptions) {
    this.transactions = transactions;
    this.guard = guard;
    this.time = time;
  }

  /** Unix seconds. */
  protected get now(): number {
    return this.time.now().unix;
  }
}
