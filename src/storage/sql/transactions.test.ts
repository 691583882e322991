import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Change } from '../../catalog/storage.ts';
import type { Engine, Failure } from '../engine.ts';
import { openEngine } from '../open.ts';
import type { NamedChange } from './change-feed.ts';
import { insertInto } from './statement.ts';
import type { Tables } from './tables.ts';
import { Transactions } from './transactions.ts';

const KEY_CHANGED = { kind: 'keys', id: 'key_1' } as const;
const CATEGORY_CHANGED = { kind: 'categories', id: 1 } as const;

/** What the engine of these tests classifies. */
class DatabaseError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure);
    this.failure = failure;
  }
}

/** Transactions on a database in memory, in virtual time; `told` is what they report and ask of the engine. */
async function openBench(changes: Partial<Engine> = {}) {
  const told: unknown[][] = [];
  const time = new VirtualTime(0);
  const sqlite = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const engine: Engine = {
    ...sqlite,
    place: 'the place',
    classify: (error) => (error instanceof DatabaseError ? error.failure : undefined),
    lock: async () => void told.push(['lock']),
    ...changes,
  };
  const transactions = new Transactions(engine, time.process(), {
    batchStored: ({ size }) => told.push(['stored', size]),
    storageRead: (durationMs) => told.push(['read', durationMs]),
    storageFailing: (work, { database, failure, error }) => told.push(['failing', work, database, failure, error]),
    storageRecovered: (work) => told.push(['recovered', work]),
  });
  const heard = () => told.splice(0);
  const fail = async (kind: 'read' | 'write', failure: Failure) => {
    const error = new DatabaseError(failure);
    const work = async () => {
      throw error;
    };
    const failed = kind === 'read' ? transactions.read(work) : transactions.transactUnlocked(work);
    const thrown = await failed.then(assert.fail, (reason) => reason);
    assert.ok(thrown instanceof CatalogError);
    assert.equal(thrown.cause, error);
    return thrown;
  };
  return { sqlite, time, transactions, heard, fail, [Symbol.asyncDispose]: () => transactions[Symbol.asyncDispose]() };
}

const write = (transactions: Transactions) => transactions.transactUnlocked(async () => 'written');

test('work that finds a lock is tried again every ten milliseconds for 0.9 s, then refused', async () => {
  for (const kind of ['read', 'write'] as const) {
    await using bench = await openBench();
    const { time, transactions, heard } = bench;
    const triedAtMs: number[] = [];
    let isLocked = true;
    const work = async () => {
      triedAtMs.push(time.nowMs);
      if (isLocked) throw new DatabaseError('busy');
      return 'done';
    };
    const run = () => (kind === 'read' ? transactions.read(work) : transactions.transactUnlocked(work));
    const refused = assert.rejects(run(), {
      code: 'unavailable',
      message: 'The storage cannot do this now; retry after a second',
    });
    await time.pass(2_000);
    await refused;
    assert.deepEqual(
      triedAtMs,
      Array.from({ length: 92 }, (_, index) => 10 * index),
    );
    assert.deepEqual(heard()[0]?.slice(0, 4), ['failing', kind, 'the place', 'busy']);

    triedAtMs.length = 0;
    const waited = run();
    await time.pass(25);
    isLocked = false;
    await time.pass(10);
    assert.equal(await waited, 'done');
    assert.deepEqual(triedAtMs, [2_000, 2_010, 2_020, 2_030]);
    assert.deepEqual(heard(), kind === 'read' ? [['read', 30]] : []);
  }
});

test('a failure says whether anything may have been stored', async () => {
  await using bench = await openBench();
  const { fail, heard, transactions } = bench;
  for (const [kind, failure, code, message] of [
    ['read', 'unavailable', 'unavailable', /^The storage cannot do this now; retry after a second$/],
    ['read', 'unknown', 'unavailable', /^The storage cannot do this now; retry after a second$/],
    ['write', 'unavailable', 'unavailable', /^The storage cannot do this now; retry after a second$/],
    [
      'write',
      'full',
      'unavailable',
      /^The database's disk is full, so nothing was stored; retry when it has room again$/,
    ],
    ['write', 'unknown', 'outcome_unknown', /^The storage did not say whether this was stored; retry with the same /],
  ] as const) {
    const error = await fail(kind, failure);
    assert.equal(error.code, code, `${kind} ${failure}`);
    assert.match(error.message, message);
  }
  heard();
  const defect = new TypeError('a mistake');
  const mistaken = async () => {
    throw defect;
  };
  await assert.rejects(transactions.read(mistaken), defect);
  await assert.rejects(transactions.transactUnlocked(mistaken), defect);
  assert.deepEqual(heard(), [], 'a defect is no failure of the storage');
});

