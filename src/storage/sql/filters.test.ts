import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { manualClock } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { noPostgres, temporaryDatabase } from '../../../test/kit/postgres.ts';
import type { PetFilter } from '../../catalog/pet.ts';
import type { DatabaseAddress } from '../../config.ts';
import type { Database, Engine, Statement } from '../engine.ts';
import { openEngine } from '../open.ts';
import { insertInto } from './statement.ts';
import { SqlStorage } from './storage.ts';

/** Every list with every combination of its filters: the engine must find a page in one range of one index. */

const ROWS = 20_000;
/** The cursor of a page deep in the list. */
const AFTER = 12_345;
const SPAN = { since: AFTER, until: ROWS - 1, limit: 21 };
/** The primary key, which PostgreSQL names. */
const KEY = /INTEGER PRIMARY KEY|(pets|orders)_pkey/;

interface Page {
  readonly after: number;
  readonly limit: number;
}

interface Listed {
  readonly name: string;
  readonly index: RegExp;
  read(storage: SqlStorage, page: Page): Promise<readonly unknown[]>;
}

const pets = (name: string, index: RegExp, filter: PetFilter): Listed => ({
  name: `pets ${name}`,
  index,
  read: (storage, page) => storage.pets.list({ ...page, ...filter }),
});
/** Half of the pets are of category 1 and come last; an order of the list that is filtered while it is read is slow. */
const [status, categoryId] = ['sold', 1] as const;
const ids = Array.from({ length: 100 }, (_, index) => 1 + index * 199);

const LISTS: readonly Listed[] = [
  pets('', KEY, {}),
  pets('of a status', /pets_by_status/, { status }),
  pets('of a category', /pets_by_category/, { categoryId }),
  pets('of another category', /pets_by_category/, { categoryId: 7 }),
  pets('of a category and a status', /pets_by_category_and_status/, { status, categoryId }),
  pets('with ids', KEY, { ids }),
  pets('with ids, of a status', KEY, { ids, status }),
  pets('with ids, of a category', KEY, { ids, categoryId }),
  pets('with ids, of a category and a status', KEY, { ids, status, categoryId }),
  { name: 'the inventory', index: KEY, read: (storage, page) => storage.pets.listInventory(page) },
  { name: 'orders', index: KEY, read: (storage, page) => storage.orders.list(page) },
  {
    name: 'orders of a pet',
    index: /orders_by_pet/,
    read: (storage, page) => storage.orders.list({ ...page, petId: 1 }),
  },
  {
    name: 'orders of another pet',
    index: /orders_by_pet/,
    read: (storage, page) => storage.orders.list({ ...page, petId: 7 }),
  },
];

test('no list scans, whatever its filters, on SQLite', async () => {
  using folder = temporaryFolder();
  const seen = await plans({ engine: 'sqlite', file: join(folder.path, 'x.db') });
  for (const [name, plan, index] of seen) {
    assert.match(plan, /^SEARCH (pets|orders) USING [^\n]*$/, name);
    assert.match(plan, index, name);
    if (!index.source.includes('PRIMARY')) assert.match(plan, /=\? AND <expr>>\?\)$/, name);
  }
});

test('no list scans, whatever its filters, on PostgreSQL', async (t: TestContext) => {
  if (noPostgres) return t.skip(noPostgres);
  await using database = await temporaryDatabase();
  const seen = await plans({ engine: 'postgres', url: database.url });
  for (const [name, plan, index] of seen) {
    assert.match(plan, index, `${name}: ${plan}`);
    assert.match(plan, /Index Cond: [^\n]*id/, `${name}: ${plan}`);
    assert.doesNotMatch(plan, /Seq Scan|Filter|Rows Removed/, `${name}: ${plan}`);
    // Without statistics it expects few matches, and sorts them; of ids there are few.
    if (/^analyzed: (?!.*with ids)/.test(name)) assert.doesNotMatch(plan, /Sort|Bitmap/, `${name}: ${plan}`);
  }
});

/** The questions about what keys changed, each with the index that answers it. */
const CHANGES: readonly Listed[] = [
  { name: 'by a key', index: /changes_by_key/, read: ({ audit }) => audit.list({ ...SPAN, key: 'key_7' }) },
  { name: 'by an owner', index: /changes_by_key/, read: ({ audit }) => audit.list({ ...SPAN, owner: 'ann' }) },
  { name: 'by keys', index: /changes_by_age/, read: ({ audit }) => audit.list({ ...SPAN, via: 'key' }) },
  { name: 'of an id', index: /changes_by_target/, read: ({ audit }) => audit.list({ ...SPAN, target: '7' }) },
  {
    name: 'that cancelled orders',
    index: /cancelled_orders/,
    read: ({ orders }) => orders.newest({ below: ROWS, limit: 21, isWanted: () => true }),
  },
  { name: 'by a request', index: /changes_by_(request|idempotency)/, read: ({ audit }) => audit.search('req-7') },
];

