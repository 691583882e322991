import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { issueToken, ROLES, revokeToken } from '../../src/catalog/operator/access.ts';
import { API_OPERATIONS } from '../../src/operator/api/app.ts';
import { storeBan } from '../kit/bans.ts';
import { apiClient, callApi, OPERATOR } from '../kit/operator.ts';
import { json, type TestService, testService } from '../kit/service.ts';

/** Who may do what on the operator API. */

test('every operation does what it does for its role and those above, and nothing below or without a token', async () => {
  await using service = await testService();
  const clients = await Promise.all(ROLES.map((role) => apiClient(service, role)));
  assert.ok(API_OPERATIONS.length >= 12);
  for (const { id, method, permission: needed } of API_OPERATIONS) {
    const target = await targetOf(service, id);
    const none = await callApi(service, method, target.path, target);
    assert.equal(none.status, 401, id);
    assert.equal(none.headers.get('www-authenticate'), 'Bearer realm="pet-catalog-operator"', id);
    assert.deepEqual(
      await json(none),
      {
        code: 'missing_token',
        message: 'No token was sent; send it as `Authorization: Bearer <TOKEN>`',
        status: 401,
      },
      id,
    );
    for (const client of clients) {
      const answer = await client.send(method, target.path, target.body);
      const context = `${id} as ${client.token.role}: ${answer.status}`;
      if (ROLES.indexOf(client.token.role) >= ROLES.indexOf(needed)) {
        assert.ok(answer.ok, context);
        // A second one may find nothing left to do.
        if (answer.ok && method !== 'GET') Object.assign(target, await targetOf(service, id));
        continue;
      }
      assert.equal(answer.status, 403, context);
      const message = `This needs the role ${needed}; the token has the role ${client.token.role}`;
      assert.deepEqual(await json(answer), { code: 'insufficient_role', message, status: 403 }, id);
      const scope = `Bearer realm="pet-catalog-operator", error="insufficient_scope", scope="${needed}"`;
      assert.equal(answer.headers.get('www-authenticate'), scope);
    }
  }
  assert.equal(service.events.failures.length, 0);
});

test('a refused change changes nothing', async () => {
  await using service = await testService();
  const viewer = await apiClient(service, 'viewer');
  for (const { id, method, permission } of API_OPERATIONS) {
    if (permission === 'viewer') continue;
    const { path, body } = await targetOf(service, id);
    const before = await everything(service);
    for (const headers of [{}, { authorization: 'Bearer x' }]) {
      assert.ok([401, 403].includes((await viewer.send(method, path, body, headers)).status), id);
    }
    assert.equal(await everything(service), before, id);
  }
});

