import assert from 'node:assert/strict';
import { OPERATOR } from '../operator.ts';
import { type Check, issue, issueMany, NOW } from './bench.ts';

/** Registers the checks of counts and bans. */
export function limitsContract(check: Check): void {
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

  check('counts only rise, in whatever order updates arrive', async ({ storage }) => {
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

  check('the last ban that was not lifted is returned', async ({ storage }) => {
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
    const [entry, earlier] = await storage.audit.list({ since: 0, limit: 2, target: key.id });
    assert.deepEqual(
      [entry?.action, entry?.at, entry?.before, entry?.after],
      ['ban.lift', NOW + 120, { banned: true }, { banned: false }],
    );
    assert.equal(earlier?.action, 'key.create', 'lifting no ban is not recorded');
  });

  check('a ban that was decided before a lift, and is stored after it, is stored as lifted', async ({ storage }) => {
    const [key = '', other = ''] = (await issueMany(storage, 2)).map((issued) => issued.key.id);
    const ban = (startedAt: number, keyId = key) => {
      return { keyId, startedAt, endsAt: startedAt + 60, level: 1, reason: 'r' };
    };
    for (const keyId of [key, other]) await storage.limits.insertBan(ban(NOW - 10, keyId));
    await storage.limits.liftBan(key, NOW - 5, OPERATOR);
    for (const decided of [NOW - 9, NOW - 4]) await storage.limits.insertBan(ban(decided));
    await storage.limits.insertBan(ban(NOW - 9, other));
    assert.deepEqual(await storage.limits.listBans(NOW), [ban(NOW - 10, other), ban(NOW - 9, other)]);
    const lifted = [NOW - 10, NOW - 9, NOW - 4];
    const listed = (await storage.limits.listLiftedBans(NOW)).map(({ startedAt, liftedAt }) => [startedAt, liftedAt]);
    assert.deepEqual(
      listed,
      lifted.map((startedAt) => [startedAt, NOW - 5]),
    );
    assert.equal((await storage.limits.listLiftedBans(NOW + 50)).length, 2, 'but those that are over');
    await storage.limits.insertBan({ ...ban(NOW - 65), endsAt: NOW - 5 });
    await storage.limits.insertBan(ban(NOW - 3));
    assert.equal((await storage.limits.memory(key)).ban?.startedAt, NOW - 3, 'one that was decided after it');
    const kept = (await storage.limits.banHistory(key, 10)).filter(({ liftedAt }) => liftedAt === null);
    assert.deepEqual(
      kept.map(({ startedAt }) => startedAt),
      [NOW - 3, NOW - 65],
      'and one that was over by then',
    );
    const known = { ...ban(NOW - 4), endsAt: NOW + 70 };
    await storage.limits.insertBan(known, { followedLift: NOW - 5 });
    assert.deepEqual(await storage.limits.listBans(NOW + 60), [known], 'and one of those that knew of the lift');
    await storage.limits.insertBan({ ...known, endsAt: NOW + 80 }, { followedLift: NOW - 6 });
    assert.deepEqual(await storage.limits.listBans(NOW + 70), [], 'but not of those that knew of one before');
  });

  check('a ban that is stored after two lifts was lifted by the later one', async ({ storage }) => {
    const { key } = await issue(storage);
    const ban = (startedAt: number) => ({ keyId: key.id, startedAt, endsAt: startedAt + 60, level: 1, reason: 'r' });
    for (const startedAt of [NOW, NOW + 10]) {
      await storage.limits.insertBan(ban(startedAt));
      assert.equal(await storage.limits.liftBan(key.id, startedAt + 5, OPERATOR), true);
    }
    await storage.limits.insertBan(ban(NOW + 1));
    const history = await storage.limits.banHistory(key.id, 10);
    assert.deepEqual(
      history.map(({ startedAt, liftedAt }) => [startedAt, liftedAt]),
      [
        [NOW + 10, NOW + 15],
        [NOW + 1, NOW + 15],
        [NOW, NOW + 5],
      ],
    );
  });

  check('reading many keys at once returns the same as reading each alone', async ({ storage }) => {
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
    const starts = [undefined, undefined, NOW, undefined];
    const together = alone.map((memory, index) => ({ ...memory, lifted: starts[index] }));
    assert.deepEqual(await storage.limits.memories(keys), together);
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
    await storage.limits.liftBan(key.id, NOW, OPERATOR);
    await storage.limits.move(20);
    const [lifted] = await storage.limits.banHistory(key.id, 1);
    assert.deepEqual([lifted?.startedAt, lifted?.liftedAt], [NOW + 10, NOW + 20]);
  });
}
