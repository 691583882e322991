import assert from 'node:assert/strict';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { OPERATOR } from '../../test/kit/operator.ts';
import { issue, openSome } from '../../test/kit/storage/bench.ts';
import { claimForService, openEngine } from './open.ts';
import { TRANSFERRED, transfer } from './transfer.ts';

/** The place of a database with rows in most tables, and another one whose tables are made. */
async function openPlaces() {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const [from, to] = ['from.db', 'to.db'].map((name) => ({ engine: 'sqlite' as const, file: join(folder.path, name) }));
  assert.ok(from && to);
  await using storage = await openSome(from);
  await storage.categories.import([{ name: 'é', description: '' }], OPERATOR);
  const { key } = await issue(storage);
  const origin = { keyId: key.id, idempotency: { key: 'mine', fingerprint: 'a' } };
  await storage.pets.insert({ name: 'Rex', categoryId: 1, status: 'available' }, origin);
  await (await openEngine(to)).db.close();
  const move = () => transfer({ from, to });
  return { from, to, move, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test('a transfer is refused while a service runs on either database', async () => {
  using places = await openPlaces();
  const { from, to, move } = places;
  for (const each of [from, to]) {
    await using _service = await claimForService(each, { together: false });
    await assert.rejects(move(), new RegExp(`service runs on the database ${each.file}: stop it`));
  }
  await move();
  for (const each of [from, to]) {
    await using _free = await claimForService(each, { together: false });
  }
});

test('a transfer from a database that is missing, or onto itself, is refused', async () => {
  using places = await openPlaces();
  const { from, to } = places;
  const none = { ...from, file: `${from.file}.none` };
  for (const [source, target, message] of [
    [none, to, `There is no database ${none.file}`],
    [from, from, 'Both addresses are the same database'],
  ] as const)
    await assert.rejects(transfer({ from: source, to: target }), { message });
});

test('a target with a row in any table is refused', async () => {
  using places = await openPlaces();
  const { to, move } = places;
  for (const [table, made] of Object.entries(TRANSFERRED)) {
    if (made === 'made with rows') continue;
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
  using places = await openPlaces();
  const { to, move } = places;
  for (const [table, change] of [
    ['pets', "UPDATE pets SET name = 'Rey'"],
    ['outcomes', 'DELETE FROM outcomes'],
    ['audit_entries', 'DELETE FROM audit_entries WHERE id = 1'],
  ] as const) {
    using database = new DatabaseSync(to.file);
    database.exec(`CREATE TRIGGER meddle AFTER INSERT ON ${table} BEGIN ${change}; END`);
    const message = `${table} does not read back as it was written; nothing was kept`;
    await assert.rejects(move(), { message });
    assert.deepEqual(database.prepare('SELECT * FROM categories').all(), []);
    database.exec('DROP TRIGGER meddle');
  }
});
