import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import sql, { raw } from 'sql-template-tag';
import type { Time } from '../../src/stdx/time.ts';
import type { Database, Engine, Failure, Statement, Transaction } from '../../src/storage/engine.ts';
import { openSqlite } from '../../src/storage/sqlite/engine.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Weather } from './weather.ts';

/** Of a process, so that its transactions wait for each other, as on the embedded database. */
const CONNECTIONS_MAX = 1;
/** As of PostgreSQL: a poll beside the notifications, which may be lost, and the deadline of an answer. */
const LOOK_INTERVAL_MS = 1_000;
const ANSWER_TIMEOUT_MS = 5_000;
const BUSY_CODE = 5;

/** A statement failed, or its answer was lost. */
class DatabaseFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`the simulated database: ${failure}`);
    this.failure = failure;
  }
}

export interface NewStatement {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

/** One database in memory for any number of processes: SQLite does the work, and keeps what was committed. */
export class SimulatedDatabase implements Disposable {
  readonly #name: string;
  /** Keeps the database while no process has it open, and reads what is committed, past all faults. */
  #keeper: DatabaseSync;
  /** Has what was committed until it was cut off from its primary. */
  #standby: DatabaseSync | undefined;
  readonly #reads = new Map<string, StatementSync>();
  readonly #looks = new Set<() => void>();
  readonly #pools = new Set<SimulatedPool>();
  /** How many servers there were: each takes over from the one before. */
  #runs = 1;
  /** While it is true, no write finds room on the disk. */
  isFull = false;

  constructor(name: string, statements: readonly NewStatement[]) {
    this.#name = name;
    this.#keeper = this.open();
    for (const { sql, values } of statements) this.#keeper.prepare(sql).run(...values);
  }

  /** What is committed. Undefined while a transaction holds the lock. */
  read<Row>(sql: string): Row[] | undefined {
    const statement = this.#reads.get(sql) ?? this.#keeper.prepare(sql);
    this.#reads.set(sql, statement);
    try {
      return statement.all() as Row[];
    } catch (error) {
      if (classify(error) !== 'busy') throw error;
      return undefined;
    }
  }

  /** Opens it for one process. */
  engine(process: DatabaseProcess): Engine & { kill(): void } {
    const db = new SimulatedPool(this, process);
    this.#pools.add(db);
    return {
      run: sql`simulated_run()`,
      db,
      place: 'the simulated database',
      classify,
      announce: async () => db.announce(),
      size: async () => ({ databaseBytes: 0, logBytes: 0, diskFreeBytes: Number.NaN }),
      readAll: () => {
        throw new Error('Nothing reads whole tables here');
      },
      watch: (look) => this.#watch(look, db, process),
      kill: () => {
        this.#pools.delete(db);
        db.kill();
      },
    };
  }

