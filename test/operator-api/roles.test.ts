import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { issueToken } from '../../src/catalog/operator/access.ts';
import { apiClient, callApi, OPERATOR } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';

/** Who may do what on the operator API. */

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
  await storage.tokens.revoke(client.token.id, clock.now().unix, OPERATOR);
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
  const forbidden = (await viewer.send('POST', '/keys', '{')).headers.get('www-authenticate');
  assert.equal(forbidden, 'Bearer realm="pet-catalog-operator", error="insufficient_scope", scope="keys"');
  const admin = await apiClient(service, 'admin');
  assert.deepEqual(await code(await admin.send('POST', '/keys', '{')), [400, 'invalid_json']);
  assert.deepEqual(await code(await admin.send('POST', '/keys', '[]')), [400, 'validation_failed']);
  const typed = await admin.send('POST', '/keys', '{}', { 'content-type': 'text/plain' });
  assert.deepEqual(await code(typed), [415, 'unsupported_media_type']);
  const large = await admin.send('POST', '/keys', 'x'.repeat(300_000));
  assert.deepEqual(await code(large), [413, 'payload_too_large']);
  assert.ok((await viewer.send('GET', '/keys')).headers.get('x-request-id'));
  const outside = await fetch(`${service.operatorUrl}/v1/keys`);
  const message = 'There is nothing at this address; the paths of the API begin with /api/v1';
  assert.deepEqual(await json(outside), { code: 'not_found', message, status: 404 });
  const { listener, api } = service.events.answered.at(-1) ?? {};
  assert.deepEqual([listener, api], ['operator', 'false']);
});
