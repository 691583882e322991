import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { testService } from '../../../test/kit/service.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Role } from '../../catalog/operator/access.ts';
import { signedLogin, UnstoredSessions } from './session.ts';

const SECRET = 'secret';

test('a session that storage cannot take is kept, opened once by a signed login, and stored when that can be done', async () => {
  await using service = await testService();
  const { sessions: stored } = service.storage;
  const now = service.clock.now().unix;
  const { offer } = stored;
  stored.offer = () => Promise.reject(new CatalogError('unavailable', 'The disk is full'));
  const sessions = new UnstoredSessions(stored, SECRET);
  const signLogin = (role: Role, secret = SECRET) =>
    new URL(signedLogin(secret, { actor: 'ops', role, now, url: 'http://console' })).searchParams.get('token') ?? '';
  const login = signLogin('viewer');
  const wanted = { hash: 'one', now, endsAt: now + 40_000 };
  for (const [wrong, at] of [
    [signLogin('admin', 'another'), now],
    [login.replace(/^./, 'X'), now],
    [login, now + 600],
  ] as const)
    assert.equal(await sessions.open(wrong, { ...wanted, now: at }), undefined);
  const kept = await sessions.open(login, wanted);
  const { id = '' } = kept ?? {};
  assert.deepEqual(kept, { id, actor: 'ops', role: 'viewer', openedAt: now, endsAt: now + 40_000, lastSeenAt: now });
  assert.deepEqual(await sessions.list(now), [kept]);
  assert.equal(await sessions.open(login, { ...wanted, hash: 'two' }), undefined, 'a login opens one session');
  assert.equal(await sessions.find('one', now + 3_600), undefined, 'idle');

  const short = signLogin('viewer');
  await sessions.open(short, { ...wanted, hash: 'short', endsAt: now + 100 });
  assert.equal((await sessions.find('short', now + 99))?.endsAt, now + 100);
  assert.equal(await sessions.find('short', now + 100), undefined, 'over');

  const again = async (hash: string) => {
    const signed = signLogin('viewer');
    return (await sessions.open(signed, { ...wanted, hash }))?.id ?? '';
  };
  const seen = await again('three');
  await sessions.touch(seen, now + 3_599);
  assert.equal((await sessions.find('three', now + 7_198))?.lastSeenAt, now + 3_599);
  assert.equal(await sessions.revoke(seen, now, OPERATOR), true);
  assert.equal(await sessions.find('three', now), undefined);

  await again('four');
  assert.deepEqual(await stored.list(now), []);
  stored.offer = offer;
  await sessions.find('four', now + 59);
  assert.deepEqual(await stored.list(now), []);
  const session = await sessions.find('four', now + 60);
  assert.deepEqual(await stored.list(now + 60), [session]);
  assert.deepEqual(await sessions.find('four', now + 61), session, 'it is the stored one now');
  assert.deepEqual([session?.role, session?.endsAt], ['viewer', now + 40_000]);
});
