import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Timers } from '../../src/stdx/timers.ts';
import type { Engine, Failure } from '../../src/storage/engine.ts';
import type { Tables } from '../../src/storage/sql/tables.ts';
import { openSqlite } from '../../src/storage/sqlite/engine.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { Weather } from './weather.ts';

const CONNECTIONS_MAX = 3;
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
  readonly #address: string;
  /** Keeps the database while no process has it open, and reads what is committed, past all faults. */
  readonly #keeper: DatabaseSync;
  readonly #reads = new Map<string, StatementSync>();
  readonly #looks = new Set<() => void>();
  /** While it is true, no write finds room on the disk. */
  isFull = false;

  constructor(name: string, statements: readonly NewStatement[]) {
    this.#address = `file:/${name}?vfs=memdb`;
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
    const driver = new SimulatedDriver(this, process);
    const db = new Kysely<Tables>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => driver,
        createIntrospector: (on) => new SqliteIntrospector(on),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    });
    return {
      db,
      place: 'the simulated database',
      classify,
      lockWriters: async () => {},
      finishLarge: async () => {},
      announce: async () => driver.announce(),
      readAll: () => {
        throw new Error('Nothing reads whole tables here');
      },
      watch: (look) => this.#watch(look, driver, process),
      kill: () => driver.kill(),
    };
  }

  open(): DatabaseSync {
    return new DatabaseSync(this.#address, { timeout: 0 });
  }

  [Symbol.dispose](): void {
    this.#keeper.close();
  }

  /** Notifies all processes but the one that committed. */
  notify(own: (() => void) | undefined): void {
    for (const look of this.#looks) if (look !== own) look();
  }

  #watch(
    look: () => Promise<void>,
    driver: SimulatedDriver,
    { timers, time, weather }: DatabaseProcess,
  ): () => Promise<void> {
    const lookNow = () => void look().catch(() => {});
    const polling = timers.setInterval(lookNow, LOOK_INTERVAL_MS);
    const notified = () => {
      if (weather.fault !== undefined) return;
      time.after(weather.legMs(), () => !driver.isDead && lookNow());
    };
    driver.notified = notified;
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
  const read = async (query: string) =>
    (await db.executeQuery(CompiledQuery.raw(query))).rows as Record<string, unknown>[];
  const statements: NewStatement[] = [];
  const schema = await read("select type, name, sql from sqlite_schema where name not like 'sqlite_%' order by rowid");
  for (const { sql } of schema) statements.push({ sql: String(sql), values: [] });
  for (const { type, name } of schema) {
    if (type !== 'table') continue;
    for (const row of await read(`select * from ${name}`)) {
      const columns = Object.keys(row);
      const sql = `insert into ${name} (${columns.join()}) values (${columns.map(() => '?').join()})`;
      statements.push({ sql, values: Object.values(row) as SQLInputValue[] });
    }
  }
  await db.destroy();
  return statements;
}

/** The process that opens the database. */
interface DatabaseProcess {
  readonly time: VirtualTime;
  readonly timers: Timers;
  readonly weather: Weather;
}

/** The connections of one process. */
class SimulatedDriver implements Driver {
  readonly #database: SimulatedDatabase;
  readonly #process: DatabaseProcess;
  readonly #idle: SimulatedConnection[] = [];
  readonly #open = new Set<SimulatedConnection>();
  readonly #waiting: ((connection: SimulatedConnection) => void)[] = [];
  notified: (() => void) | undefined;
  isDead = false;
  #hasNews = false;

  constructor(database: SimulatedDatabase, process: DatabaseProcess) {
    this.#database = database;
    this.#process = process;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SimulatedConnection> {
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#open.size < CONNECTIONS_MAX) return this.#connect();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async releaseConnection(connection: SimulatedConnection): Promise<void> {
    if (connection.isBroken) this.#open.delete(connection);
    const next = this.#waiting.shift();
    if (next) next(connection.isBroken ? this.#connect() : connection);
    else if (!connection.isBroken) this.#idle.push(connection);
  }

  async beginTransaction(connection: SimulatedConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  async commitTransaction(connection: SimulatedConnection): Promise<void> {
    await connection.commit(() => {
      if (this.#hasNews) this.#database.notify(this.notified);
      this.#hasNews = false;
    });
  }

  async rollbackTransaction(connection: SimulatedConnection): Promise<void> {
    this.#hasNews = false;
    connection.rollBack();
  }

  async destroy(): Promise<void> {
    this.kill();
  }

  announce(): void {
    this.#hasNews = true;
  }

  /** The process is gone, with all its connections. */
  kill(): void {
    this.isDead = true;
    for (const connection of this.#open) connection.break();
    this.#open.clear();
  }

  #connect(): SimulatedConnection {
    const connection = new SimulatedConnection(this.#database, this.#process, () => this.isDead);
    this.#open.add(connection);
    return connection;
  }
}

class SimulatedConnection implements DatabaseConnection {
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

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    await this.#travel('unavailable');
    const result = this.#run(sql, parameters);
    await this.#travel('unavailable');
    return result as QueryResult<R>;
  }

  /** The answer may be lost before the server committed as well as after it: the process cannot tell. */
  async commit(onDone: () => void): Promise<void> {
    await this.#travel('unknown');
    this.#run('commit', []);
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

  streamQuery = noStream;

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

  #run(sql: string, parameters: readonly unknown[]): QueryResult<unknown> {
    if (this.isBroken) throw new DatabaseFailed('unavailable');
    if (this.#database.isFull && /^(insert|update|delete|commit)/.test(sql) && this.#sqlite.isTransaction) {
      this.rollBack();
      throw new DatabaseFailed('full');
    }
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#sqlite.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return resultOf(statement, parameters);
  }
}

function resultOf(statement: StatementSync, parameters: readonly unknown[]): QueryResult<unknown> {
  const values = parameters as SQLInputValue[];
  if (statement.columns().length > 0) return { rows: statement.all(...values) };
  const { changes } = statement.run(...values);
  return { rows: [], numAffectedRows: BigInt(changes) };
}

function classify(error: unknown): Failure | undefined {
  if (error instanceof DatabaseFailed) return error.failure;
  return (error as { errcode?: number }).errcode === BUSY_CODE ? 'busy' : undefined;
}

function noStream(): never {
  throw new Error('Nothing is streamed here');
}