test('no question about what keys changed scans, on both engines', async () => {
  using folder = temporaryFolder();
  const seen = await plans({ engine: 'sqlite', file: join(folder.path, 'x.db') }, CHANGES);
  await using database = noPostgres ? undefined : await temporaryDatabase();
  if (database) seen.push(...(await plans({ engine: 'postgres', url: database.url }, CHANGES)));
  for (const [name, plan, index] of seen) {
    assert.match(plan, index, `${name}: ${plan}`);
    // Few are of one request, and sorted.
    assert.doesNotMatch(plan, name.endsWith('request') ? /SCAN|Seq Scan/ : /SCAN|B-TREE|Seq Scan/, `${name}: ${plan}`);
  }
});

/** The plan of each statement that a list runs: with no statistics yet, and after them. */
async function plans(address: DatabaseAddress, lists = LISTS): Promise<[name: string, plan: string, index: RegExp][]> {
  const engine = await openEngine(address);
  const statements: Statement[] = [];
  await using storage = new SqlStorage(
    { ...engine, db: noting(engine.db, statements) },
    { time: manualClock(), categoriesMax: 10, categoriesBytesMax: 1_000_000 },
  );
  await fill(engine);
  const found: [string, string, RegExp][] = [];
  for (const state of ['new', 'analyzed']) {
    if (state === 'analyzed') await engine.db.run(sql`analyze`);
    for (const { name, index, read } of lists) {
      statements.length = 0;
      const page = await read(storage, { after: AFTER, limit: 21 });
      assert.ok(page.length > 0, `${name} finds nothing`);
      if (lists === LISTS) assert.equal(statements.length, 1, name);
      const asked = lists === LISTS ? statements : statements.filter((statement) => /from changes/.test(statement.sql));
      for (const statement of asked) found.push([`${state}: ${name}`, await explain(engine, statement), index]);
    }
  }
  return found;
}

function noting(db: Database, statements: Statement[]): Database {
  return {
    all: (statement) => {
      statements.push(statement);
      return db.all(statement);
    },
    run: () => assert.fail('a list writes nothing'),
    transaction: () => assert.fail('a list needs no transaction'),
    close: () => db.close(),
  };
}

async function explain({ db }: Engine, { sql, text, values }: Statement): Promise<string> {
  const explained = { sql: `explain query plan ${sql}`, text: `explain ${text}`, values };
  const rows = await db.all<Record<string, string>>(explained);
  return rows.map((row) => row.detail ?? row['QUERY PLAN']).join('\n');
}

async function fill({ db }: Engine): Promise<void> {
  const half = raw(`${ROWS / 2}`);
  const numbers = sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${raw(`${ROWS}`)})`;
  for (let id = 1; id <= 9; id += 1) {
    const row = { id, name: 'x', description: null, created_at: 0, created_by: 'k', checksum: null };
    await db.run(insertInto('categories', [row]));
  }
  await db.run(sql`${numbers} insert into pets (id, name, category_id, status, quantity, created_at, created_by)
    select i, 'x', case when i > ${half} and i % 10 > 0 then 1 else 2 + i % 7 end,
      case when i > ${half} then 'sold' else 'pending' end, 1, 0, 'k' from n`);
  await db.run(sql`${numbers} insert into orders (id, pet_id, quantity, created_at, created_by)
    select i, case when i > ${half} and i % 10 > 0 then 1 else 2 + i % 7 end, 1, 0, 'k' from n`);
  await db.run(sql`insert into api_keys
      (id, name, environment, plan, per_minute, per_day, scopes, created_at, owner)
    values ('key_7', 'x', 'production', 'free', 1, 1, '[]', 0, 'ann')`);
  await db.run(sql`${numbers} insert into changes
      (id, kind, target, at, verb, key_id, request_id, idempotency_key, before, after)
    select i, case when i % 2 = 0 then 'pet' else 'order' end, i % 50, i, case when i % 50 = 1 then 'cancel' else 'update' end, 'key_' || (i % 20), 'req-' || i,
      case when i % 9 = 0 then 'digest-' || i end, 'null', 'null' from n`);
}
