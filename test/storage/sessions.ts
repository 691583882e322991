import assert from 'node:assert/strict';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, NOW } from '../kit/storage/bench.ts';

/** Registers the checks of console logins and sessions. */
export function sessionsContract(check: Check): void {
  check('a login opens one session, and a session can be ended', async ({ storage }) => {
    await storage.sessions.offer('login', { endsAt: NOW + 600, actor: 'ops', role: 'viewer' });
    await storage.sessions.offer('late', { endsAt: NOW + 1, actor: 'ops', role: 'viewer' });
    const wanted = { hash: 'session', now: NOW + 1, endsAt: NOW + 3_600 };
    assert.equal(await storage.sessions.open('late', wanted), undefined);
    assert.equal(await storage.sessions.open('unknown', wanted), undefined);
    const session = await storage.sessions.open('login', wanted);
    assert.deepEqual([session?.actor, session?.role], ['ops', 'viewer']);
    assert.deepEqual([session?.openedAt, session?.endsAt], [NOW + 1, NOW + 3_600]);
    const [opened] = await storage.audit.list({ since: 0, limit: 1, action: 'console.open' });
    assert.deepEqual(
      [opened?.at, opened?.operator, opened?.target, opened?.before, opened?.after],
      [NOW, { actor: 'ops', via: 'console' }, session?.id, null, { role: 'viewer', endsAt: NOW + 3_600 }],
    );
    assert.equal(await storage.sessions.open('login', { ...wanted, hash: 'another' }), undefined);
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
      await storage.sessions.offer(`login of ${hash}`, { endsAt: now + 600, actor: 'ops', role: 'viewer' });
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
    const third = await open('third', NOW + 3_600);
    assert.deepEqual(
      (await storage.sessions.list(NOW + 3_600)).map(({ id }) => id),
      [third, used],
    );
    await storage.sessions.touch(third, 0);
    assert.equal((await storage.sessions.find('third', NOW + 7_199))?.lastSeenAt, NOW + 3_600, 'as 0.1.0 wrote it');
    assert.equal(await storage.sessions.find('idle', NOW + 3_599), undefined, 'removed when the next one is opened');
    assert.equal(await storage.sessions.find('used', NOW + 7_199), undefined);
  });
}
