import type { Sql } from 'sql-template-tag';
import type { Capacity } from '../catalog/storage.ts';
import type { Tables } from './sql/tables.ts';

/**
 * `busy`: another transaction holds a lock, retry at once. `unavailable`: an immediate retry is no use. `full`: nothing
 * was stored, because the disk is full. `unknown`: the write may or may not have been stored.
 */
export type Failure = 'busy' | 'unavailable' | 'full' | 'unknown';

/** A statement in the spelling of each engine, with the values that it binds. */
export interface Statement extends Pick<Sql, 'sql' | 'text' | 'values'> {
  /** The longest wait for the answer of a server, if another than that of the engine. */
  readonly deadlineMs?: number;
}

/**
 * A lock that transactions of all processes share. `writers`: of those that decide by what they read. `counts`: of
 * those that raise counts, so that each reads the clock after everything it meets was stored.
 */
export type Lock = 'writers' | 'counts';

/** Runs statements: a database, or a transaction in it. */
export interface Connection {
  /** The rows that a statement returns. Throws what the engine throws, as `run` does. */
  all<Row>(statement: Statement): Promise<Row[]>;
  /** Runs a statement that returns nothing, and tells how many rows it inserted, changed or deleted. */
  run(statement: Statement): Promise<number>;
}

/** Statements of one transaction, until the work that it was made for is done. */
export interface Transaction extends Connection {
  readonly isTransaction: true;
}

/**
 * `snapshot`: every statement sees the database as it was at the first one. `unsynced`: a power cut before the next
 * `sync` may undo it, where that spares the commit a wait that holds up the process.
 */
export type TransactionKind = 'snapshot' | 'unsynced';

/** An open database. Statements outside of a transaction are committed one by one. */
export interface Database extends Connection {
  /** Runs work in a transaction, and commits it, or rolls it back if the work throws. */
  transaction<T>(work: (trx: Transaction) => Promise<T>, kind?: TransactionKind): Promise<T>;
  /** Waits, without blocking, until every commit is on the disk. Absent where no commit is `unsynced`. */
  sync?(): Promise<void>;
  close(): Promise<void>;
}

export interface Engine {
  readonly db: Database;
  /** The file or the address, without its password, for messages to operators. */
  readonly place: string;
  /** Classifies an error of this engine by its code; undefined for a defect. */
  classify(error: unknown): Failure | undefined;
  /** Says what the database lacks, if an operator must remove the error. */
  explain?(error: unknown): DatabaseLacks | undefined;
  /**
   * Takes a lock until the transaction ends: one holder at a time, in all processes. Absent where the begin of a
   * transaction takes the only one.
   */
  lock?(trx: Transaction, what: Lock): Promise<void>;
  /** Notifies other processes on commit, where they would otherwise notice only at their next poll. */
  announce?(trx: Transaction): Promise<void>;
  /** Every row of a table in no particular order, a thousand at a time. */
  readAll(trx: Transaction, table: keyof Tables): AsyncIterable<Readonly<Record<string, unknown>>[]>;
  /**
   * An expression that names the run of the server: after a restart or a fail-over, before which changes may have been
   * lost, it has another value. Absent where no change that was read is ever lost.
   */
  readonly run?: Sql;
  /** Replaces every connection, once it is not in use: what was opened before may lead to another server. */
  reconnect?(): void;
  /** Calls `look` whenever other processes may have made changes. Returns the function that stops it. */
  watch(look: () => Promise<void>): () => Promise<void>;
  size(): Promise<Pick<Capacity, 'databaseBytes' | 'logBytes' | 'diskFreeBytes'>>;
  /** Throws if what is written would be lost, because the files of the database are damaged, or were replaced. */
  assertInPlace?(): void;
  /** Fulfilled, with the reason, when this process can no longer write and has to end. */
  readonly failed?: Promise<DatabaseNotOpened>;
}

/** A database cannot do its work until an operator acts. The message says what is missing, and what to do. */
export class DatabaseLacks extends Error {}

/** Why an id collides that a counter gave, and what to do. */
export const COUNTER_BEHIND =
  'a counter is behind the ids that were given: `pet-catalog doctor` has the line that mends it';

/** A claim of a database by a service, given back when disposed of. */
export interface Claim extends AsyncDisposable {
  /**
   * Fulfilled if another process took the claim while this one could not hold it, with why the service must stop.
   * Absent where a claim is held until its process ends.
   */
  readonly taken?: Promise<DatabaseNotOpened>;
}

/** A database cannot be opened. The message says which, why, and what to do. */
export class DatabaseNotOpened extends Error {}