test('an API key opens nothing here, and a token opens nothing on the public listener', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const { secret: token } = await apiClient(service, 'admin');
  const refused = await callApi(service, 'GET', '/keys', { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(refused.status, 401);
  assert.deepEqual(await json(refused), {
    code: 'invalid_token',
    message: 'The token is not valid; check it, or issue another with `pet-catalog operators create`',
    status: 401,
  });
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer realm="pet-catalog-operator", error="invalid_token"');
  assert.equal(refused.headers.get('x-ratelimit-limit'), null);
  assert.equal((await service.call(token, '/categories')).status, 401);
  const origin = new URL(service.url).origin;
  for (const path of ['/api/v1/keys', '/v1/keys', '/v1/api/v1/keys']) {
    const answer = await fetch(origin + path, { headers: { authorization: `Bearer ${token}`, connection: 'close' } });
    assert.ok([401, 404].includes(answer.status), path);
  }
});

test('a token ends when it expires and as soon as it is revoked, with the same answer as one that never was', async () => {
  await using service = await testService();
  const { clock, storage } = service;
  const client = await apiClient(service, 'viewer');
  assert.equal((await client.send('GET', '/keys')).status, 200);
  const setRole = (role: string) =>
    storage.transactions.transact((trx) =>
      trx.run(sql`update operator_tokens set role = ${role} where id = ${client.token.id}`),
    );
  await setRole('root');
  assert.equal((await client.send('GET', '/keys')).status, 401, 'a role that there is not may be a damaged one');
  await setRole('viewer');
  await revokeToken({ storage, now: clock.now().unix, by: OPERATOR }, client.token.id);
  const revoked = await client.send('GET', '/keys');
  const unknown = await client.send('GET', '/keys', undefined, { authorization: `Bearer ${client.secret}x` });
  assert.deepEqual([revoked.status, await revoked.text()], [401, await unknown.text()]);
  const context = { storage, now: clock.now().unix, by: OPERATOR };
  const { secret } = await issueToken(context, { name: 'x', role: 'viewer', expiresAt: clock.now().unix + 60 });
  const call = () => callApi(service, 'GET', '/keys', { headers: { authorization: `Bearer ${secret}` } });
  assert.equal((await call()).status, 200);
  clock.advance(60);
  assert.equal((await call()).status, 401);
});

test('gates answer as on the public side: 401 before 404 before 405 before 403, and 204 to OPTIONS', async () => {
  await using service = await testService();
  const viewer = await apiClient(service, 'viewer');
  const code = async (answer: Response) => [answer.status, (await json<{ code: string }>(answer)).code];
  assert.deepEqual(await code(await callApi(service, 'GET', '/nothing')), [401, 'missing_token']);
  for (const path of ['/nothing', '', '/', '/keys/', '/keys/%00', '/keys//rotate']) {
    assert.deepEqual(await code(await viewer.send('GET', path)), [404, 'not_found'], path);
  }
  const wrong = await viewer.send('DELETE', '/keys');
  assert.equal(wrong.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
  assert.deepEqual(await code(wrong), [405, 'method_not_allowed']);
  const options = await viewer.send('OPTIONS', '/keys');
  assert.deepEqual([options.status, options.headers.get('allow')], [204, 'GET, HEAD, OPTIONS, POST']);
  const head = await viewer.send('HEAD', '/keys');
  assert.deepEqual([head.status, await head.text()], [200, '']);
  const admin = await apiClient(service, 'admin');
  assert.deepEqual(await code(await admin.send('POST', '/keys', '{')), [400, 'invalid_json']);
  assert.deepEqual(await code(await admin.send('POST', '/keys', '[]')), [400, 'validation_failed']);
  assert.deepEqual(await code(await admin.send('POST', '/keys', 'null')), [400, 'validation_failed']);
  const typed = await admin.send('POST', '/keys', '{}', { 'content-type': 'text/plain' });
  assert.deepEqual(await code(typed), [415, 'unsupported_media_type']);
  const large = await admin.send('POST', '/keys', 'x'.repeat(300_000));
  assert.deepEqual(await code(large), [413, 'payload_too_large']);
  assert.ok((await viewer.send('GET', '/keys')).headers.get('x-request-id'));
  const outside = await fetch(`${service.operatorUrl}/v1/keys`);
  const message = 'There is nothing at this address; the paths of the API begin with /api/v1';
  assert.deepEqual(await json(outside), { code: 'not_found', message, status: 404 });
});

interface Target {
  path: string;
  body?: unknown;
}

/** A request that an operation can fulfil, with what it needs made anew. */
async function targetOf(service: TestService, id: string): Promise<Target> {
  const { storage, clock } = service;
  const { key, secret } = await service.issue();
  const now = clock.now().unix;
  const category = async () => (await storage.categories.insert({ name: 'Dog' }, { keyId: key.id })).resource.id;
  switch (id) {
    case 'createKey':
      return { path: '/keys', body: { name: 'shop', plan: 'pro' } };
    case 'getKey':
      return { path: `/keys/${key.id}` };
    case 'updateKey':
      return { path: `/keys/${key.id}`, body: { plan: 'pro' } };
    case 'rotateKey':
      return { path: `/keys/${key.id}/rotate` };
    case 'endGraces':
      return { path: `/keys/${key.id}/graces` };
    case 'revokeKey':
      return { path: `/keys/${key.id}/revoke` };
    case 'liftBan':
      await storeBan(storage, { keyId: key.id, startedAt: now, endsAt: now + 60, level: 1, reason: 'r' });
      return { path: `/keys/${key.id}/ban` };
    case 'renameCategory':
      return { path: `/categories/${await category()}`, body: { name: `Dogs ${await category()}` } };
    case 'deleteCategory':
      return { path: `/categories/${await category()}` };
    case 'listKeyRequests':
      return { path: `/keys/${key.id}/requests` };
    case 'getRequest':
      await service.call(secret, '/rate_limit', { headers: { 'x-request-id': 'one' } });
      return { path: '/requests/one' };
    default: {
      const { path = '' } = API_OPERATIONS.find((operation) => operation.id === id) ?? {};
      return { path };
    }
  }
}

async function everything({ storage, clock }: TestService): Promise<string> {
  const keys = await storage.keys.list();
  const bans = await storage.keys.bans(clock.now().unix);
  const audit = await storage.audit.list({ since: 0, limit: 10_000 });
  return JSON.stringify([keys, bans, audit, await storage.categories.list()]);
}
