import assert from 'node:assert/strict';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, NOW } from '../kit/storage/bench.ts';

/** A session that is asked for; `offeredAfter` is before every entry of the audit. */
const WANTED = { actor: 'ops', role: 'viewer', now: NOW, endsAt: NOW + 40_000, offeredAfter: 0 } as const;

/** Registers the checks of the console's sessions. */
export function sessionsContract(check: Check): void {
  check('a session is opened with one entry, found by its hash, and can be ended', async ({ storage }) => {
    const user = 'root';
    const wanted = { ...WANTED, user, hash: 'session', now: NOW + 1, endsAt: NOW + 3_600 };
    const session = await storage.sessions.open(wanted);
    assert.deepEqual([session?.actor, session?.role], ['ops', 'viewer']);
    assert.deepEqual([session?.openedAt, session?.endsAt], [NOW + 1, NOW + 3_600]);
    const [opened, ...others] = await storage.audit.list({ since: 0, limit: 9 });
    assert.deepEqual(others, []);
    assert.deepEqual(
      [opened?.at, opened?.operator, opened?.target, opened?.before, opened?.after],
      [NOW, { actor: 'ops', via: 'console', user }, session?.id, null, { role: 'viewer', endsAt: NOW + 3_600 }],
    );
    assert.equal(opened?.action, 'console.open');
    assert.deepEqual(await storage.sessions.find('session', NOW + 3_599), session);
    assert.equal(await storage.sessions.find('session', NOW + 3_600), undefined);
    assert.deepEqual(await storage.sessions.list(NOW + 2), [session]);
    assert.equal(await storage.sessions.revoke(session?.id ?? '', NOW + 3, OPERATOR), true);
    const [ended] = await storage.audit.list({ since: 0, limit: 1, action: 'console.revoke' });
    assert.deepEqual(
      [ended?.operator, ended?.target, ended?.before],
      [OPERATOR, session?.id, { actor: 'ops', endsAt: NOW + 3_600 }],
    );
    assert.equal(await storage.sessions.revoke(session?.id ?? '', NOW + 3, OPERATOR), false);
    assert.equal(await storage.sessions.find('session', NOW + 4), undefined);
  });

  check('a session ends after an hour without use', async ({ storage }) => {
    const open = async (hash: string, now: number) => {
      const session = await storage.sessions.open({ ...WANTED, hash, now, endsAt: now + 40_000 });
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
    const third = await open('third', NOW + 3_600);
    assert.deepEqual(
      (await storage.sessions.list(NOW + 3_600)).map(({ id }) => id),
      [third, used],
    );
    assert.equal((await storage.sessions.find('third', NOW + 3_540))?.id, third);
    assert.equal(await storage.sessions.find('third', NOW + 3_539), undefined, 'a clock that was ahead opened it');
    assert.equal(await storage.sessions.find('idle', NOW + 3_599), undefined, 'removed when the next one is opened');
    assert.equal(await storage.sessions.find('used', NOW + 7_199), undefined);
  });

  check(
    'ending all sessions of an actor ends its logins that were offered before, and nothing of another',
    async (bench) => {
      const { storage } = bench;
      const another = await bench.another();
      const offeredNow = async () => Number((await storage.audit.list({ since: 0, limit: 1 }))[0]?.id);
      const open = async (hash: string, offeredAfter: number, actor = 'ann') =>
        (await storage.sessions.open({ ...WANTED, actor, hash, offeredAfter }))?.id;
      const ids = [await open('1', 0), await open('2', 0)];
      const others = [await open('3', 0, 'anna'), await open('4', 0, 'Ann')];
      const before = await offeredNow();
      const ended = await another.sessions.revokeAll('ann', NOW, OPERATOR);
      assert.deepEqual(ended.map(({ id }) => id).sort(), ids.sort());
      assert.deepEqual((await storage.sessions.list(NOW)).map(({ id }) => id).sort(), others.sort());
      const entries = await storage.audit.list({ since: 0, limit: 9, action: 'console.revoke' });
      assert.deepEqual(entries.map(({ target }) => target).sort(), ['ann', ...ids].sort());
      assert.deepEqual(entries[0]?.after, { sessions: 2 });
      assert.equal(await open('5', before), undefined, 'offered before the end');
      assert.deepEqual(await storage.sessions.list(NOW), await another.sessions.list(NOW));
      assert.notEqual(await open('6', before, 'anna'), undefined);
      assert.notEqual(await open('7', await offeredNow()), undefined, 'offered after it');
      await storage.sessions.revokeAll('ann', NOW, OPERATOR);
      assert.deepEqual(await storage.sessions.revokeAll('ann', NOW, OPERATOR), []);
    },
  );
}
