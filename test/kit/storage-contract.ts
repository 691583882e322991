import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NewApiKey, newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import type { Category, NewCategory } from '../../src/catalog/category.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import { PLANS } from '../../src/catalog/plan.ts';
import type { Change, Storage } from '../../src/catalog/storage.ts';
import type { DatabaseAddress } from '../../src/config.ts';
import { openStorage } from '../../src/storage/open.ts';
import { manualClock } from './clock.ts';
import { OPERATOR } from './operator.ts';

/** The place of a database under test, which is removed with it. */
export interface DatabasePlace extends AsyncDisposable {
  readonly database: DatabaseAddress;
}

/** A storage under test that holds at most `categoriesMax` categories, and `categoriesBytesMax` bytes of their list. */
interface StorageBench extends AsyncDisposable {
  readonly storage: Storage;
  readonly categoriesMax: number;
  readonly categoriesBytesMax: number;
  /** Another connection to the same data, as another process would have it. */
  another(): Promise<Storage>;
  /** Closes the storage and opens it again. */
  reopen(): Promise<void>;
}

const CATEGORIES_MAX = 300;
const CATEGORIES_BYTES_MAX = 95_000;
const NOW = 1_800_000_000;
const UNTIL_MS_MAX = 10_000;

/** What every storage must do, whatever keeps the data. */
export function storageContract(
  name: string,
  makePlace: () => Promise<DatabasePlace>,
  { skip = false }: { skip?: string | false } = {},
): void {
  const check = (title: string, body: (bench: StorageBench) => Promise<void>) =>
    test(`${name}: ${title}`, { skip }, async () => {
      await using bench = await openBench(await makePlace());
      await body(bench);
    });

  check('200 simultaneous creates get 200 distinct, ascending ids and are all kept', async (bench) => {
    const names = Array.from({ length: 200 }, (_, index) => `category ${index}`);
    const created = await Promise.all(names.map((each) => insert(bench.storage, { name: each })));
    assert.equal(new Set(created.map(({ id }) => id)).size, 200);
    await bench.reopen();
    assert.deepEqual(await bench.storage.categories.list(), created);
  });

  check('strings come back as they were', async ({ storage }) => {
    const strings = [
      'é',
      'e\u0301',
      '🐕‍🦺',
      '\u{10FFFF}',
      "'; drop table categories; --",
      '\\u0041',
      '\u2028',
      '%00',
      '﷽',
    ];
    for (const text of strings) {
      const sample: Required<NewCategory> = { name: text, description: text };
      const { id } = await insert(storage, sample);
      assert.deepEqual(await storage.categories.find(id), { id, ...sample });
      assert.deepEqual((await storage.categories.list()).at(-1), { id, ...sample });
    }
  });

  check('an empty description is kept, a missing one stays missing', async ({ storage }) => {
    const empty = await insert(storage, { name: 'a', description: '' });
    const missing = await insert(storage, { name: 'b' });
    assert.deepEqual(await storage.categories.find(empty.id), { id: empty.id, name: 'a', description: '' });
    assert.deepEqual(await storage.categories.find(missing.id), { id: missing.id, name: 'b' });
  });

  check('the bound holds, also within one batch', async ({ storage, categoriesMax }) => {
    const tried = await Promise.allSettled(
      Array.from({ length: categoriesMax + 5 }, (_, index) => insert(storage, { name: `${index}` })),
    );
    const refused = tried.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, 5);
    for (const { reason } of refused) assert.ok(reason instanceof CatalogError && reason.code === 'catalog_full');
    await assert.rejects(insert(storage, { name: 'late' }), { code: 'catalog_full' });
    assert.equal((await storage.categories.list()).length, categoriesMax);
  });

  check('the bound of the list’s bytes holds to the byte, whichever process creates', async (bench) => {
    const { storage, categoriesBytesMax } = bench;
    await using other = await bench.another();
    const long = { name: 'é"', description: '\n🐕'.repeat(999) };
    const tried = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => insert(index % 2 === 0 ? storage : other, long)),
    );
    const made = tried.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    for (const result of tried) assert.ok(result.status === 'fulfilled' || result.reason.code === 'catalog_full');
    const room = categoriesBytesMax - Buffer.byteLength(JSON.stringify(await storage.categories.list()));
    assert.ok(made.length > 10 && room >= 0 && room < 7_000, `${room} bytes are left of ${categoriesBytesMax}`);
    const [first, second] = made;
    assert.equal(await other.categories.delete(first?.id ?? 0, OPERATOR), 'deleted');
    await bench.reopen();
    const { categories } = bench.storage;
    // The next id has as many digits as the last one.
    const frame = Buffer.byteLength(JSON.stringify({ id: made.at(-1)?.id, name: 'x', description: '' })) + 1;
    const rest = categoriesBytesMax - frame - Buffer.byteLength(JSON.stringify(await categories.list()));
    const full = { code: 'catalog_full', message: /CATEGORIES_BYTES_MAX/ };
    await assert.rejects(insert(other, { name: 'x', description: 'x'.repeat(rest + 1) }), full);
    const last = await insert(other, { name: 'x', description: 'x'.repeat(rest) });
    await assert.rejects(categories.rename(last.id, 'xy', OPERATOR), full);
    assert.deepEqual(await categories.find(last.id), last);
    assert.ok(await categories.rename(second?.id ?? 0, 'é', OPERATOR));
    assert.ok(await other.categories.rename(last.id, 'xyz', OPERATOR));
    assert.equal(Buffer.byteLength(JSON.stringify(await categories.list())), categoriesBytesMax);
    await assert.rejects(other.categories.rename(last.id, 'xyzé', OPERATOR), full);
  });

  check('an insert with a name of its own happens once, whoever retries it and however often', async (bench) => {
    const origin = (fingerprint: string) => ({ keyId: 'key_1', idempotency: { key: 'mine', fingerprint } });
    const tries = await Promise.all(
      Array.from({ length: 10 }, () => bench.storage.categories.insert({ name: 'Dog' }, origin('a'))),
    );
    assert.equal(tries.filter(({ isReplay }) => !isReplay).length, 1);
    assert.equal(new Set(tries.map(({ resource }) => resource.id)).size, 1);
    await bench.reopen();
    const { storage } = bench;
    assert.equal((await storage.categories.insert({ name: 'Dog' }, origin('a'))).isReplay, true);
    await assert.rejects(storage.categories.insert({ name: 'Cat' }, origin('b')), { code: 'idempotency_key_reused' });
    const other = { keyId: 'key_2', idempotency: { key: 'mine', fingerprint: 'b' } };
    assert.equal((await storage.categories.insert({ name: 'Cat' }, other)).isReplay, false);
    assert.equal((await storage.categories.list()).length, 2);
  });

  check('a failed insert keeps no outcome, and leaves others of the same moment alone', async ({ storage }) => {
    const origin = { keyId: 'key_1', idempotency: { key: 'pet', fingerprint: 'a' } };
    const pet = { name: 'Rex', categoryId: 1, status: 'available' as const };
    const [failed, made] = await Promise.allSettled([
      storage.pets.insert(pet, origin),
      storage.categories.insert({ name: 'Dog' }, { ...origin, idempotency: { key: 'dog', fingerprint: 'a' } }),
    ]);
    assert.equal(failed.status === 'rejected' && failed.reason.code, 'validation_failed');
    assert.equal(made.status, 'fulfilled');
    assert.equal((await storage.pets.insert(pet, origin)).isReplay, false);
  });

  check('pets keep what was said of them, and are listed by id, page and status', async (bench) => {
    const { id: categoryId } = await insert(bench.storage, { name: 'Dog' });
    const made = [];
    for (const status of ['available', 'sold', 'pending', 'sold'] as const) {
      made.push((await bench.storage.pets.insert({ name: status, categoryId, status }, { keyId: 'key_1' })).resource);
    }
    await bench.reopen();
    const { pets } = bench.storage;
    assert.deepEqual(await pets.list({ after: 0, limit: 10 }), made);
    assert.deepEqual(await pets.list({ after: made[1]?.id ?? 0, limit: 1 }), made.slice(2, 3));
    assert.deepEqual(await pets.list({ after: 0, limit: 10, status: 'sold' }), [made[1], made[3]]);
    assert.deepEqual(await pets.find(made[2]?.id ?? 0), made[2]);
    assert.deepEqual(
      (await pets.listInventory({ after: 0, limit: 10 })).map(({ quantity }) => quantity),
      [1, 0, 1, 0],
    );
    assert.equal(await pets.find(999), undefined);
    assert.equal(await pets.setQuantity(999, 1), undefined);
  });

  check('stock goes with orders and comes back with their cancelling, once', async ({ storage }) => {
    const { id: categoryId } = await insert(storage, { name: 'Dog' });
    const { resource: pet } = await storage.pets.insert(
      { name: 'Rex', categoryId, status: 'available' },
      { keyId: 'k' },
    );
    assert.deepEqual(await storage.pets.setQuantity(pet.id, 3), { petId: pet.id, quantity: 3, status: 'available' });
    const order = () => storage.orders.insert({ petId: pet.id, quantity: 2 }, { keyId: 'k' });
    const [first, second] = await Promise.allSettled([order(), order()]);
    assert.equal(first.status, 'fulfilled');
    assert.equal(second.status === 'rejected' && second.reason.code, 'insufficient_stock');
    const { id } = first.status === 'fulfilled' ? first.value.resource : assert.fail();
    assert.deepEqual(await storage.pets.listInventory({ after: 0, limit: 10 }), [
      { petId: pet.id, quantity: 1, status: 'available' },
    ]);
    const cancelled = await Promise.all([1, 2, 3].map(() => storage.orders.cancel(id)));
    assert.deepEqual(cancelled.toSorted(), [false, false, true]);
    assert.deepEqual(await storage.pets.listInventory({ after: 0, limit: 10 }), [
      { petId: pet.id, quantity: 3, status: 'available' },
    ]);
    const { resource: next } = await order();
    assert.ok(next.id > id, 'the id of a cancelled order is not given again');
  });

  check('pages follow each other without gap or overlap', async ({ storage }) => {
    for (let i = 0; i < 7; i += 1) await insert(storage, { name: `${i}` });
    const pages = [];
    for (let after = 0; ; ) {
      const page = await storage.categories.list({ after, limit: 3 });
      pages.push(page.map((category) => category.name));
      const last = page.at(-1);
      if (!last) break;
      after = last.id;
    }
    assert.deepEqual(pages, [['0', '1', '2'], ['3', '4', '5'], ['6'], []]);
  });

  check('what is not there is not found', async ({ storage }) => {
    assert.equal(await storage.categories.find(1), undefined);
    assert.equal(await storage.keys.findBySecret('none'), undefined);
    assert.equal(await storage.keys.find('key_none'), undefined);
    assert.equal(await storage.keys.revoke('key_none', NOW, OPERATOR), undefined);
    assert.equal(await storage.keys.update('key_none', { plan: 'pro', limits: PLANS.pro }, OPERATOR), undefined);
    assert.equal(await storage.limits.liftBan('key_none', NOW, OPERATOR), false);
    assert.deepEqual(await storage.limits.memory('key_none'), { counts: undefined, ban: undefined });
  });

  check('a key is found by its secret, with everything that was said of it', async (bench) => {
    const { key, secret } = await issue(bench.storage, {
      plan: 'enterprise',
      limits: { minute: 7, day: 9 },
      scopes: ['pets:read'],
    });
    await bench.reopen();
    assert.deepEqual(await bench.storage.keys.findBySecret(secretRecord(secret).hash), { key, endsAt: null });
    assert.deepEqual(await bench.storage.keys.list(), [key]);
  });

  check('a rotation keeps the old secret until its grace ends', async ({ storage }) => {
    const { key, secret } = await issue(storage);
    const second = secretRecord('petcat_live_second');
    const rotated = await storage.keys.rotate(key.id, second, { now: NOW + 10, oldEndAt: NOW + 100, by: OPERATOR });
    assert.deepEqual(rotated, { ...key, prefix: second.prefix });
    assert.equal((await storage.keys.findBySecret(secretRecord(secret).hash))?.endsAt, NOW + 100);
    assert.deepEqual(await storage.keys.findBySecret(second.hash), { key: rotated, endsAt: null });
    // A later rotation does not give an old secret more time.
    await storage.keys.rotate(key.id, secretRecord('petcat_live_third'), {
      now: NOW + 20,
      oldEndAt: NOW + 500,
      by: OPERATOR,
    });
    assert.equal((await storage.keys.findBySecret(secretRecord(secret).hash))?.endsAt, NOW + 100);
    assert.equal((await storage.keys.findBySecret(second.hash))?.endsAt, NOW + 500);
  });

  check('a revocation is for good and keeps its first moment', async ({ storage }) => {
    const { key } = await issue(storage);
    assert.equal((await storage.keys.revoke(key.id, NOW + 1, OPERATOR))?.revokedAt, NOW + 1);
    assert.equal((await storage.keys.revoke(key.id, NOW + 2, OPERATOR))?.revokedAt, NOW + 1);
    const rotated = await storage.keys.rotate(key.id, secretRecord('petcat_live_new'), {
      now: NOW + 3,
      oldEndAt: NOW + 4,
      by: OPERATOR,
    });
    assert.equal(rotated?.revokedAt, NOW + 1);
    assert.equal(await storage.keys.findBySecret(secretRecord('petcat_live_new').hash), undefined);
  });

  check('a plan change is kept', async ({ storage }) => {
    const { key } = await issue(storage);
    const changed = await storage.keys.update(key.id, { plan: 'business', limits: PLANS.business }, OPERATOR);
    assert.deepEqual(changed, { ...key, plan: 'business', limits: PLANS.business });
    assert.deepEqual(await storage.keys.find(key.id), changed);
  });

  check('counts are replaced, for many keys at once', async ({ storage }) => {
    const keys = await issueMany(storage, 250);
    for (const used of [1, 2]) {
      await storage.limits.saveCounts(
        keys.map(({ key }) => ({ keyId: key.id, minuteEnds: NOW, minuteUsed: used, day: 3, dayUsed: used })),
      );
    }
    for (const { key } of keys) {
      const { counts } = await storage.limits.memory(key.id);
      assert.deepEqual(counts, { keyId: key.id, minuteEnds: NOW, minuteUsed: 2, day: 3, dayUsed: 2 });
    }
  });

  check('counts are raised by whatever comes later, in any order, and never lowered', async ({ storage }) => {
    const keys = await issueMany(storage, 150);
    const counts = ([minuteEnds, minuteUsed, day, dayUsed]: readonly [number, number, number, number]) =>
      keys.map(({ key }) => ({ keyId: key.id, minuteEnds, minuteUsed, day, dayUsed }));
    for (const [told, kept] of [
      [
        [NOW, 5, 3, 5],
        [NOW, 5, 3, 5],
      ],
      [
        [NOW, 4, 3, 7],
        [NOW, 5, 3, 7],
      ],
      [
        [NOW + 60, 1, 3, 6],
        [NOW + 60, 1, 3, 7],
      ],
      [
        [NOW, 9, 3, 8],
        [NOW + 60, 1, 3, 8],
      ],
      [
        [NOW + 60, 2, 4, 1],
        [NOW + 60, 2, 4, 1],
      ],
      [
        [NOW + 60, 2, 3, 99],
        [NOW + 60, 2, 4, 1],
      ],
    ] as const) {
      // Two at once, as two instances do it.
      await Promise.all([
        storage.limits.raiseCounts(counts(told)),
        storage.limits.raiseCounts(counts(told).toReversed()),
      ]);
      const [first, last] = [keys[0]?.key.id, keys.at(-1)?.key.id];
      for (const keyId of [first ?? '', last ?? '']) {
        const [minuteEnds, minuteUsed, day, dayUsed] = kept;
        assert.deepEqual((await storage.limits.memory(keyId)).counts, { keyId, minuteEnds, minuteUsed, day, dayUsed });
      }
    }
  });

  check('the last ban that was not lifted is remembered', async ({ storage }) => {
    const { key } = await issue(storage);
    const ban = (startedAt: number, level: number) => ({
      keyId: key.id,
      startedAt,
      endsAt: startedAt + 60,
      level,
      reason: 'r',
    });
    await storage.limits.insertBan(ban(NOW, 1));
    await storage.limits.insertBan(ban(NOW + 100, 2));
    assert.deepEqual((await storage.limits.memory(key.id)).ban, ban(NOW + 100, 2));
    assert.deepEqual(await storage.limits.listBans(NOW + 120), [ban(NOW + 100, 2)]);
    assert.equal(await storage.limits.liftBan(key.id, NOW + 120, OPERATOR), true);
    assert.equal(await storage.limits.liftBan(key.id, NOW + 121, OPERATOR), false);
    assert.deepEqual((await storage.limits.memory(key.id)).ban, ban(NOW, 1));
    assert.deepEqual(await storage.limits.listBans(NOW), [ban(NOW, 1)]);
  });

  check('many keys are remembered at once as each is alone', async ({ storage }) => {
    const keys = (await issueMany(storage, 4)).map(({ key }) => key.id);
    const [counted = '', banned = '', lifted = ''] = keys;
    await storage.limits.saveCounts([{ keyId: counted, minuteEnds: NOW, minuteUsed: 2, day: 3, dayUsed: 4 }]);
    const ban = { level: 1, reason: 'r' };
    for (const keyId of [banned, lifted]) {
      await storage.limits.insertBan({ keyId, startedAt: NOW - 100, endsAt: NOW - 40, ...ban });
      await storage.limits.insertBan({ keyId, startedAt: NOW, endsAt: NOW + 60, ...ban });
    }
    await storage.limits.liftBan(lifted, NOW, OPERATOR);
    const alone = await Promise.all(keys.map((keyId) => storage.limits.memory(keyId)));
    assert.deepEqual(await storage.limits.memories(keys), alone);
    assert.deepEqual(
      alone.map((memory) => [memory.counts?.dayUsed, memory.ban?.startedAt]),
      [
        [4, undefined],
        [undefined, NOW],
        [undefined, NOW - 100],
        [undefined, undefined],
      ],
    );
  });

  check('open windows and bans move with a stepped clock', async ({ storage }) => {
    const { key } = await issue(storage);
    await storage.limits.saveCounts([{ keyId: key.id, minuteEnds: NOW, minuteUsed: 1, day: 3, dayUsed: 1 }]);
    await storage.limits.insertBan({ keyId: key.id, startedAt: NOW, endsAt: NOW + 60, level: 1, reason: 'r' });
    await storage.limits.move(-10);
    const { counts, ban } = await storage.limits.memory(key.id);
    assert.deepEqual([counts?.minuteEnds, counts?.day, ban?.startedAt, ban?.endsAt], [NOW - 10, 3, NOW - 10, NOW + 50]);
  });

  check('what is retried as the same attempt is done once, whoever retries it', async ({ storage, another }) => {
    const { key } = await issue(storage);
    await storage.limits.saveCounts([{ keyId: key.id, minuteEnds: NOW, minuteUsed: 1, day: 3, dayUsed: 1 }]);
    const ban = { keyId: key.id, startedAt: NOW, endsAt: NOW + 60, level: 1, reason: 'r' };
    const usage = { keyId: key.id, served: 5, clientErrors: 0, refused: 0, serverErrors: 0, first: NOW, last: NOW };
    await using other = await another();
    for (const attempt of ['first', 'second']) {
      const retry = (each: Storage) => [
        each.limits.insertBan(ban, `ban ${attempt}`),
        each.usage.add(NOW - (NOW % 60), [usage], `usage ${attempt}`),
      ];
      await Promise.all([storage, other, storage].flatMap(retry));
      for (const each of [storage, other, storage]) await each.limits.move(-10, `move ${attempt}`);
    }
    assert.equal((await storage.limits.memory(key.id)).counts?.minuteEnds, NOW - 20);
    assert.equal((await storage.limits.banHistory(key.id, 10)).length, 2);
    const [used] = await storage.usage.byKey({ since: NOW - 60, now: NOW });
    assert.equal(used?.served, 10);
  });

  check('another process’s changes are told within a second', async ({ storage, another }) => {
    const seen: Change[] = [];
    await storage.watch(async (change) => {
      seen.push(change);
    });
    await using other = await another();
    const { key } = await issue(other);
    await untilTrue(() => seen.includes('keys'));
    await other.limits.insertBan({ keyId: key.id, startedAt: NOW, endsAt: NOW + 60, level: 1, reason: 'r' });
    await other.limits.liftBan(key.id, NOW, OPERATOR);
    await untilTrue(() => seen.includes('bans'));
    await insert(other, { name: 'elsewhere' });
    await untilTrue(() => seen.includes('new-categories'));
  });

  check(
    'an import is whole or not at all, and other processes hear of it',
    async ({ storage, another, categoriesMax, categoriesBytesMax }) => {
      const seen: Change[] = [];
      await storage.watch(async (change) => {
        seen.push(change);
      });
      await using other = await another();
      const some = Array.from({ length: categoriesMax - 10 }, (_, index) => ({ name: `imported ${index}` }));
      const heard: number[] = [];
      await other.categories.import(some, OPERATOR, (count) => heard.push(count));
      assert.equal(heard.at(-1), some.length);
      await untilTrue(() => seen.includes('new-categories'));
      await assert.rejects(other.categories.import(some, OPERATOR), {
        code: 'catalog_full',
        message: `The catalog holds ${categoriesMax} categories, which is its bound (CATEGORIES_MAX); of the ${some.length} categories the first 10 would fit`,
      });
      const long = Array.from({ length: 10 }, () => ({ name: '🐕'.repeat(255), description: '🐕'.repeat(2_000) }));
      const message = new RegExp(
        `have ${categoriesBytesMax} bytes.*CATEGORIES_BYTES_MAX.*of the 10 categories the first 9 would fit`,
      );
      await assert.rejects(other.categories.import(long, OPERATOR), { code: 'catalog_full', message });
      assert.deepEqual(
        await storage.categories.list(),
        some.map(({ name }, index) => ({ id: index + 1, name })),
      );
      const [entry] = await storage.audit.list({ since: 0, limit: 10 });
      assert.deepEqual(entry?.after, { count: some.length, firstId: 1, lastId: some.length });
    },
  );

  check('a category is renamed, and deleted when no pet belongs to it; its id is not given again', async (bench) => {
    const { storage } = bench;
    const seen: Change[] = [];
    await storage.watch(async (change) => {
      seen.push(change);
    });
    const first = await insert(storage, { name: 'a', description: 'kept' });
    const second = await insert(storage, { name: 'b' });
    assert.deepEqual(await storage.categories.rename(first.id, 'A', OPERATOR), { ...first, name: 'A' });
    assert.deepEqual(await storage.categories.rename(first.id, 'A', OPERATOR), { ...first, name: 'A' });
    assert.equal(await storage.categories.rename(99, 'A', OPERATOR), undefined);
    await storage.pets.insert({ name: 'Rex', categoryId: first.id, status: 'available' }, { keyId: 'key_1' });
    assert.equal(await storage.categories.delete(first.id, OPERATOR), 'in use');
    assert.equal(await storage.categories.delete(second.id, OPERATOR), 'deleted');
    assert.equal(await storage.categories.delete(second.id, OPERATOR), 'not found');
    assert.ok(seen.filter((change) => change === 'categories').length >= 3, 'whoever lists categories is told');
    assert.equal((await insert(storage, { name: 'c' })).id, second.id + 1);
    const actions = (await storage.audit.list({ since: 0, limit: 10 })).map(({ action, target }) => [action, target]);
    assert.deepEqual(actions, [
      ['category.delete', `${second.id}`],
      ['category.rename', `${first.id}`],
    ]);
  });

  check(
    'renames and deletions are told one by one to those who missed some, and no longer when they are many',
    async (bench) => {
      const { storage } = bench;
      await using other = await bench.another();
      const made = [];
      for (const name of ['a', 'b', 'c']) made.push(await insert(storage, { name, description: name }));
      const [first, second, third] = made.map(({ id }) => id) as [number, number, number];
      const { version, changed } = await other.categories.changesSince(undefined);
      assert.equal(changed, undefined, 'those who know nothing read everything');
      assert.deepEqual((await other.categories.changesSince(version)).changed, []);
      await storage.categories.rename(second, 'B', OPERATOR);
      await other.categories.delete(third, OPERATOR);
      await storage.categories.rename(second, 'BB', OPERATOR);
      const since = await other.categories.changesSince(version);
      const renamed = { id: second, category: { id: second, name: 'BB', description: 'b' } };
      assert.deepEqual(since, {
        version: version + 3,
        changed: [renamed, { id: third, category: undefined }],
      });
      assert.deepEqual((await storage.categories.changesSince(version + 2)).changed, [renamed]);
      assert.equal((await storage.categories.changesSince(version + 4)).changed, undefined, 'a version of the future');
      for (let more = 0; more < 98; more += 1) await storage.categories.delete(first + 1_000, OPERATOR);
      assert.equal((await storage.categories.changesSince(version)).changed, undefined);
      assert.equal((await storage.categories.changesSince(version + 1)).changed?.length, 3);
    },
  );

  check('what operators do with keys and bans is written down, whole and in order', async ({ storage }) => {
    const { key, secret } = await issue(storage);
    const changes = { plan: 'pro', limits: PLANS.pro, expiresAt: NOW + 9 } as const;
    await storage.keys.update(key.id, { ...changes, name: key.name }, OPERATOR);
    await storage.keys.update(key.id, changes, OPERATOR);
    await storage.limits.insertBan({ keyId: key.id, startedAt: NOW, endsAt: NOW + 60, level: 1, reason: 'r' });
    await storage.limits.liftBan(key.id, NOW + 1, { actor: 'ops', via: 'console' });
    await storage.limits.liftBan(key.id, NOW + 1, OPERATOR);
    await storage.keys.revoke(key.id, NOW + 2, OPERATOR);
    const entries = await storage.audit.list({ since: 0, limit: 10, target: key.id });
    assert.deepEqual(
      entries.map(({ action, operator }) => [action, operator.via]),
      [
        ['key.revoke', 'cli'],
        ['ban.lift', 'console'],
        ['key.update', 'cli'],
        ['key.create', 'cli'],
      ],
    );
    assert.deepEqual(entries[2]?.before, { plan: 'free', limits: PLANS.free, expiresAt: null });
    assert.deepEqual(entries[2]?.after, { plan: 'pro', limits: PLANS.pro, expiresAt: NOW + 9 });
    assert.ok(!JSON.stringify(entries).includes(secret));
    const ids = entries.map(({ id }) => id);
    assert.deepEqual(await storage.audit.list({ since: 0, limit: 2, before: ids[1] ?? 0 }), entries.slice(2));
    const [ban] = await storage.limits.banHistory(key.id, 10);
    assert.deepEqual([ban?.reason, ban?.liftedAt], ['r', NOW + 1]);
  });

  check('keys are searched by name, id and prefix, a page at a time', async ({ storage }) => {
    for (let index = 0; index < 25; index += 1) await issue(storage, { name: `Shop ${index} 100%_` });
    const { key } = await issue(storage, { name: 'other Ärzte' });
    const page = await storage.keys.search({ text: 'sHOP', offset: 20, limit: 10 });
    assert.deepEqual([page.count, page.keys.length], [25, 5]);
    assert.equal((await storage.keys.search({ text: '', offset: 0, limit: 10 })).count, 26);
    assert.equal((await storage.keys.search({ text: '0%_', offset: 0, limit: 10 })).count, 25);
    for (const text of [key.id, key.prefix, 'OTHER', 'Ärzte', 'other Ä']) {
      assert.deepEqual((await storage.keys.search({ text, offset: 0, limit: 10 })).keys, [key]);
    }
  });

  check('usage adds up, whoever adds it, and is told by key and by period', async ({ storage, another }) => {
    const one = {
      keyId: 'key_1',
      served: 5,
      clientErrors: 1,
      refused: 2,
      serverErrors: 0,
      first: NOW + 1,
      last: NOW + 9,
    };
    const more = { ...one, first: NOW - 5, last: NOW + 3 };
    const quiet = { keyId: 'key_2', served: 1, clientErrors: 0, refused: 0, serverErrors: 0, first: NOW, last: NOW };
    await using other = await another();
    const minute = NOW - (NOW % 60);
    await Promise.all([storage.usage.add(minute, [one, quiet]), other.usage.add(minute, [more])]);
    await storage.usage.add(minute - 60, [{ ...quiet, keyId: '*' }]);
    const sum = {
      keyId: 'key_1',
      served: 10,
      clientErrors: 2,
      refused: 4,
      serverErrors: 0,
      first: NOW - 5,
      last: NOW + 9,
    };
    for (const seconds of [3_600, 86_400, 30 * 86_400]) {
      const used = await storage.usage.byKey({ since: NOW - seconds, now: NOW });
      assert.deepEqual(used, [sum, quiet]);
    }
    assert.deepEqual(await storage.usage.byKey({ since: NOW - 60, now: NOW, keyId: 'key_2' }), [quiet]);
    const points = await storage.usage.series({ keyId: 'key_1', period: 'minute', since: NOW - 600 });
    assert.deepEqual(points, [{ at: minute, served: 10, clientErrors: 2, refused: 4, serverErrors: 0 }]);
    await storage.usage.purge(NOW + 3 * 86_400);
    assert.deepEqual(await storage.usage.series({ keyId: 'key_1', period: 'minute', since: 0 }), []);
    assert.equal((await storage.usage.series({ keyId: 'key_1', period: 'hour', since: 0 })).length, 1);
  });

  check('a login opens one session, and a session can be ended', async ({ storage }) => {
    await storage.sessions.offer('login', { endsAt: NOW + 600, actor: 'ops' });
    await storage.sessions.offer('late', { endsAt: NOW + 1, actor: 'ops' });
    const wanted = { hash: 'session', now: NOW + 1, endsAt: NOW + 3_600 };
    assert.equal(await storage.sessions.open('late', wanted), undefined);
    assert.equal(await storage.sessions.open('unknown', wanted), undefined);
    const session = await storage.sessions.open('login', wanted);
    assert.deepEqual([session?.actor, session?.openedAt, session?.endsAt], ['ops', NOW + 1, NOW + 3_600]);
    assert.equal(await storage.sessions.open('login', { ...wanted, hash: 'another' }), undefined);
    assert.deepEqual(await storage.sessions.find('session', NOW + 3_599), session);
    assert.equal(await storage.sessions.find('session', NOW + 3_600), undefined);
    assert.deepEqual(await storage.sessions.list(NOW + 2), [session]);
    assert.equal(await storage.sessions.revoke(session?.id ?? '', NOW + 3, OPERATOR), true);
    assert.equal(await storage.sessions.revoke(session?.id ?? '', NOW + 3, OPERATOR), false);
    assert.equal(await storage.sessions.find('session', NOW + 4), undefined);
  });

  check('a session that is not used for an hour ends', async ({ storage }) => {
    const open = async (hash: string, now: number) => {
      await storage.sessions.offer(`login of ${hash}`, { endsAt: now + 600, actor: 'ops' });
      const session = await storage.sessions.open(`login of ${hash}`, { hash, now, endsAt: now + 40_000 });
      return session?.id ?? '';
    };
    const [used, idle] = [await open('used', NOW), await open('idle', NOW)];
    await storage.sessions.touch(used, NOW + 3_599);
    assert.deepEqual((await storage.sessions.find('idle', NOW + 3_599))?.lastSeenAt, NOW);
    assert.equal(await storage.sessions.find('idle', NOW + 3_600), undefined);
    assert.equal((await storage.sessions.find('used', NOW + 7_198))?.lastSeenAt, NOW + 3_599);
    assert.deepEqual(
      (await storage.sessions.list(NOW + 3_600)).map(({ id }) => id),
      [used],
    );
    assert.equal(await storage.sessions.revoke(idle, NOW + 3_600, OPERATOR), false);
    await open('third', NOW + 3_600);
    assert.equal(await storage.sessions.find('idle', NOW + 3_599), undefined, 'removed when the next one is opened');
    assert.equal(await storage.sessions.find('used', NOW + 7_199), undefined);
  });

  check('it says that it is well', async ({ storage }) => {
    await storage.check();
  });
}

