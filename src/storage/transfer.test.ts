import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { OPERATOR } from '../../test/kit/operator.ts';
import { issue } from '../../test/kit/storage/bench.ts';
import { DatabaseNotOpened } from './engine.ts';
import { claimForService, openEngine, openStorage } from './open.ts';
import { type Transfer, transfer } from './transfer.ts';

const MANY = 2_500;

/** The tables that a migration makes with rows. */
const NEVER_EMPTY = ['category_counter', 'change_versions', 'last_ids'];

/** Two places of databases: one with rows in most tables, `MANY` of them categories, and one without a file. */
async function openPlaces(categories = MANY) {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const [from, to] = ['from.db', 'to.db'].map((name) => ({ engine: 'sqlite' as const, file: join(folder.path, name) }));
  assert.ok(from && to);
  await using storage = await openStorage(from, {
    time: manualClock(),
    categoriesMax: MANY,
    categoriesBytesMax: 1_000_000,
  });
  const names = Array.from({ length: categories }, (_, index) => ({ name: `é ${index}`, description: '' }));
  await storage.categories.import(names, OPERATOR);
  const { key } = await issue(storage);
  const origin = { keyId: key.id, idempotency: { key: 'mine', fingerprint: 'a' } };
  const pet = { name: 'Rex', categoryId: 1, status: 'available' as const };
  const { resource } = await storage.pets.insert(pet, origin);
  await storage.orders.insert({ petId: resource.id, quantity: 1 }, { keyId: key.id });
  const move = (onProgress: Transfer['onProgress'] = () => {}) => transfer({ from, to, onProgress });
  return { from, to, move, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

function rowsOf(file: string, table: string): Record<string, unknown>[] {
  using database = new DatabaseSync(file, { readOnly: true });
  return database.prepare(`SELECT * FROM ${table}`).all();
}

function tablesOf(file: string): string[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return names.map(({ name }) => `${name}`).filter((name) => !/^(kysely|sqlite|rehears)/.test(name));
}

/** The sum of the hashes of rows, with their columns by name. */
function sumOf(rows: readonly Record<string, unknown>[]): string {
  const sum = rows.reduce((total, row) => {
    const text = JSON.stringify(
      Object.keys(row)
        .map((column) => [column, row[column]])
        .sort(),
    );
    return total + BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);
  }, 0n);
  return (sum % 2n ** 256n).toString(16).padStart(64, '0');
}

test('every row of every table is moved, with its count and the sum of its hashes', async () => {
  using places = await openPlaces();
  const { from, to, move } = places;
  const moved = await move();
  assert.ok(!existsSync(`${to.file}-wal`), 'the target was closed');
  assert.deepEqual(moved.map(({ table }) => table).sort(), tablesOf(from.file).sort());
  for (const { table, rows, checksum } of moved) {
    const stored = rowsOf(to.file, table);
    assert.deepEqual(stored, rowsOf(from.file, table), table);
    assert.deepEqual([rows, checksum], [stored.length, sumOf(stored)], table);
  }
  for (const [table, rows] of Object.entries({ categories: MANY, pets: 1, orders: 1, api_keys: 1, bans: 0 }))
    assert.equal(moved.find((each) => each.table === table)?.rows, rows, table);
});

test('a database that is not there, the same one, and one that is served are refused', async () => {
  using places = await openPlaces(1);
  const { from, to, move } = places;
  const refused = (addresses: object, message: RegExp) =>
    assert.rejects(transfer({ from, to, onProgress: () => {}, ...addresses }), (error) => {
      assert.ok(error instanceof DatabaseNotOpened);
      assert.match(error.message, message);
      return true;
    });
  await refused(
    { from: { engine: 'sqlite', file: `${from.file}.none` }, to },
    /^There is no database .*from\.db\.none$/,
  );
  await refused({ to: { ...from } }, /^Both addresses are the same database$/);
  for (const each of [from, to]) {
    await using _service = await claimForService(each, { together: false });
    await refused({}, new RegExp(`service runs on the database ${each.file}: stop it`));
  }
  await move();
  for (const each of [from, to]) {
    await using _free = await claimForService(each, { together: false });
  }
});

test('a target with a row in any table is refused', async () => {
  using places = await openPlaces(1);
  const { to, move } = places;
  await (await openEngine(to)).db.close();
  for (const table of tablesOf(to.file).filter((each) => !NEVER_EMPTY.includes(each))) {
    using database = new DatabaseSync(to.file, { enableForeignKeyConstraints: false });
    const columns = database.prepare(`PRAGMA table_info(${table})`).all();
    database.exec(`INSERT INTO ${table} VALUES (${columns.map(() => '1').join()})`);
    const message = `The database ${to.file} is not empty (${table} has rows); name an empty one`;
    await assert.rejects(move(), { message });
    database.exec(`DELETE FROM ${table}`);
  }
  await move();
});

test('a target that keeps other rows than were written is noticed, and left empty', async () => {
  using places = await openPlaces(1);
  const { to, move } = places;
  await (await openEngine(to)).db.close();
  for (const [table, change] of [
    ['pets', "UPDATE pets SET name = 'Rey'"],
    ['outcomes', 'DELETE FROM outcomes'],
    ['audit_entries', 'DELETE FROM audit_entries WHERE id = 1'],
  ] as const) {
    using database = new DatabaseSync(to.file);
    database.exec(`CREATE TRIGGER meddle AFTER INSERT ON ${table} BEGIN ${change}; END`);
    const message = `${table} does not read back as it was written; nothing was kept`;
    await assert.rejects(move(), { message });
    assert.deepEqual(rowsOf(to.file, 'categories'), []);
    database.exec('DROP TRIGGER meddle');
  }
});
