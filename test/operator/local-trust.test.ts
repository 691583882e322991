import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sign } from '../../src/operator/session/local-trust.ts';
import { send } from '../kit/console/visitor.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { assertError, json, testService } from '../kit/service.ts';

/** The trust between a running service and the commands of its machine. */

const SIGNER = { actor: 'ann', user: 'root', role: 'viewer' } as const;

test('a signature is good for its method, path and secret alone, reads, and opens nothing on the public listener', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  await service.call(secret, '/categories', { headers: { 'x-request-id': 'asked' } });
  const signed = (method: string, path: string, by = service.localSecret) => sign(by, { method, path }, SIGNER);
  const ask = (method: string, path: string, authorization: string, base = service.operatorUrl) =>
    fetch(base + path, { method, headers: { authorization, connection: 'close' } });
  const path = '/api/v1/requests/asked';
  assert.equal((await ask('GET', path, signed('GET', path))).status, 200);
  for (const wrong of [
    signed('GET', path, 'another secret'),
    signed('GET', `${path}?limit=1`),
    signed('POST', path),
    signed('GET', path).replace(/\w(?=\w*\.)/, 'A'),
    `${signed('GET', path)}x`,
    'Local ',
  ])
    await assertError(ask('GET', path, wrong), 401, 'missing_token');
  await assertError(ask('POST', '/api/v1/keys', signed('POST', '/api/v1/keys')), 403, 'insufficient_role');
  const list = '/v1/categories';
  await assertError(ask('GET', list, signed('GET', list), new URL(service.url).origin), 401, 'missing_api_key');
});

test('a signed request gets a login link, which writes nothing until it is opened, and then one entry', async () => {
  await using service = await testService();
  const { storage, localSecret } = service;
  const ask = (signer: Parameters<typeof sign>[2]) => {
    const authorization = sign(localSecret, { method: 'POST', path: '/console/login' }, signer);
    return send(service, '/login', { method: 'POST', headers: { authorization } });
  };
  const entries = () => storage.audit.list({ since: 0, limit: 9 });
  await assertError(ask({ actor: 'ann' }), 400, 'validation_failed');
  const { path } = await json<{ path: string }>(ask(SIGNER));
  assert.deepEqual(await entries(), []);
  const token = new URLSearchParams(path.split('?')[1]).get('token') ?? '';
  const open = () => send(service, '/login', { body: new URLSearchParams({ token }) });
  assert.deepEqual([(await open()).status, (await open()).status], [303, 403]);
  const [opened, ...others] = await entries();
  assert.deepEqual(
    [opened?.action, opened?.operator, others],
    ['console.open', { actor: 'ann', via: 'console', user: 'root' }, []],
  );
});

test('while the database is away, requests and reasons are answered to a command, and a login names them', {
  skip: noPostgresPrograms,
}, async () => {
  await using postgres = await startPostgres();
  await using service = await testService({ DATABASE_URL: postgres.url });
  const { key, secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 9 } });
  for (const id of ['first', 'second']) await service.call(secret, '/categories', { headers: { 'x-request-id': id } });
  await postgres.stop();
  const signed = (method: string, path: string) => {
    const headers = { authorization: sign(service.localSecret, { method, path }, SIGNER), connection: 'close' };
    return fetch(service.operatorUrl + path, { method, headers });
  };
  const listed = await json<{ requestId: string }[]>(signed('GET', '/api/v1/requests?status=429'));
  assert.deepEqual(
    listed.map(({ requestId }) => requestId),
    ['second'],
  );
  for (const subject of ['second', key.id]) {
    const { sentence } = await json<{ sentence: string }>(signed('GET', `/api/v1/why/${subject}`));
    assert.equal(sentence, 'Over the limit of the minute: the key had used its 1 request.');
  }
  await assertError(signed('GET', '/api/v1/why/petcat_live_none'), 503, 'unavailable');
  const { message } = await assertError(signed('POST', '/console/login'), 503, 'unavailable');
  assert.match(message, /; the log, `pet-catalog requests` and `pet-catalog why` work meanwhile$/);
});
