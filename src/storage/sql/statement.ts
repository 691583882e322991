import { type Compilable, CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';

/**
 * A prepared statement, compiled on first use: building and compiling takes longer than SQLite takes to run it. The
 * statement must bind each value passed to `build` once, in order, and nothing else.
 */
export class Statement<Values extends readonly unknown[], Row> {
  readonly #build: (db: Kysely<Tables>, ...values: Values) => Compilable<Row>;
  #compiled: CompiledQuery<Row> | undefined;

  constructor(build: (db: Kysely<Tables>, ...values: Values) => Compilable<Row>) {
    this.#build = build;
  }

  async run(db: Kysely<Tables>, ...values: Values): Promise<Row[]> {
    this.#compiled ??= compile(this.#build(db, ...values), values);
    return (await db.executeQuery<Row>({ ...this.#compiled, parameters: values })).rows;
  }
}

/** A multi-row insert, compiled once per number of rows. All rows must list their columns in the same order. */
export class RowsInsert<Row extends object> {
  readonly #build: (db: Kysely<Tables>, rows: readonly Row[]) => Compilable<unknown>;
  readonly #compiled = new Map<number, CompiledQuery>();

  constructor(build: (db: Kysely<Tables>, rows: readonly Row[]) => Compilable<unknown>) {
    this.#build = build;
  }

  async run(db: Kysely<Tables>, rows: readonly Row[]): Promise<void> {
    for (let first = 0; first < rows.length; first += ROWS_PER_STATEMENT) {
      const some = rows.slice(first, first + ROWS_PER_STATEMENT);
      const values: unknown[] = [];
      for (const row of some) for (const column in row) values.push(row[column]);
      let compiled = this.#compiled.get(some.length);
      if (!compiled) {
        compiled = compile(this.#build(db, some), values);
        this.#compiled.set(some.length, compiled);
      }
      await db.executeQuery({ ...compiled, parameters: values });
    }
  }
}

/** Compiles a query and drops its values and syntax tree, which are not needed again. */
function compile<Row>(query: Compilable<Row>, values: readonly unknown[]): CompiledQuery<Row> {
  const compiled = query.compile();
  const { parameters } = compiled;
  if (parameters.length !== values.length || parameters.some((bound, index) => bound !== values[index])) {
    throw new Error(`A statement does not bind its values in order: ${compiled.sql}`);
  }
  return CompiledQuery.raw(compiled.sql) as CompiledQuery<Row>;
}

/** The condition that one of the columns contains a text, regardless of case. */
export function contains(text: string, columns: readonly string[]): RawBuilder<boolean> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const matches = columns.map((column) => sql`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`);
  return sql<boolean>`(${sql.join(matches, sql` or `)})`;
}
