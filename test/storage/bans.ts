import assert from 'node:assert/strict';
import { type ApiKey, hashSecret } from '../../src/catalog/api-key.ts';
import { type Ban, nextBan } from '../../src/catalog/ban.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import { NO_COUNTS } from '../../src/catalog/window-counts.ts';
import { untilEqual } from '../kit/clock.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, issue, issueMany, NOW } from '../kit/storage/bench.ts';

const TODAY = Math.floor(NOW / 86_400);

/** Registers the checks of bans; the clock of the storage stands still at `NOW`. */
export function bansContract(check: Check): void {
  check('a ban is stored with its key, and read with it', async ({ storage, another }) => {
    const { key, secret } = await issue(storage);
    assert.deepEqual([key.ban, key.banGeneration], [null, 0]);
    const outcome = await storage.keys.impose(key.id, ...decided(NOW));
    const ban = { startedAt: NOW, endsAt: NOW + 60, level: 1, reason: 'r' };
    assert.deepEqual(outcome, { ban: { ...ban, ends: NOW + 60 }, isNew: true });
    await using other = await another();
    const found = await other.keys.findBySecret(hashSecret(secret));
    const { keys } = await other.keys.list({ now: NOW, limit: 9 });
    const read = [found?.key, await other.keys.find(key.id), ...keys];
    assert.deepEqual(
      read.map((each) => each?.ban),
      Array(3).fill(outcome?.ban),
    );
    assert.deepEqual(await other.keys.bans(NOW + 59), [{ keyId: key.id, ...ban }]);
    assert.deepEqual(await other.keys.bans(NOW + 60), []);
    assert.equal(await storage.keys.impose('key_none', ...decided(NOW)), undefined);
  });

  check('a key has one running ban, however many processes impose one at once', async ({ storage, another }) => {
    const { key } = await issue(storage);
    await using other = await another();
    const all = await Promise.all(
      [storage, other, storage, other].map((each) => each.keys.impose(key.id, ...decided(NOW))),
    );
    assert.equal(all.filter((each) => each?.isNew).length, 1);
    for (const each of all) assert.deepEqual(each?.ban, all[0]?.ban);
    assert.deepEqual(await storage.keys.impose(key.id, ...decided(NOW + 59)), { ban: all[0]?.ban, isNew: false });
    assert.equal((await storage.keys.banHistory(key.id, 10)).length, 1);
    assert.equal((await storage.keys.impose(key.id, ...decided(NOW + 60)))?.isNew, true);
  });

  check('a ban that was answered before it was stored is stored as it was answered', async ({ storage }) => {
    const { key } = await issue(storage);
    const over = answered({ startedAt: NOW - 1_000, endsAt: NOW - 700, level: 2 });
    for (const isNew of [true, false]) {
      const outcome = await storage.keys.impose(key.id, ...over);
      assert.deepEqual([outcome?.isNew, outcome?.ban.endsAt, outcome?.ban.level], [isNew, NOW - 700, 2]);
    }
    assert.equal((await storage.keys.impose(key.id, ...decided(NOW)))?.ban.level, 3, 'it is part of the ladder');
    const overlapped = answered({ startedAt: NOW - 30, endsAt: NOW + 270, level: 2 });
    const { ban, isNew } = (await storage.keys.impose(key.id, ...overlapped)) ?? assert.fail();
    assert.deepEqual([isNew, ban.startedAt], [false, NOW], 'another ban runs by then');
    const between = answered({ startedAt: NOW - 600, endsAt: NOW - 540, level: 3 });
    assert.equal((await storage.keys.impose(key.id, ...between))?.isNew, true, 'one that began later is no other');
  });

  check('a lift ends the ban, and voids what was decided before it', async ({ storage, another }) => {
    const { key } = await issue(storage);
    await storage.keys.impose(key.id, ...decided(NOW));
    assert.equal(await storage.keys.lift(key.id, NOW + 5, OPERATOR), true);
    const lifted = (await storage.keys.find(key.id)) ?? assert.fail();
    assert.deepEqual([lifted.ban, lifted.banGeneration], [null, 1]);
    assert.deepEqual(await storage.keys.bans(NOW), []);
    await using other = await another();
    assert.equal(await other.keys.impose(key.id, ...decided(NOW + 4)), undefined);
    assert.equal(
      await other.keys.impose(key.id, ...answered({ startedAt: NOW + 6, endsAt: NOW + 66, level: 1 })),
      undefined,
    );
    const { ban } = (await other.keys.impose(key.id, ...decided(NOW + 6, 1))) ?? assert.fail();
    assert.equal(ban.level, 1, 'a lifted ban is no part of the ladder');
    assert.deepEqual(
      (await storage.keys.banHistory(key.id, 10)).map(({ startedAt, liftedAt }) => [startedAt, liftedAt]),
      [
        [NOW + 6, null],
        [NOW, NOW + 5],
      ],
    );
    const [entry, earlier] = await storage.audit.list({ since: 0, limit: 2, target: key.id });
    assert.deepEqual(
      [entry?.action, entry?.at, entry?.before, entry?.after],
      ['ban.lift', NOW + 5, { banned: true }, { banned: false }],
    );
    assert.equal(earlier?.action, 'key.create');
  });

  check('a lift without a running ban begins a generation, and is not recorded', async ({ storage }) => {
    const { key } = await issue(storage);
    await storage.keys.impose(key.id, ...decided(NOW - 100));
    assert.equal(await storage.keys.lift(key.id, NOW, OPERATOR), false);
    const found = (await storage.keys.find(key.id)) ?? assert.fail();
    const still = [found.banGeneration, found.ban?.endsAt];
    assert.deepEqual(still, [1, NOW - 40], 'a ban that is over is still part of the ladder');
    assert.equal(await storage.keys.impose(key.id, ...decided(NOW)), undefined);
    assert.equal((await storage.audit.list({ since: 0, limit: 1, target: key.id }))[0]?.action, 'key.create');
    assert.equal(await storage.keys.lift('key_none', NOW, OPERATOR), false);
    const { key: other } = await issue(storage);
    await storage.keys.impose(other.id, ...decided(NOW - 60));
    assert.equal(await storage.keys.lift(other.id, NOW, OPERATOR), false, 'a ban is over in the second of its end');
    assert.equal((await storage.keys.banHistory(other.id, 1))[0]?.liftedAt, null);
  });

  check('a lift with a reset gives both windows back; without a ban it changes nothing', async ({ storage }) => {
    const { key } = await issue(storage);
    const counts = { ...NO_COUNTS, keyId: key.id, minuteEnds: NOW + 9, minuteUsed: 3, day: TODAY, dayUsed: 5 };
    await storage.limits.saveCounts([counts]);
    assert.equal(await storage.keys.lift(key.id, NOW, OPERATOR, undefined, true), false);
    assert.deepEqual(await storage.limits.counts(key.id), counts);
    await storage.keys.impose(key.id, ...decided(NOW, 1));
    assert.equal(await storage.keys.lift(key.id, NOW, OPERATOR, undefined, true), true);
    const { minuteUsed, dayUsed } = (await storage.limits.counts(key.id)) ?? assert.fail();
    assert.deepEqual([minuteUsed, dayUsed], [0, 0]);
    const entries = await storage.audit.list({ since: 0, limit: 2, target: key.id });
    assert.deepEqual(
      entries.map(({ action, before }) => [action, before]),
      [
        ['key.reset', { minuteUsed: 3, dayUsed: 5 }],
        ['ban.lift', { banned: true }],
      ],
    );
  });

  check('lifting a second ban leaves the first one in the ladder', async ({ storage }) => {
    const { key } = await issue(storage);
    await storage.keys.impose(key.id, ...decided(NOW - 100));
    await storage.keys.impose(key.id, ...decided(NOW));
    await storage.keys.lift(key.id, NOW, OPERATOR);
    assert.equal((await storage.keys.find(key.id))?.ban?.startedAt, NOW - 100);
    assert.equal((await storage.keys.impose(key.id, ...decided(NOW, 1)))?.ban.level, 2);
  });

  check('a change of the key keeps its ban, and a change of its ban the key', async ({ storage }) => {
    const { key } = await issue(storage);
    await storage.keys.impose(key.id, ...decided(NOW));
    await storage.keys.lift(key.id, NOW, OPERATOR);
    await storage.keys.impose(key.id, ...decided(NOW - 1, 1));
    const { ban, banGeneration } = (await storage.keys.update(key.id, { name: 'renamed' }, OPERATOR)) ?? assert.fail();
    assert.deepEqual([ban?.startedAt, banGeneration], [NOW - 1, 1]);
    await storage.keys.lift(key.id, NOW, OPERATOR);
    const { name, limits, scopes, owner } = (await storage.keys.find(key.id)) ?? assert.fail();
    assert.deepEqual({ name, limits, scopes, owner }, { ...pick(key), name: 'renamed' });
  });

  check('a ban that was dated by a clock ahead lasts no longer than its length from now', async ({ storage }) => {
    const { key } = await issue(storage);
    await storage.keys.impose(key.id, ...answered({ startedAt: NOW + 7_200, endsAt: NOW + 7_260, level: 1 }));
    const read = (await storage.keys.find(key.id))?.ban;
    assert.deepEqual([read?.startedAt, read?.endsAt, read?.ends], [NOW, NOW + 60, NOW + 60]);
    const { ban, isNew } = (await storage.keys.impose(key.id, ...decided(NOW))) ?? assert.fail();
    assert.deepEqual([isNew, ban.endsAt], [false, NOW + 60]);
    const [stored] = await storage.keys.banHistory(key.id, 1);
    assert.deepEqual([stored?.startedAt, stored?.endsAt], [NOW, NOW + 60], 'which the next write stores');
  });

  check('the bans of all keys are listed newest first, those of one key alone', async ({ storage }) => {
    const keys = (await issueMany(storage, 3)).map(({ key }) => key.id).toSorted();
    for (const [index, id] of keys.entries()) await storage.keys.impose(id, ...decided(NOW + (index === 0 ? 5 : 0)));
    const [first, second, third] = keys;
    assert.deepEqual(
      (await storage.keys.bans(NOW)).map(({ keyId }) => keyId),
      [first, third, second],
    );
    assert.equal((await storage.keys.banHistory(second ?? '', 10)).length, 1);
    const counted = (state: 'banned' | 'active') => storage.keys.count({ state, now: NOW });
    assert.deepEqual([await counted('banned'), await counted('active')], [3, 0]);
    await storage.keys.revoke(second ?? '', NOW, OPERATOR);
    await storage.keys.update(third ?? '', { expiresAt: NOW + 1 }, OPERATOR);
    const keptOutAt = async (now: number) => (await storage.keys.bans(now)).map(({ keyId }) => keyId);
    assert.deepEqual([await keptOutAt(NOW), await keptOutAt(NOW + 1)], [[first, third], [first]]);
  });

  check('processes are told which key changed, with every change of it', async ({ storage, another }) => {
    const told = new Set<string>();
    let all = 0;
    const follow = async (change: string, keyIds?: readonly string[]) => {
      if (change === 'keys' && !keyIds) all += 1;
      for (const id of keyIds ?? []) told.add(id);
    };
    const [one, two] = await issueMany(storage, 2);
    assert.ok(one && two);
    await using other = await another();
    for (const watching of [storage, other]) {
      told.clear();
      await watching.watch(follow);
      const changes: readonly ((by: Storage) => Promise<unknown>)[] = [
        (by) => by.keys.impose(one.key.id, ...decided(NOW)),
        (by) => by.keys.lift(two.key.id, NOW, OPERATOR),
      ];
      for (const change of changes) await change(storage);
      await untilEqual(() => told.size, 2);
      assert.deepEqual([told.has(one.key.id), told.has(two.key.id), all], [true, true, 0]);
    }
  });
}

function pick({ name, limits, scopes, owner }: ApiKey) {
  return { name, limits, scopes, owner };
}

/** A ban that no client was answered with yet. */
function decided(startedAt: number, banGeneration = 0) {
  return [nextBan(null, { startedAt, reason: 'r' }), { banGeneration, isAnswered: false }] as const;
}

function answered(ban: Omit<Ban, 'reason'>) {
  return [
    { ...ban, reason: 'r' },
    { banGeneration: 0, isAnswered: true },
  ] as const;
}