  open(): DatabaseSync {
    const run = String(this.#runs);
    const server = new DatabaseSync(this.#address(this.#runs), { timeout: 0 });
    server.function('simulated_run', () => run);
    return server;
  }

  /** Has a standby that receives nothing committed from now on. False while a transaction holds the lock. */
  cutStandbyOff(): boolean {
    const address = this.#address(this.#runs + 1);
    const standby = new DatabaseSync(address, { timeout: 0 });
    try {
      this.#keeper.exec(`vacuum into '${address}'`);
    } catch (error) {
      standby.close();
      if (classify(error) !== 'busy') throw error;
      return false;
    }
    this.#standby = standby;
    return true;
  }

  /** The primary is gone, with all connections to it, and the standby answers in its place. */
  failOver(): void {
    if (!this.#standby) throw new Error('There is no standby');
    for (const pool of this.#pools) pool.disconnect();
    this.#reads.clear();
    this.#keeper.close();
    this.#keeper = this.#standby;
    this.#standby = undefined;
    this.#runs += 1;
  }

  [Symbol.dispose](): void {
    this.#keeper.close();
    this.#standby?.close();
  }

  #address(run: number): string {
    return `file:/${this.#name}-${run}?vfs=memdb`;
  }

  /** Notifies all processes but the one that committed. */
  notify(own: (() => void) | undefined): void {
    for (const look of this.#looks) if (look !== own) look();
  }

  #watch(look: () => Promise<void>, pool: SimulatedPool, { own, time, weather }: DatabaseProcess): () => Promise<void> {
    const lookNow = () => void look().catch(() => {});
    const polling = own.setInterval(lookNow, LOOK_INTERVAL_MS);
    const notified = () => {
      if (weather.fault !== undefined) return;
      time.after(weather.legMs(), () => !pool.isDead && lookNow());
    };
    pool.notified = notified;
    this.#looks.add(notified);
    return async () => {
      polling[Symbol.dispose]();
      this.#looks.delete(notified);
    };
  }
}

/** The statements that make a new database whose tables are up to date. */
export async function newDatabaseStatements(): Promise<readonly NewStatement[]> {
  const { db } = await openSqlite(':memory:');
  const statements: NewStatement[] = [];
  const schema = await db.all<{ type: string; name: string; sql: string }>(
    sql`select type, name, sql from sqlite_schema where name not like 'sqlite_%' order by rowid`,
  );
  for (const made of schema) statements.push({ sql: made.sql, values: [] });
  for (const { type, name } of schema) {
    if (type !== 'table') continue;
    for (const row of await db.all<Record<string, SQLInputValue>>(sql`select * from ${raw(name)}`)) {
      const columns = Object.keys(row);
      statements.push({
        sql: `insert into ${name} (${columns.join()}) values (${columns.map(() => '?').join()})`,
        values: Object.values(row),
      });
    }
  }
  await db.close();
  return statements;
}

/** The process that opens the database. */
interface DatabaseProcess {
  readonly time: VirtualTime;
  /** The time of the process. */
  readonly own: Pick<Time, 'setInterval'>;
  readonly weather: Weather;
}

/** The connections of one process. */
class SimulatedPool implements Database {
  readonly #database: SimulatedDatabase;
  readonly #process: DatabaseProcess;
  readonly #idle: SimulatedConnection[] = [];
  readonly #open = new Set<SimulatedConnection>();
  readonly #waiting: ((connection: SimulatedConnection) => void)[] = [];
  notified: (() => void) | undefined;
  isDead = false;
  #isClosed = false;
  #hasNews = false;

  constructor(database: SimulatedDatabase, process: DatabaseProcess) {
    this.#database = database;
    this.#process = process;
  }

  all<Row>(statement: Statement): Promise<Row[]> {
    return this.#use((connection) => connection.all<Row>(statement));
  }

  run(statement: Statement): Promise<number> {
    return this.#use((connection) => connection.run(statement));
  }

  transaction<T>(work: (trx: Transaction) => Promise<T>): Promise<T> {
    return this.#use(async (connection) => {
      await connection.run(sql`begin immediate`);
      try {
        const result = await work(connection);
        await connection.commit(() => {
          if (this.#hasNews) this.#database.notify(this.notified);
          this.#hasNews = false;
        });
        return result;
      } catch (error) {
        this.#hasNews = false;
        connection.rollBack();
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.kill();
  }

  announce(): void {
    this.#hasNews = true;
  }

  /** The process is gone, with all its connections. */
  kill(): void {
    this.isDead = true;
    this.disconnect();
    this.#open.clear();
  }

  disconnect(): void {
    for (const connection of this.#open) connection.break();
  }

  async #use<T>(work: (connection: SimulatedConnection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error('The simulated database was closed');
    const connection = await this.#acquire();
    try {
      return await work(connection);
    } finally {
      this.#release(connection);
    }
  }

  async #acquire(): Promise<SimulatedConnection> {
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#open.size < CONNECTIONS_MAX) return this.#connect();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release(connection: SimulatedConnection): void {
    if (connection.isBroken) this.#open.delete(connection);
    const next = this.#waiting.shift();
    if (next) next(connection.isBroken ? this.#connect() : connection);
    else if (!connection.isBroken) this.#idle.push(connection);
  }

  #connect(): SimulatedConnection {
    const connection = new SimulatedConnection(this.#database, this.#process, () => this.isDead);
    this.#open.add(connection);
    return connection;
  }
}

class SimulatedConnection implements Transaction {
  readonly isTransaction = true;
  readonly #database: SimulatedDatabase;
  readonly #process: DatabaseProcess;
  readonly #isDead: () => boolean;
  readonly #sqlite: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  isBroken = false;

  constructor(database: SimulatedDatabase, process: DatabaseProcess, isDead: () => boolean) {
    this.#database = database;
    this.#process = process;
    this.#isDead = isDead;
    this.#sqlite = database.open();
  }

  async all<Row>(statement: Statement): Promise<Row[]> {
    await this.#travel('unavailable');
    const rows = this.#prepare(statement.sql).all(...(statement.values as SQLInputValue[]));
    await this.#travel('unavailable');
    return rows as Row[];
  }

  async run(statement: Statement): Promise<number> {
    await this.#travel('unavailable');
    const { changes } = this.#prepare(statement.sql).run(...(statement.values as SQLInputValue[]));
    await this.#travel('unavailable');
    return Number(changes);
  }

  /** The answer may be lost before the server committed as well as after it: the process cannot tell. */
  async commit(onDone: () => void): Promise<void> {
    await this.#travel('unknown');
    this.#prepare('commit').run();
    onDone();
    await this.#travel('unknown');
  }

  rollBack(): void {
    if (!this.isBroken && this.#sqlite.isTransaction) this.#sqlite.exec('rollback');
  }

  /** The server rolls back what was not committed. */
  break(): void {
    if (this.isBroken) return;
    this.isBroken = true;
    this.#statements.clear();
    this.#sqlite.close();
  }

  /** One leg of the way to the server and back. */
  async #travel(failure: Failure): Promise<void> {
    const { time, weather } = this.#process;
    const ms = weather.fault === 'silent' ? ANSWER_TIMEOUT_MS : weather.legMs();
    if (ms > 0) await time.wait(ms);
    // What waits for a process that is gone waits for ever.
    if (this.#isDead()) await new Promise(() => {});
    if (ms < ANSWER_TIMEOUT_MS && weather.fault !== 'down' && !weather.loses()) return;
    this.break();
    throw new DatabaseFailed(failure);
  }

  /** What the server is to run. Throws if it does not get it, or has no room for what it writes. */
  #prepare(text: string): StatementSync {
    if (this.isBroken) throw new DatabaseFailed('unavailable');
    if (this.#database.isFull && /^\s*(insert|update|delete|commit)/.test(text) && this.#sqlite.isTransaction) {
      this.rollBack();
      throw new DatabaseFailed('full');
    }
    const statement = this.#statements.get(text) ?? this.#sqlite.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

function classify(error: unknown): Failure | undefined {
  if (error instanceof DatabaseFailed) return error.failure;
  return (error as { errcode?: number }).errcode === BUSY_CODE ? 'busy' : undefined;
}
