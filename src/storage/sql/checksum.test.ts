import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CheckedTable, isIntact, RowGuard, seal } from './checksum.ts';

const ROWS = {
  categories: { id: 17, name: 'Dog', description: null, created_at: 1_800_000_000, created_by: 'key_1' },
  pets: {
    id: 1,
    name: 'Bella',
    category_id: 17,
    status: 'available',
    quantity: 3,
    created_at: 1_800_000_000,
    created_by: 'key_1',
  },
  orders: { id: 1, pet_id: 1, quantity: 2, ship_date: null, created_at: 1_800_000_000, created_by: 'key_1' },
  api_keys: {
    id: 'key_1',
    name: 'shop',
    environment: 'production',
    plan: 'free',
    per_minute: 60,
    per_day: 1_000,
    scopes: 'categories:read',
    created_at: 1_800_000_000,
    expires_at: null,
    revoked_at: null,
    owner: 'cus_1',
  },
  api_key_secrets: { hash: 'x', key_id: 'key_1', prefix: 'petcat_live_1', created_at: 1_800_000_000, ends_at: null },
} as const;

/** Version 1 times 2 ** 32, and the CRC-32 of the columns, each ended by U+0000, U+0001 for null. */
const STORED: Record<CheckedTable, number> = {
  categories: 5_009_981_848,
  pets: 7_247_022_131,
  orders: 8_403_515_650,
  api_keys: 5_821_846_754,
  api_key_secrets: 5_171_038_004,
};

/** Each value that a single flipped bit makes of one. */
function* flipped(value: string | number | null): Generator<string | number | null> {
  if (value === null) yield* ['', 0, 1];
  if (typeof value === 'number')
    for (let bit = 0; bit < 48; bit += 1) yield Number(BigInt(value) ^ (1n << BigInt(bit)));
  if (typeof value !== 'string') return;
  yield null;
  for (let bit = 0; bit < value.length * 8; bit += 1) {
    const bytes = Buffer.from(value, 'latin1');
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    yield bytes.toString('latin1');
  }
}

test('a checksum is the one that every release stores', () => {
  for (const table of Object.keys(ROWS) as CheckedTable[])
    assert.equal(seal(table, ROWS[table] as never).checksum, STORED[table], table);
});

test('every single flipped bit in a row or its checksum is found', () => {
  let tried = 0;
  for (const table of Object.keys(ROWS) as CheckedTable[]) {
    const row = seal(table, ROWS[table] as never);
    assert.ok(isIntact(table, row));
    for (const [column, value] of Object.entries(row)) {
      for (const other of flipped(value)) {
        // Without a checksum a row was written before there were any.
        if (column === 'checksum' && other === null) continue;
        assert.ok(!isIntact(table, { ...row, [column]: other }), `${table}.${column}: ${value} as ${other}`);
        tried += 1;
      }
    }
  }
  assert.ok(tried > 1_500, `${tried}`);
});

test('a value moved to the next column is found', () => {
  const row = seal('categories', { ...ROWS.categories, name: 'Dogs', description: 'loyal' });
  assert.ok(!isIntact('categories', { ...row, name: 'Dog', description: 'sloyal' }));
});

test('a row that was written before there were checksums is intact', () => {
  assert.ok(isIntact('categories', { ...seal('categories', ROWS.categories), name: 'Dof', checksum: null } as never));
});

test('a page is full unless there are no more rows, and each damaged row is reported once', async () => {
  const rows = Array.from({ length: 10 }, (_, index) => seal('categories', { ...ROWS.categories, id: index + 1 }));
  const damaged = rows.map((row) => ([2, 3, 10].includes(row.id) ? { ...row, name: 'Dof' } : row));
  const told: string[] = [];
  const guard = new RowGuard({ rowDamaged: (table, id) => told.push(`${table} ${id}`) });
  const read = async ({ after, limit }: { after: number; limit: number }) =>
    damaged.filter(({ id }) => id > after).slice(0, limit);
  const ids = async (after: number, limit: number) =>
    (await guard.page('categories', { after, limit }, read)).map(({ id }) => id);
  assert.deepEqual(await ids(0, 3), [1, 4, 5]);
  assert.deepEqual(await ids(5, 4), [6, 7, 8, 9]);
  assert.deepEqual(await ids(8, 4), [9]);
  assert.deepEqual(await ids(8, 2), [9]);
  assert.deepEqual(await ids(1, 2), [4, 5]);
  assert.deepEqual(await ids(9, 1), []);
  assert.deepEqual(told, ['categories 2', 'categories 3', 'categories 10']);
});

test('a damaged row that is asked for by its id is an error, which says nothing of its content', () => {
  const row = seal('categories', ROWS.categories);
  for (const guard of [new RowGuard(), new RowGuard({ rowDamaged: () => {} })]) {
    assert.equal(guard.intact('categories', row), row);
    assert.throws(() => guard.intact('categories', { ...row, name: 'Dof' }), {
      code: 'internal_error',
      message: 'What is stored under this id is damaged; tell the operator',
    });
  }
});

test('a damaged row is reported by its id, a secret by its key, and the thousand first alone', () => {
  const told: string[] = [];
  const guard = new RowGuard({ rowDamaged: (table, id) => told.push(`${table} ${id}`) });
  const damage = { checksum: 1 };
  assert.ok(!guard.isIntact('api_key_secrets', { ...ROWS.api_key_secrets, ...damage }));
  assert.ok(!guard.isIntact('api_keys', { ...ROWS.api_keys, ...damage }));
  assert.deepEqual(told, ['api_key_secrets key_1', 'api_keys key_1']);
  for (let id = 3; id <= 1_001; id += 1) guard.isIntact('pets', { ...ROWS.pets, ...damage, id });
  assert.deepEqual([told.length, told.at(-1)], [1_000, 'pets 1000']);
});

test('a version that is not known yet is left alone, and one that no release will have is damage', () => {
  const row = { id: 1, name: 'Dog', description: null, created_at: 0, created_by: 'key_1' };
  const { checksum } = seal('categories', row);
  assert.equal(Math.floor((checksum ?? 0) / 2 ** 32), 1);
  for (const [version, intact] of [
    [2, true],
    [100, true],
    [101, false],
    [0, false],
    [-1, false],
  ] as const) {
    assert.equal(isIntact('categories', { ...row, checksum: version * 2 ** 32 + 7 }), intact, `${version}`);
  }
});
