import type { Kysely, Transaction } from 'kysely';
import type { Tables } from './sql/tables.ts';

/**
 * `busy`: somebody else holds a lock, try again. `unavailable`: not now, and trying again at once is no use.
 * `unknown`: what was asked for may have been stored or not.
 */
export type Failure = 'busy' | 'unavailable' | 'unknown';

/** What differs between the engines. */
export interface Engine {
  readonly db: Kysely<Tables>;
  /** What an error of this engine means, told by its code; undefined for a defect. */
  classify(error: unknown): Failure | undefined;
  /** From here to its end no other transaction that asks for the same runs, in whatever process. */
  lockWriters(trx: Transaction<Tables>): Promise<void>;
  /** Lets others look for changes at once when the transaction is done, where they would notice only later. */
  announce(trx: Transaction<Tables>): Promise<void>;
  /** Every row of a table, a thousand at a time, in whatever order. */
  readAll(trx: Transaction<Tables>, table: keyof Tables): AsyncIterable<Readonly<Record<string, unknown>>[]>;
  /** Has changes looked for when others may have made some, until the function that it returns is called. */
  watch(look: () => Promise<void>): () => Promise<void>;
}

/** A database that cannot be opened; the message says which, why, and what to do. */
export class DatabaseNotOpened extends Error {}