async function openBench(place: DatabasePlace): Promise<StorageBench> {
  const open = () =>
    openStorage(place.database, {
      clock: manualClock().now,
      categoriesMax: CATEGORIES_MAX,
      categoriesBytesMax: CATEGORIES_BYTES_MAX,
    });
  let storage = await open();
  return {
    get storage() {
      return storage;
    },
    categoriesMax: CATEGORIES_MAX,
    categoriesBytesMax: CATEGORIES_BYTES_MAX,
    another: open,
    async reopen() {
      await storage[Symbol.asyncDispose]();
      storage = await open();
    },
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

async function insert(storage: Storage, category: NewCategory): Promise<Category> {
  const { resource } = await storage.categories.insert(category, { keyId: 'key_1' });
  return resource;
}

/** One after the other: whoever waits for a connection behind so many is refused on a busy machine. */
async function issueMany(storage: Storage, count: number) {
  const issued = [];
  for (let number = 0; number < count; number += 1) issued.push(await issue(storage));
  return issued;
}

async function issue(storage: Storage, wanted: Partial<NewApiKey> = {}) {
  const made = newApiKey({ name: 'test', environment: 'production', plan: 'free', ...wanted }, NOW);
  await storage.keys.insert(made.key, secretRecord(made.secret), OPERATOR);
  return made;
}

/** Waits until something is true that is promised within a second, with patience for a machine that is busy testing. */
export async function untilTrue(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    assert.ok(performance.now() - startedMs < UNTIL_MS_MAX, 'it did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