test('a failure is told once, and its end after a second without another', async () => {
  await using bench = await openBench();
  const { fail, heard, time, transactions } = bench;
  const read = () => transactions.read(async () => 'read');
  assert.equal(transactions.isWriteFailing, false);
  const { cause } = await fail('write', 'full');
  assert.deepEqual(heard(), [['failing', 'write', 'the place', 'full', cause]]);
  assert.equal(transactions.isWriteFailing, true);
  await fail('write', 'full');
  await time.pass(5_000);
  assert.deepEqual(heard(), [], 'it fails until something succeeds');

  await write(transactions);
  await time.pass(600);
  await write(transactions);
  await time.pass(399);
  await fail('write', 'unavailable');
  await read();
  await time.pass(5_000);
  assert.deepEqual(heard(), [['read', 0]], 'a failure and another kind of work do not end it');
  assert.equal(transactions.isWriteFailing, true);

  await write(transactions);
  await time.pass(600);
  await write(transactions);
  await time.pass(399);
  assert.deepEqual([heard(), transactions.isWriteFailing], [[], true]);
  await time.pass(1);
  assert.deepEqual([heard(), transactions.isWriteFailing], [[['recovered', 'write']], false]);

  await fail('read', 'unavailable');
  assert.equal(heard()[0]?.[1], 'read');
  assert.equal(transactions.isWriteFailing, false);
  await read();
  await time.pass(1_000);
  assert.deepEqual(heard(), [
    ['read', 0],
    ['recovered', 'read'],
  ]);
});

test('jobs share a transaction: one refuses alone, a defect fails and undoes all', async () => {
  await using bench = await openBench();
  const { heard, sqlite, transactions } = bench;
  const used = (attempt: string, refusal?: Error) =>
    transactions.batch(async (trx) => {
      if (refusal) throw refusal;
      await trx.run(insertInto('last_ids', [{ kind: attempt as 'pets', last_id: 0 }]));
      return attempt;
    });
  const stored = async () => {
    const rows = await sqlite.db.all<Pick<Tables['last_ids'], 'kind'>>(sql`
      select kind from last_ids where length(kind) = 1 order by kind`);
    return rows.map(({ kind }) => kind);
  };
  const full = new CatalogError('catalog_full', 'full');
  assert.deepEqual(await Promise.allSettled([used('a'), used('b', full), used('c')]), [
    { status: 'fulfilled', value: 'a' },
    { status: 'rejected', reason: full },
    { status: 'fulfilled', value: 'c' },
  ]);
  assert.deepEqual(heard(), [['lock'], ['stored', 3]]);
  const defect = new TypeError('a mistake');
  for (const result of await Promise.allSettled([used('d'), used('e', defect), used('f')]))
    assert.equal(result.status === 'rejected' && result.reason, defect);
  assert.deepEqual(await stored(), ['a', 'c']);
  assert.equal(await transactions.batch(async () => undefined), undefined, 'a job may have no result');
});

test('changes that share a transaction are followed once each, however often it had to be tried', async () => {
  await using bench = await openBench();
  const { time, transactions } = bench;
  const followed: Change[] = [];
  await transactions.watch(async (change) => void followed.push(change));
  let tries = 0;
  const done = transactions.together(async (_trx, { change, together }) => {
    tries += 1;
    await change(KEY_CHANGED, async () => {});
    await together((_, inner) => inner.change(CATEGORY_CHANGED, async () => {}));
    if (tries < 3) throw new DatabaseError('busy');
    return followed.length;
  });
  await time.pass(100);
  assert.equal(await done, 0, 'none before it is durable');
  assert.deepEqual([tries, followed], [3, ['keys', 'categories']]);
});

test('a change of this process is followed before it is told, and not again by the next poll', async () => {
  let look = async () => {};
  await using bench = await openBench({
    watch: (each) => {
      look = each;
      return async () => {};
    },
  });
  const { transactions } = bench;
  const followed: Change[] = [];
  let failures = 0;
  await transactions.watch(async (change) => {
    if (failures-- > 0) throw new Error('cannot follow');
    followed.push(change);
  });
  const change = (changed: NamedChange) => transactions.change(changed, async () => [...followed]);
  assert.deepEqual(await change(KEY_CHANGED), [], 'not before it is durable');
  await look();
  assert.deepEqual(followed, ['keys']);
  failures = 1;
  assert.deepEqual(await change(CATEGORY_CHANGED), ['keys'], 'a change that cannot be followed is made all the same');
  await look();
  assert.deepEqual(followed, ['keys', 'categories']);
  // An import has no version of its own: it is known by the last id.
  await transactions.change({ kind: 'new-categories' }, (trx) => trx.run(sql`update category_counter set last_id = 7`));
  assert.deepEqual(followed.splice(0), ['keys', 'categories', 'new-categories']);
  await look();
  assert.deepEqual(followed, ['new-categories']);
});
