import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Compilable, Kysely } from 'kysely';
import { openEngine } from '../open.ts';
import { contains, RowsInsert, Statement } from './statement.ts';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';

const row = (id: number, name = `category ${id}`, description: string | null = null): Tables['categories'] => {
  return { id, name, description, created_at: 0, created_by: 'k', checksum: null };
};

test('a statement is built once, and each run binds its own values', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  await db
    .insertInto('categories')
    .values([row(1), row(2)])
    .execute();
  let builds = 0;
  const nameOf = new Statement((on: Kysely<Tables>, id: number, other: number) => {
    builds += 1;
    return on.selectFrom('categories').select('name').where('id', '>=', id).where('id', '<', other);
  });
  const found = async (id: number, other: number) => (await nameOf.run(db, id, other)).map(({ name }) => name);
  assert.deepEqual(await found(1, 2), ['category 1']);
  assert.deepEqual(await found(2, 3), ['category 2']);
  assert.deepEqual(await found(3, 4), []);
  assert.equal(builds, 1);
  await db.destroy();
});

test('a statement that binds other values than it is given, or in another order, is refused', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const select = (on: Kysely<Tables>) => on.selectFrom('categories').select('name');
  const mistakes: ((on: Kysely<Tables>, id: number, other: number) => Compilable<object>)[] = [
    (on, id, other) => select(on).where('id', '>', other).where('id', '<', id),
    (on, id) => select(on).where('id', '>', id),
    (on, id, other) => select(on).where('id', '>', id).where('id', '<', other).limit(1),
    (on, id) => select(on).where('id', '>', id).where('id', '<', id),
  ];
  for (const mistaken of mistakes) {
    const message = /^A statement does not bind its values in order: select "name" from/;
    await assert.rejects(new Statement(mistaken).run(db, 1, 2), { message });
  }
  await db.destroy();
});

test('rows are inserted in statements of bounded size, each size built once', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const sizes: number[] = [];
  const insert = new RowsInsert<Tables['categories']>((on, rows) => {
    sizes.push(rows.length);
    return on.insertInto('categories').values(rows);
  });
  const count = 2 * ROWS_PER_STATEMENT + 1;
  const rows = Array.from({ length: 2 * count }, (_, index) => row(index + 1));
  await insert.run(db, []);
  await insert.run(db, rows.slice(0, count));
  await insert.run(db, rows.slice(count));
  assert.deepEqual(sizes, [ROWS_PER_STATEMENT, 1]);
  const stored = await db.selectFrom('categories').selectAll().orderBy('id').execute();
  assert.deepEqual(
    stored.map((each) => ({ ...each })),
    rows,
  );
  await insert.run(db, [row(2 * count + 1)]);
  await insert.run(db, [row(2 * count + 2), row(2 * count + 3)]);
  assert.deepEqual(sizes, [ROWS_PER_STATEMENT, 1, 2]);
  await db.destroy();
});

test('a text is found in any of the columns, in any case, and its wildcards mean themselves', async () => {
  const { db } = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const names = ['Hot Dog', 'Cat', '50%', '50 per cent', 'a_b', 'acb', 'back\\slash', 'backslash'];
  await db
    .insertInto('categories')
    .values([...names, 'late dog'].map((name, index) => row(index + 1, name, name === 'Cat' ? 'no DOG' : null)))
    .execute();
  const found = async (text: string) => {
    const rows = await db
      .selectFrom('categories')
      .select('name')
      .where('id', '<=', names.length)
      .where(contains(text, ['name', 'description']))
      .orderBy('id')
      .execute();
    return rows.map(({ name }) => name);
  };
  assert.deepEqual(await found('dog'), ['Hot Dog', 'Cat']);
  assert.deepEqual(await found('CAT'), ['Cat']);
  assert.deepEqual(await found('0%'), ['50%']);
  assert.deepEqual(await found('a_'), ['a_b']);
  assert.deepEqual(await found('k\\s'), ['back\\slash']);
  assert.deepEqual(await found('%_'), []);
  assert.deepEqual(await found(''), names);
  await db.destroy();
});
