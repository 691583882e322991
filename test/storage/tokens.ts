import assert from 'node:assert/strict';
import { hashSecret } from '../../src/catalog/api-key.ts';
import { issueToken } from '../../src/catalog/operator/access.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, NOW } from '../kit/storage/bench.ts';

/** Registers the checks of operators' tokens. */
export function tokensContract(check: Check): void {
  check('a token is found by its hash until it is revoked, and the audit tells of both', async (bench) => {
    const context = { storage: bench.storage, now: NOW, by: OPERATOR };
    const { token, secret } = await issueToken(context, { name: 'billing', role: 'keys', expiresAt: NOW + 60 });
    await bench.reopen();
    const { storage } = bench;
    assert.deepEqual(await storage.tokens.find(hashSecret(secret)), token);
    assert.equal(await storage.tokens.find('none'), undefined);
    assert.equal((await storage.tokens.revoke(token.id, NOW + 1, OPERATOR))?.revokedAt, NOW + 1);
    assert.equal((await storage.tokens.revoke(token.id, NOW + 2, OPERATOR))?.revokedAt, NOW + 1);
    assert.deepEqual(await storage.tokens.list(), [{ ...token, revokedAt: NOW + 1 }]);
    assert.equal(await storage.tokens.revoke('op_none', NOW, OPERATOR), undefined);
    const entries = await storage.audit.list({ since: 0, limit: 10, target: token.id });
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['operator.revoke', 'operator.create'],
    );
    assert.ok(!JSON.stringify(entries).includes(secret));
    assert.deepEqual(await storage.audit.list({ since: 0, limit: 10, actor: 'other' }), []);
    assert.equal((await storage.audit.list({ since: 0, limit: 10, action: 'operator.create' })).length, 1);
  });

  check('tokens and sessions of one second are listed newest first', async ({ storage }) => {
    const [tokens, sessions]: [string[], (string | undefined)[]] = [[], []];
    for (let index = 0; index < 7; index += 1) {
      const { token } = await issueToken({ storage, now: NOW, by: OPERATOR }, { name: `t${index}`, role: 'viewer' });
      tokens.unshift(token.id);
      const login = { actor: 'ops', role: 'viewer', offeredAfter: 0 } as const;
      const opened = { ...login, hash: `session ${index}`, now: NOW, endsAt: NOW + 600 };
      sessions.unshift((await storage.sessions.open(opened))?.id);
    }
    const earlier = await issueToken({ storage, now: NOW - 1, by: OPERATOR }, { name: 'earlier', role: 'viewer' });
    tokens.push(earlier.token.id);
    assert.deepEqual(
      (await storage.tokens.list()).map(({ id }) => id),
      tokens,
    );
    assert.deepEqual(
      (await storage.sessions.list(NOW)).map(({ id }) => id),
      sessions,
    );
  });

  check('tokens have their issuer, and those of a name are revoked with those that it issued', async ({ storage }) => {
    const issue = async (name: string, actor: string) =>
      (await issueToken({ storage, now: NOW, by: { actor, via: 'api' } }, { name, role: 'viewer' })).token;
    const own = await issue('ann', 'bob');
    const issued = await issue('billing', 'ann');
    const others = [await issue('anna', 'bob'), await issue('support', 'anna'), await issue('shop', 'billing')];
    const gone = await issue('old', 'ann');
    await storage.tokens.revoke(gone.id, NOW, OPERATOR);
    const ids = (tokens: readonly { id: string }[]) => tokens.map(({ id }) => id).sort();
    assert.deepEqual(Object.fromEntries((await storage.tokens.list()).map(({ name, issuedBy }) => [name, issuedBy])), {
      ...{ ann: 'bob', billing: 'ann', anna: 'bob', support: 'anna', shop: 'billing', old: 'ann' },
    });
    const revoked = await storage.tokens.revokeAll('ann', NOW + 5, OPERATOR);
    assert.deepEqual(ids(revoked), ids([own, issued]));
    assert.deepEqual(new Set(revoked.map(({ revokedAt }) => revokedAt)), new Set([NOW + 5]));
    assert.deepEqual(ids((await storage.tokens.list()).filter(({ revokedAt }) => revokedAt === null)), ids(others));
    const entries = await storage.audit.list({ since: 0, limit: 9, action: 'operator.revoke' });
    assert.deepEqual(entries.map(({ target }) => target).sort(), [...ids([own, issued]), gone.id].sort());
    assert.deepEqual(await storage.tokens.revokeAll('ann', NOW + 6, OPERATOR), []);
  });
}
