import assert from 'node:assert/strict';
import {
  type ApiKey,
  KEY_SORTS,
  type KeyQuery,
  type KeyStorage,
  newApiKey,
  secretRecord,
} from '../../src/catalog/api-key.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import { PLANS } from '../../src/catalog/plan.ts';
import type { Place } from '../../src/catalog/resource.ts';
import type { Change, Storage } from '../../src/catalog/storage.ts';
import { NO_COUNTS } from '../../src/catalog/window-counts.ts';
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
    assert.deepEqual((await search(bench.storage)).keys, [key]);
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
    assert.deepEqual((await search(storage)).keys, [one.resource.key]);
    const other = storage.once(id('issue', 'b'), () => assert.fail());
    await assert.rejects(other, { code: 'idempotency_key_reused' });
    const unnamed = async () => (await storage.once({ keyId: 'token_1' }, issueIn)).isReplay;
    const issueIn = ({ keys }: { keys: KeyStorage }) => issue({ keys });
    assert.deepEqual([await unnamed(), await unnamed()], [false, false]);
    assert.equal(await storage.keys.count({ now: NOW }), 3);
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
    assert.deepEqual(await storage.audit.list({ since: 0, limit: 2, before: entries[1] }), entries.slice(2));
    const [, lift, update] = entries;
    assert.deepEqual(await storage.audit.list({ since: 0, limit: 2, after: ids[3] }), [update, lift]);
    const saying = async (text: string) => (await storage.audit.list({ since: 0, limit: 9, text })).map(({ id }) => id);
    assert.deepEqual(await saying('free'), [ids[2], ids[3]], 'as it was before, or became');
    assert.deepEqual(await saying('pro'), [ids[2]]);
    const [ban] = await storage.keys.banHistory(key.id, 10);
    assert.deepEqual([ban?.reason, ban?.liftedAt], ['r', NOW + 1]);
  });

  check('keys are searched by name, id and prefix, a page at a time', async ({ storage }) => {
    for (let index = 0; index < 25; index += 1) await issue(storage, { name: `Shop ${index} 100%_` });
    const { key } = await issue(storage, { name: 'other Ärzte' });
    const page = await search(storage, { text: 'sHOP', limit: 10 });
    assert.deepEqual([page.count, page.keys.length], [25, 10]);
    assert.equal((await search(storage, { limit: 10 })).count, 26);
    assert.equal((await search(storage, { text: '0%_' })).count, 25);
    for (const text of [key.id, key.prefix, 'OTHER', 'Ärzte', 'other Ä']) {
      assert.deepEqual((await search(storage, { text })).keys, [key]);
    }
    const rotation = { now: NOW, oldEndAt: NOW + 100, by: OPERATOR };
    await storage.keys.rotate(key.id, { hash: 'second', prefix: 'petcat_live_second' }, rotation);
    for (const [text, count] of [
      [key.prefix, 0],
      ['petcat_live_second', 1],
    ] as const)
      assert.equal((await search(storage, { text })).count, count, 'by the present prefix');
  });

  check('keys and changes are found by any letters, regardless of case and form', async ({ storage }) => {
    const umlaut = await issue(storage, { name: 'ÄRZTE café', owner: 'Łódź' });
    await issue(storage, { name: 'Arzte' });
    for (const text of ['ärzte', 'Ärzte', 'CAFE\u0301', 'łÓDŹ', 'ÄRZTE café']) {
      assert.equal(await storage.keys.count({ text, now: NOW }), 1, text);
      assert.equal((await search(storage, { text })).keys[0]?.id, umlaut.key.id, text);
    }
    await storage.categories.insert({ name: 'Vögel' }, { keyId: 'k' });
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
      const page = await search(storage, wanted);
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
      (await search(storage, { sort: 'unused', ...wanted })).keys.map(({ name }) => name);
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
      await storage.limits.saveCounts([{ ...NO_COUNTS, keyId: key.id, day, dayUsed }]);
    }
    const names = async (wanted: object) =>
      (await search(storage, { sort: 'use', ...wanted })).keys.map(({ name }) => name);
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
      ['paused', null],
    ] as const) {
      ids.set(name, (await issue(storage, { name, ...(expiresAt !== null && { expiresAt }) })).key.id);
    }
    for (const [name, endsAt] of [
      ['banned', now + 1],
      ['expired', now + 1],
      ['revoked', now + 1],
      ['lifted', now + 1],
      ['was banned', now],
      ['paused', now + 1],
    ] as const) {
      const ban = { keyId: ids.get(name) ?? '', startedAt: NOW, endsAt, level: 1, reason: 'r' };
      await storeBan(storage, ban);
    }
    await storage.keys.lift(ids.get('lifted') ?? '', now, OPERATOR);
    await storage.keys.revoke(ids.get('revoked') ?? '', now, OPERATOR);
    await storage.keys.pause(ids.get('paused') ?? '', now, OPERATOR);
    for (const [state, names] of [
      ['active', ['active', 'lifted', 'was banned']],
      ['expired', ['expired']],
      ['banned', ['banned']],
      ['revoked', ['revoked']],
      ['paused', ['paused']],
    ] as const) {
      const { keys } = await search(storage, { state, sort: 'name', now });
      assert.deepEqual(
        keys.map(({ name }) => name),
        names,
        state,
      );
    }
  });

  check(
    'pages of keys have neither gap nor repeat in any order, though keys change between them',
    async ({ storage }) => {
      const ends = (at: number) => ({ plan: 'enterprise', limits: { minute: 1, day: 7 }, expiresAt: at }) as const;
      for (const [index, at] of [NOW, NOW + 2, NOW + 1, NOW + 1, NOW + 1, NOW].entries()) {
        const end = index < 2 ? {} : ends(NOW + 9 + (index % 2));
        const name = index % 3 === 0 ? 'same shop' : `Shop ${index}`;
        const { key, secret } = newApiKey({ name, environment: 'production', plan: 'free', ...end }, at);
        await storage.keys.insert(key, secretRecord(secret), OPERATOR);
        const counts = { ...NO_COUNTS, day: Math.floor(NOW / DAY_SECONDS), dayUsed: index % 2 };
        await storage.limits.saveCounts([{ keyId: key.id, ...counts }]);
        if (index > 2) await storage.usage.add(NOW - 60, [usageAt(key.id, NOW - 60 * (index % 2))]);
      }
      const searched = [
        ['', 4],
        ['shop', 1],
        ['same shop', 1],
        ['same shop', 2],
      ] as const;
      for (const [sort, text, size] of KEY_SORTS.flatMap((each) =>
        searched.map((search) => [each, ...search] as const),
      )) {
        const query = { sort, text };
        const { keys: whole } = await search(storage, query);
        const paged: ApiKey[] = [];
        for (let behind: Place | undefined; paged.length <= whole.length; ) {
          const { keys, last } = await storage.keys.list({ ...query, behind, limit: size, now: NOW });
          paged.push(...keys);
          if (last) assert.equal(last.id, keys.at(-1)?.id);
          if (!last) break;
          behind = last;
        }
        assert.equal(whole.length, text === 'same shop' ? 2 : 6);
        assert.deepEqual(paged, whole, `${sort} ${text}`);
      }
      // What uses a key moves it in this order: the next page begins behind the place where it was.
      const { keys: before } = await search(storage, { sort: 'unused' });
      const { last } = await storage.keys.list({ sort: 'unused', limit: 2, now: NOW });
      await storage.usage.add(NOW, [usageAt(before[1]?.id ?? '', NOW)]);
      const { keys: next } = await storage.keys.list({ sort: 'unused', behind: last, limit: 2, now: NOW });
      assert.deepEqual(next, before.slice(2, 4));
      // A key that leaves the filter leaves no gap.
      const active = { state: 'active', limit: 1, now: NOW } as const;
      const first = await storage.keys.list(active);
      await storage.keys.revoke(first.keys[0]?.id ?? '', NOW, OPERATOR);
      const second = (await storage.keys.list({ ...active, behind: first.last })).keys[0]?.id;
      assert.equal(second, (await search(storage, active)).keys[0]?.id);
    },
  );

  check('keys whose whole name, owner, id or prefix is searched for come first in every order', async ({ storage }) => {
    const whole = await issue(storage, { name: 'Shop 1' });
    const owned = await issue(storage, { name: 'x', owner: 'shop 1' });
    for (let index = 0; index < 10; index += 1) await issue(storage, { name: `shop 1${index}` });
    const exact = [whole.key.id, owned.key.id].toSorted();
    for (const sort of KEY_SORTS) {
      const { keys } = await search(storage, { text: 'shop 1', sort, limit: 2 });
      assert.deepEqual(keys.map(({ id }) => id).toSorted(), exact, sort);
    }
    for (const text of [whole.key.prefix, whole.key.id])
      assert.equal((await search(storage, { text })).keys[0]?.id, whole.key.id);
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

/** The first keys that a filter selects, and the number of all. */
async function search({ keys }: Pick<Storage, 'keys'>, query: Partial<KeyQuery> = {}) {
  const asked = { now: NOW, limit: 100, ...query };
  return { keys: (await keys.list(asked)).keys, count: await keys.count(asked) };
}
