import assert from 'node:assert/strict';
import {
  type ApiKey,
  type KeyPosition,
  type KeyStorage,
  newApiKey,
  type SortedKeys,
  secretRecord,
} from '../../src/catalog/api-key.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import { PLANS } from '../../src/catalog/plan.ts';
import type { Change, Storage } from '../../src/catalog/storage.ts';
import { storeBan } from '../kit/bans.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, issue, NOW } from '../kit/storage/bench.ts';
import { usageAt } from '../kit/usage.ts';

const DAY_SECONDS = 86_400;

/** Registers the checks of API keys, their search and the audit of their changes. */
export function keysContract(check: Check): void {
  check('a key is found by its secret, with all its fields', async (bench) => {
    const { key, secret } = await issue(bench.storage, {
      plan: 'enterprise',
      limits: { minute: 7, day: 9 },
      scopes: ['pets:read'],
    });
    await bench.reopen();
    assert.deepEqual(await bench.storage.keys.findBySecret(secretRecord(secret).hash), { key, endsAt: null });
    assert.deepEqual(await bench.storage.keys.list(), [key]);
  });

  check('after a rotation the old secret works until its grace ends', async ({ storage }) => {
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
    // One without a grace ends every earlier secret, also those in their grace.
    await storage.keys.rotate(key.id, secretRecord('petcat_live_fourth'), {
      now: NOW + 30,
      oldEndAt: NOW + 30,
      by: OPERATOR,
    });
    for (const old of [secret, 'petcat_live_second', 'petcat_live_third']) {
      assert.equal((await storage.keys.findBySecret(secretRecord(old).hash))?.endsAt, NOW + 30);
    }
    assert.equal((await storage.keys.findBySecret(secretRecord('petcat_live_fourth').hash))?.endsAt, null);
  });

  check('a revocation is permanent and keeps its first time', async ({ storage }) => {
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
    const changed = await storage.keys.update(key.id, { name: 'other' }, OPERATOR);
    assert.deepEqual(changed, { ...key, revokedAt: NOW + 1 });
    assert.deepEqual(await storage.keys.find(key.id), changed);
  });

  check('work on keys with an Idempotency-Key is done once, and not for another request', async ({ storage }) => {
    const id = (key: string, fingerprint = 'a') => ({ keyId: 'token_1', idempotency: { key, fingerprint } });
    const done: string[] = [];
    const issueOnce = () =>
      storage.once(id('issue'), async ({ keys }) => {
        const { key } = await issue({ keys });
        done.push(key.id);
        return { key, secret: 'sealed' };
      });
    const [one, two] = await Promise.all([issueOnce(), issueOnce()]);
    assert.deepEqual([one.isReplay, two.isReplay].sort(), [false, true]);
    assert.deepEqual(one.resource, two.resource);
    assert.deepEqual(done, [one.resource.key.id]);
    assert.deepEqual(await storage.keys.list(), [one.resource.key]);
    const other = storage.once(id('issue', 'b'), () => assert.fail());
    await assert.rejects(other, { code: 'idempotency_key_reused' });
    const unnamed = async () => (await storage.once({ keyId: 'token_1' }, issueIn)).isReplay;
    const issueIn = ({ keys }: { keys: KeyStorage }) => issue({ keys });
    assert.deepEqual([await unnamed(), await unnamed()], [false, false]);
    assert.equal((await storage.keys.list()).length, 3);
  });

  check('work on keys that fails changes nothing, is followed by none, and may be done again', async ({ storage }) => {
    const { key } = await issue(storage);
    const followed: Change[] = [];
    await storage.watch(async (change) => {
      followed.push(change);
    });
    const id = { keyId: 'token_1', idempotency: { key: 'revoke', fingerprint: 'a' } };
    const revoke = (error?: Error) =>
      storage.once(id, async ({ keys }) => {
        const revoked = await keys.revoke(key.id, NOW, OPERATOR);
        // Its own changes are those that it reads.
        assert.deepEqual(await keys.find(key.id), revoked);
        if (error) throw error;
        return revoked;
      });
    const gone = new CatalogError('not_found', 'gone');
    await assert.rejects(revoke(gone), gone);
    assert.deepEqual([await storage.keys.find(key.id), followed], [key, []]);
    assert.deepEqual(await revoke(), { resource: { ...key, revokedAt: NOW }, isReplay: false });
    assert.deepEqual(followed, ['keys']);
    assert.deepEqual(await revoke(gone), { resource: { ...key, revokedAt: NOW }, isReplay: true });
  });

  check('every change of a key is followed, and recorded as it was and as it is', async ({ storage }) => {
    const seen: Change[] = [];
    await storage.watch(async (change) => {
      seen.push(change);
    });
    // A poll that comes between a commit and its answer may follow it once more.
    const followed = async <T>(change: Promise<T>): Promise<T> => {
      const before = seen.length;
      const changed = await change;
      assert.ok(seen.length > before);
      return changed;
    };
    const { key } = await followed(issue(storage, { owner: 'cus_1' }));
    const { key: unowned } = await followed(issue(storage));
    await followed(storage.keys.update(key.id, { name: 'other' }, OPERATOR));
    const second = { hash: 'second', prefix: 'petcat_live_2' };
    await followed(storage.keys.rotate(key.id, second, { now: NOW + 1, oldEndAt: NOW + 9, by: OPERATOR }));
    await followed(storage.keys.revoke(key.id, NOW + 2, OPERATOR));
    assert.deepEqual([...new Set(seen)], ['keys']);
    const { name, plan, limits, scopes, expiresAt } = key;
    const entriesOf = async (target: string) =>
      (await storage.audit.list({ since: 0, limit: 9, target })).map((each) => [each.action, each.before, each.after]);
    assert.deepEqual(await entriesOf(key.id), [
      ['key.revoke', { revokedAt: null }, { revokedAt: NOW + 2 }],
      ['key.rotate', { prefix: key.prefix }, { prefix: second.prefix, oldEndsAt: NOW + 9 }],
      ['key.update', { name }, { name: 'other' }],
      ['key.create', null, { name, plan, limits, scopes, expiresAt, owner: 'cus_1' }],
    ]);
    assert.deepEqual(await entriesOf(unowned.id), [['key.create', null, { name, plan, limits, scopes, expiresAt }]]);
  });

  check('the audit records every change to keys and bans, complete and in order', async ({ storage }) => {
    const { key, secret } = await issue(storage);
    const changes = { plan: 'pro', limits: PLANS.pro, expiresAt: NOW + 9 } as const;
    await storage.keys.update(key.id, { ...changes, name: key.name }, OPERATOR);
    await storage.keys.update(key.id, changes, OPERATOR);
    await storeBan(storage, { keyId: key.id, startedAt: NOW, endsAt: NOW + 60, level: 1, reason: 'r' });
    await storage.keys.lift(key.id, NOW + 1, { actor: 'ops', via: 'console' });
    await storage.keys.lift(key.id, NOW + 1, OPERATOR);
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
    const since = (at: number) => storage.audit.list({ since: at, limit: 9, target: key.id });
    assert.deepEqual([await since(NOW + 2), await since(NOW + 3)], [entries.slice(0, 1), []]);
    const ids = entries.map(({ id }) => id);
    assert.deepEqual(await storage.audit.list({ since: 0, limit: 2, before: ids[1] ?? 0 }), entries.slice(2));
    const [, lift, update] = entries;
    assert.deepEqual(await storage.audit.list({ since: 0, limit: 2, after: ids[3] ?? 0 }), [update, lift]);
    const saying = async (text: string) => (await storage.audit.list({ since: 0, limit: 9, text })).map(({ id }) => id);
    assert.deepEqual(await saying('free'), [ids[2], ids[3]], 'as it was before, or became');
    assert.deepEqual(await saying('pro'), [ids[2]]);
    const [ban] = await storage.keys.banHistory(key.id, 10);
    assert.deepEqual([ban?.reason, ban?.liftedAt], ['r', NOW + 1]);
  });

  check('keys are searched by name, id and prefix, a page at a time', async ({ storage }) => {
    for (let index = 0; index < 25; index += 1) await issue(storage, { name: `Shop ${index} 100%_` });
    const { key } = await issue(storage, { name: 'other Ärzte' });
    const page = await search(storage, { text: 'sHOP', offset: 20, limit: 10 });
    assert.deepEqual([page.count, page.keys.length], [25, 5]);
    assert.equal((await search(storage, { text: '', offset: 0, limit: 10 })).count, 26);
    assert.deepEqual(await search(storage, { text: '', offset: 0, limit: 0 }), { keys: [], count: 26 });
    for (const offset of [25, 26])
      assert.deepEqual(await search(storage, { text: 'shop', offset, limit: 10 }), { keys: [], count: 25 });
    assert.equal((await search(storage, { text: '0%_', offset: 0, limit: 10 })).count, 25);
    for (const text of [key.id, key.prefix, 'OTHER', 'Ärzte', 'other Ä']) {
      assert.deepEqual((await search(storage, { text, offset: 0, limit: 10 })).keys, [key]);
    }
    const rotation = { now: NOW, oldEndAt: NOW + 100, by: OPERATOR };
    await storage.keys.rotate(key.id, { hash: 'second', prefix: 'petcat_live_second' }, rotation);
    for (const [text, count] of [
      [key.prefix, 0],
      ['petcat_live_second', 1],
    ] as const)
      assert.equal((await search(storage, { text, offset: 0, limit: 10 })).count, count, 'by the present prefix');
  });

  check('keys, categories and changes are found by any letters, regardless of case and form', async ({ storage }) => {
    const umlaut = await issue(storage, { name: 'ÄRZTE café', owner: 'Łódź' });
    await issue(storage, { name: 'Arzte' });
    for (const text of ['ärzte', 'Ärzte', 'CAFE\u0301', 'łÓDŹ', 'ÄRZTE café']) {
      assert.equal(await storage.keys.count({ text, now: NOW }), 1, text);
      assert.equal((await storage.keys.page({ text, now: NOW, limit: 9 })).keys[0]?.id, umlaut.key.id, text);
    }
    for (const name of ['Vögel', 'VOGEL', 'ΣΚΎΛΟΣ']) await storage.categories.insert({ name }, { keyId: 'k' });
    const found = async (text: string) =>
      (await storage.categories.search({ text, after: 0, limit: 9 })).map(({ name }) => name);
    assert.deepEqual(
      [await found('VÖGEL'), await found('vogel'), await found('σκύλο')],
      [['Vögel'], ['VOGEL'], ['ΣΚΎΛΟΣ']],
    );
    await storage.categories.rename(1, 'Möwen', OPERATOR);
    const changes = await storage.audit.list({ since: 0, limit: 9, text: 'VÖGEL' });
    assert.deepEqual(
      changes.map(({ action }) => action),
      ['category.rename'],
    );
  });

  check('keys are filtered and sorted, and found by their owner', async ({ storage }) => {
    const old = await issue(storage, { name: 'b', plan: 'pro', owner: 'cus_1', expiresAt: NOW + 20 });
    await issue(storage, { name: 'A', plan: 'pro', expiresAt: NOW + 50 });
    const used = await issue(storage, { name: 'C', owner: 'CUS_12' });
    await storage.usage.add(NOW - 60, [usageAt(used.key.id, NOW - 60)]);
    await storage.keys.revoke(old.key.id, NOW, OPERATOR);
    const names = async (wanted: object) => {
      const page = await search(storage, { text: '', now: NOW, offset: 0, limit: 9, ...wanted });
      assert.equal(page.count, page.keys.length);
      return page.keys.map(({ name }) => name);
    };
    assert.deepEqual(await names({ sort: 'name' }), ['A', 'b', 'C']);
    assert.deepEqual(await names({ sort: 'expiry' }), ['b', 'A', 'C']);
    assert.equal((await names({ sort: 'last-used' }))[0], 'C');
    assert.deepEqual(await names({ sort: 'newest' }), (await names({ sort: 'oldest' })).toReversed());
    assert.deepEqual(await names({ text: 'us_1', sort: 'name' }), ['b', 'C']);
    assert.deepEqual(await names({ owner: 'cus_1' }), ['b']);
    assert.deepEqual(await names({ plan: 'pro', state: 'active' }), ['A']);
    assert.deepEqual(await names({ state: 'revoked' }), ['b']);
    assert.deepEqual(await names({ state: 'active', expiresBefore: NOW + 51 }), ['A']);
    assert.deepEqual(await names({ expiresBefore: NOW + 50 }), ['b']);
    const second = await search(storage, { text: '', sort: 'name', offset: 1, limit: 1 });
    assert.deepEqual([second.count, second.keys[0]?.name], [3, 'b']);
  });

  check('keys are ordered and filtered by how long they were not used, never first', async ({ storage }) => {
    for (const [name, daysAgo] of [
      ['lately', 1],
      ['long ago', 90],
      ['never', undefined],
      ['a month ago', 30],
    ] as const) {
      const { key } = await issue(storage, { name });
      if (daysAgo === undefined) continue;
      const last = NOW - daysAgo * DAY_SECONDS;
      await storage.usage.add(last, [usageAt(key.id, last)]);
    }
    const names = async (wanted: object) =>
      (await search(storage, { text: '', sort: 'unused', offset: 0, limit: 9, ...wanted })).keys.map(
        ({ name }) => name,
      );
    assert.deepEqual(await names({}), ['never', 'long ago', 'a month ago', 'lately']);
    assert.deepEqual(await names({ unused: 30 * DAY_SECONDS }), ['never', 'long ago', 'a month ago']);
    assert.deepEqual(await names({ unused: 30 * DAY_SECONDS + 1 }), ['never', 'long ago']);
    assert.deepEqual(await names({ sort: 'last-used' }), ['lately', 'a month ago', 'long ago', 'never']);
  });

  check('keys are ordered and filtered by the share of the limit of the day that they used', async ({ storage }) => {
    const today = Math.floor(NOW / DAY_SECONDS);
    for (const [name, limit, dayUsed, day] of [
      ['many of many', 1_000, 799, today],
      ['few of few', 10, 8, today],
      ['yesterday', 10, 10, today - 1],
      ['all', 100, 100, today],
    ] as const) {
      const { key } = await issue(storage, { name, plan: 'enterprise', limits: { minute: 1, day: limit } });
      await storage.limits.saveCounts([{ keyId: key.id, minuteEnds: 0, minuteUsed: 0, day, dayUsed }]);
    }
    const names = async (wanted: object) =>
      (await search(storage, { text: '', sort: 'use', offset: 0, limit: 9, ...wanted })).keys.map(({ name }) => name);
    assert.deepEqual(await names({}), ['all', 'few of few', 'many of many', 'yesterday']);
    assert.deepEqual(await names({ near: 80 }), ['all', 'few of few']);
  });

  check('a key is expired from its end on, and banned until its ban ends or is lifted', async ({ storage }) => {
    const now = NOW + 10;
    const ids = new Map<string, string>();
    for (const [name, expiresAt] of [
      ['active', now + 1],
      ['expired', now],
      ['banned', now + 1],
      ['lifted', null],
      ['was banned', null],
      ['revoked', null],
    ] as const) {
      ids.set(name, (await issue(storage, { name, ...(expiresAt !== null && { expiresAt }) })).key.id);
    }
    for (const [name, endsAt] of [
      ['banned', now + 1],
      ['expired', now + 1],
      ['revoked', now + 1],
      ['lifted', now + 1],
      ['was banned', now],
    ] as const) {
      const ban = { keyId: ids.get(name) ?? '', startedAt: NOW, endsAt, level: 1, reason: 'r' };
      await storeBan(storage, ban);
    }
    await storage.keys.lift(ids.get('lifted') ?? '', now, OPERATOR);
    await storage.keys.revoke(ids.get('revoked') ?? '', now, OPERATOR);
    for (const [state, names] of [
      ['active', ['active', 'lifted', 'was banned']],
      ['expired', ['expired']],
      ['banned', ['banned']],
      ['revoked', ['revoked']],
    ] as const) {
      const { keys } = await search(storage, { text: '', state, sort: 'name', now, offset: 0, limit: 9 });
      assert.deepEqual(
        keys.map(({ name }) => name),
        names,
        state,
      );
    }
  });

  check('pages of keys go from the newest to the oldest, ties by id, without a gap', async ({ storage }) => {
    const made: ApiKey[] = [];
    for (const at of [NOW, NOW + 2, NOW + 1, NOW + 1, NOW + 1, NOW]) {
      const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'free' }, at);
      await storage.keys.insert(key, secretRecord(secret), OPERATOR);
      made.push(key);
    }
    await issue(storage, { name: 'other' });
    made.sort((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1));
    const placeOf = (index: number) => ({ isExact: true, createdAt: made[index]?.createdAt, id: made[index]?.id });
    const page = (limit: number, behind?: object) =>
      storage.keys.page({ text: 'test', now: NOW, limit, ...(behind && { behind: behind as never }) });
    for (const [first, limit] of [
      [0, 3],
      [0, 6],
      [0, 7],
      [1, 2],
      [2, 2],
      [3, 3],
      [4, 1],
    ] as const) {
      const last = first + limit < made.length ? placeOf(first + limit - 1) : undefined;
      const found = await page(limit, first === 0 ? undefined : placeOf(first - 1));
      assert.deepEqual(found, { keys: made.slice(first, first + limit), last }, `${limit} from ${first} on`);
    }
  });

  check('keys whose whole name, owner, id or prefix is searched for come first, in pages too', async ({ storage }) => {
    const whole = await issue(storage, { name: 'Shop 1' });
    const owned = await issue(storage, { name: 'x', owner: 'shop 1' });
    const parts: string[] = [];
    for (let index = 0; index < 10; index += 1)
      parts.unshift((await issue(storage, { name: `shop 1${index}` })).key.id);
    const found: string[] = [];
    for (let behind: KeyPosition | undefined; ; ) {
      const { keys, last } = await storage.keys.page({ text: 'shop 1', now: NOW, limit: 5, behind });
      found.push(...keys.map(({ id }) => id));
      if (!last) break;
      behind = last;
    }
    const exact = [whole.key.id, owned.key.id].sort().reverse();
    assert.deepEqual([found.slice(0, 2), found.slice(2).toSorted()], [exact, parts.toSorted()]);
    const listed = await search(storage, { text: 'shop 1', offset: 0, limit: 2, sort: 'name' });
    assert.deepEqual(listed.keys.map(({ id }) => id).toSorted(), exact.toSorted());
    for (const text of [whole.key.prefix, whole.key.id])
      assert.equal((await storage.keys.page({ text, now: NOW, limit: 1 })).keys[0]?.id, whole.key.id);
  });

  check('the graces of a key are its old secrets that still work, the longest first', async ({ storage }) => {
    const { key } = await issue(storage);
    const rotate = (hash: string, oldEndAt: number) =>
      storage.keys.rotate(key.id, { hash, prefix: hash }, { now: NOW, oldEndAt, by: OPERATOR });
    await rotate('second', NOW + 100);
    await rotate('third', NOW + 500);
    const graces = async (now: number) => (await storage.keys.graces([key.id], now)).get(key.id);
    assert.deepEqual(await graces(NOW), [
      { prefix: 'second', endsAt: NOW + 500 },
      { prefix: key.prefix, endsAt: NOW + 100 },
    ]);
    assert.deepEqual(await graces(NOW + 100), [{ prefix: 'second', endsAt: NOW + 500 }]);
    assert.deepEqual(await graces(NOW + 500), undefined);
    // A key that ends earlier ends them too.
    await storage.keys.update(key.id, { expiresAt: NOW + 300 }, OPERATOR);
    const inTime = { prefix: key.prefix, endsAt: NOW + 100 };
    assert.deepEqual(await graces(NOW), [{ prefix: 'second', endsAt: NOW + 300 }, inTime]);
    assert.deepEqual(await graces(NOW + 300), undefined);
    await storage.keys.update(key.id, { expiresAt: null }, OPERATOR);
    const ended = await storage.keys.endGraces(key.id, NOW + 10, OPERATOR);
    assert.equal(ended?.prefix, 'third');
    assert.equal(await graces(NOW + 10), undefined);
    const { endsAt } = (await storage.keys.findBySecret('second')) ?? {};
    assert.equal(endsAt, NOW + 10);
    assert.equal((await storage.keys.endGraces(key.id, NOW + 20, OPERATOR))?.id, key.id);
    const actions = (await storage.audit.list({ since: 0, limit: 9, target: key.id })).map(({ action }) => action);
    assert.deepEqual(actions, ['key.end-graces', 'key.update', 'key.update', 'key.rotate', 'key.rotate', 'key.create']);
    assert.equal(await storage.keys.endGraces('key_none', NOW, OPERATOR), undefined);
    await rotate('fourth', NOW + 500);
    await storage.keys.revoke(key.id, NOW, OPERATOR);
    assert.equal(await graces(NOW), undefined);
  });
}

/** A range of the keys that a filter selects, newest first unless told otherwise, and the number of all. */
async function search(
  { keys }: Storage,
  { sort = 'newest', now = NOW, ...query }: Omit<SortedKeys, 'sort' | 'now'> & Partial<SortedKeys>,
) {
  return { keys: await keys.sorted({ ...query, sort, now }), count: await keys.count({ ...query, now }) };
}
