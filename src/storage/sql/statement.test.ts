import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql, { Sql } from 'sql-template-tag';
import type { Connection } from '../engine.ts';
import { openEngine } from '../open.ts';
import { assignments, contains, insertInto, one, rowsInsert, where } from './statement.ts';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';

const row = (id: number, name = `category ${id}`, description: string | null = null): Tables['categories'] => {
  return { id, name, description, created_at: 0, created_by: 'k' };
};
const COLUMNS = Object.keys(row(1)).length;

async function stored(db: Connection): Promise<Tables['categories'][]> {
  const rows = await db.all<Tables['categories']>(sql`
    select id, name, description, created_at, created_by from categories order by id`);
  return rows.map((each) => ({ ...each }));
}

test('rows are inserted by the names of their columns, whatever their order', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const { created_by, name, ...rest } = row(2, "o'clock; --", '?');
  assert.equal(await db.run(insertInto('categories', [row(1), row(3)])), 2);
  assert.equal(await db.run(insertInto('categories', [{ created_by, ...rest, name }])), 1);
  assert.deepEqual(await stored(db), [row(1), row(2, "o'clock; --", '?'), row(3)]);
  await db.close();
});

test('what follows the rows of an insert binds its own values after theirs', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await db.run(insertInto('categories', [row(1), row(2)]));
  const tail = sql`on conflict (id) do update set name = ${'taken'}, description = excluded.name`;
  assert.equal(await db.run(insertInto('categories', [row(2, 'new'), row(3)], tail)), 2);
  assert.deepEqual(await stored(db), [row(1), row(2, 'taken', 'new'), row(3)]);
  await db.close();
});

test('rows are inserted in statements of bounded size, the text of each size put together once', async (t) => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const built = t.mock.getter(Sql.prototype, 'text');
  const sizes: number[] = [];
  const texts = new Map<number, Set<string>>();
  const noting: Connection = {
    all: (statement) => db.all(statement),
    run: (statement) => {
      const size = statement.values.length / COLUMNS;
      sizes.push(size);
      texts.set(size, (texts.get(size) ?? new Set()).add(statement.sql).add(statement.text));
      return db.run(statement);
    },
  };
  const insert = rowsInsert('categories');
  const count = 2 * ROWS_PER_STATEMENT + 1;
  const rows = Array.from({ length: 2 * count }, (_, index) => row(index + 1));
  await insert(noting, []);
  assert.deepEqual(sizes, []);
  await insert(noting, rows.slice(0, count));
  await insert(noting, rows.slice(count));
  assert.deepEqual(sizes, [ROWS_PER_STATEMENT, ROWS_PER_STATEMENT, 1, ROWS_PER_STATEMENT, ROWS_PER_STATEMENT, 1]);
  assert.equal(built.mock.callCount(), 2);
  assert.deepEqual(await stored(db), rows);
  await insert(noting, [row(2 * count + 1)]);
  await insert(noting, [row(2 * count + 2), row(2 * count + 3)]);
  assert.deepEqual(sizes.slice(6), [1, 2]);
  assert.equal(built.mock.callCount(), 3);
  assert.deepEqual(await stored(db), [...rows, ...[1, 2, 3].map((more) => row(2 * count + more))]);
  // Both spellings of each size, of which the engine took one.
  for (const [size, both] of texts) {
    const expected = insertInto('categories', rows.slice(0, size));
    assert.deepEqual([...both], [expected.sql, expected.text]);
  }
  await db.close();
});

test('what follows the rows follows those of every statement', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const insert = rowsInsert('categories', sql`on conflict (id) do update set description = excluded.name`);
  const rows = Array.from({ length: ROWS_PER_STATEMENT + 1 }, (_, index) => row(index + 1));
  await insert(db, rows);
  await insert(
    db,
    rows.map(({ id }) => row(id, 'new')),
  );
  assert.deepEqual(
    await stored(db),
    rows.map(({ id, name }) => row(id, name, 'new')),
  );
  await db.close();
});

test('an update sets the columns of a part of a row and no others', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await db.run(insertInto('categories', [row(1, 'cat', 'purrs'), row(2)]));
  const changes = { description: null, name: 'name' };
  assert.equal(await db.run(sql`update categories set ${assignments(changes)} where id = ${1}`), 1);
  assert.deepEqual(await stored(db), [row(1, 'name', null), row(2)]);
  await db.close();
});

test('an update sets columns whose names are words of SQL', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await db.run(sql`create table words ("order" integer, "group" text)`);
  await db.run(sql`insert into words values (1, 'a')`);
  await db.run(sql`update words set ${assignments({ group: 'b', order: 2 })}`);
  assert.deepEqual({ ...(await one<object>(db, sql`select * from words`)) }, { order: 2, group: 'b' });
  await db.close();
});

test('all conditions must hold, and none excludes nothing', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await db.run(insertInto('categories', [row(1, 'cat'), row(2, 'cat'), row(3, 'dog')]));
  const found = async (conditions: readonly Sql[]) => {
    const rows = await db.all<{ id: number }>(sql`select id from categories ${where(conditions)} order by id`);
    return rows.map(({ id }) => id);
  };
  const [cat, above] = [sql`name = ${'cat'}`, sql`id > ${1}`];
  assert.deepEqual(await found([]), [1, 2, 3]);
  assert.deepEqual(await found([cat]), [1, 2]);
  assert.deepEqual(await found([cat, above]), [2]);
  assert.deepEqual(await found([above, cat, sql`id > ${2}`]), []);
  await db.close();
});

test('a text is found in any of the columns, in any case, and its wildcards mean themselves', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const names = ['Hot Dog', 'Cat', '50%', '50 per cent', 'a_b', 'acb', 'back\\slash', 'backslash'];
  const rows = [...names, 'late dog'].map((name, index) => row(index + 1, name, name === 'Cat' ? 'no DOG' : null));
  await db.run(insertInto('categories', rows));
  const found = async (text: string) => {
    const matches = await db.all<{ name: string }>(sql`
      select name from categories
      where ${contains(text, ['name', 'description'])} and id <= ${names.length}
      order by id`);
    return matches.map(({ name }) => name);
  };
  assert.deepEqual(await found('dog'), ['Hot Dog', 'Cat']);
  assert.deepEqual(await found('CAT'), ['Cat']);
  assert.deepEqual(await found('0%'), ['50%']);
  assert.deepEqual(await found('a_'), ['a_b']);
  assert.deepEqual(await found('k\\s'), ['back\\slash']);
  assert.deepEqual(await found('%_'), []);
  assert.deepEqual(await found(''), names);
  await db.close();
});

test('the one row of a statement is found, and its absence is an error', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await db.run(insertInto('categories', [row(1)]));
  const named = (id: number) => one<{ name: string }>(db, sql`select name from categories where id = ${id}`);
  assert.equal((await named(1)).name, 'category 1');
  await assert.rejects(named(2), { message: 'No row: select name from categories where id = ?' });
  await db.close();
});
