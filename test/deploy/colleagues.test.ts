import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCaddy } from '../kit/deploy/caddy.ts';
import { DEPLOY, text } from '../kit/deploy/files.ts';
import { replaced, startSite } from '../kit/deploy/nginx.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { httpServer } from '../kit/http-server.ts';
import { type TestService, testService } from '../kit/service.ts';
import { call } from './call.ts';

/** The sign-in by a proxy in front: the delivered files, with a stand-in for oauth2-proxy. */

const SETTINGS = {
  OPERATOR_IDENTITY_HEADER: 'X-Forwarded-User',
  OPERATOR_IDENTITY_PROXIES: '127.0.0.1',
  OPERATOR_ROLE_HEADER: 'X-Forwarded-Groups',
  OPERATOR_ROLES: 'admins=admin,support=keys',
};
const FORGED = { 'x-forwarded-user': 'root', 'x-forwarded-groups': 'admins', 'x-forwarded-for': '203.0.113.9' };

/** As oauth2-proxy answers: its cookie is `NAME:GROUPS`, the redirect of a sign-in has the page that was wanted. */
function startProvider() {
  return httpServer(({ url, headers }, response) => {
    const [, name, groups] = /session=([^:;]*):([^;]*)/.exec(headers.cookie ?? '') ?? [];
    if (url === '/oauth2/ready') response.writeHead(200);
    else if (url === '/oauth2/start')
      response.writeHead(302, { Location: `/go?rd=${headers['x-auth-request-redirect']}` });
    else if (url?.split('?')[0] !== '/oauth2/auth' || name === undefined) response.writeHead(401);
    else {
      const said = { ...(groups && { 'X-Auth-Request-Groups': groups }) };
      response.writeHead(202, { 'X-Auth-Request-Preferred-Username': Buffer.from(name).toString('latin1'), ...said });
    }
    response.end();
  });
}

/** What each of the files must do. */
async function judge(service: TestService, origin: string, agent?: Agent): Promise<void> {
  const ask = async (path: string, sent: Record<string, string> = {}, form?: string) => {
    const type = form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' };
    const post = { method: type ? 'POST' : 'GET', headers: { ...sent, ...type }, ...(agent && { agent }) };
    const answer = await call(origin, path, { ...post, ...(form !== undefined && { body: form }) });
    return { ...answer, location: answer.headers.location?.replace(origin, ''), body: answer.body.toString() };
  };
  const { key } = await service.issue();
  const page = `/console/keys/${key.id}?since=24h&by=hour`;
  for (const headers of [{}, FORGED]) {
    const unknown = await ask(page, headers);
    assert.deepEqual([unknown.status, unknown.location], [302, `/go?rd=${page}`]);
  }
  const as = (cookie: string, more = {}) => ({ cookie: `session=${encodeURI(cookie)}; other=1`, ...more });
  for (const [cookie, name, role] of [
    ['ann:staff,admins', 'ann', 'admin'],
    ['bob:support', 'bob', 'keys'],
  ] as const) {
    const { body } = await ask(page, as(cookie, FORGED));
    assert.match(body, new RegExp(`<bdi>${name}</bdi> <span class="badge" title="Your role">${role}<`));
  }
  for (const cookie of ['eve:staff', 'eve:']) {
    const none = await ask(page, as(cookie, FORGED));
    assert.equal(none.status, 403);
    assert.match(none.body, /eve is signed in at the proxy and has no role here: OPERATOR_ROLES has none of /);
  }
  const revoke = `/console/keys/${key.id}/revoke`;
  const own = { origin, 'sec-fetch-site': 'same-origin' };
  const foreign = { ...own, origin: 'https://evil.example' };
  for (const wrong of [{}, { origin }, { 'sec-fetch-site': 'same-origin' }, foreign])
    assert.equal((await ask(revoke, as('bob:support', wrong), 'csrf=')).status, 403);
  assert.equal((await service.storage.keys.find(key.id))?.revokedAt, null);
  assert.equal((await ask(revoke, as('bob:support', own), 'csrf=')).status, 303);
  const clients = service.events.answered.map(({ request }) => request?.headers['x-forwarded-for']);
  assert.deepEqual(new Set(clients), new Set(['127.0.0.1']));
  const [entry] = await service.storage.audit.list({ since: 0, limit: 1 });
  assert.deepEqual([entry?.action, entry?.operator], ['key.revoke', { actor: 'bob', via: 'proxy' }]);
}

const CHANGES = ({ operatorUrl }: TestService, provider: { port: number }) =>
  [
    ['127.0.0.1:8081', new URL(operatorUrl).host],
    ['127.0.0.1:4180', `127.0.0.1:${provider.port}`],
  ] as const;
const TITLE = 'oauth2-proxy names who signed in on each page, and a browser can claim nothing';

test(`${TITLE}: behind nginx`, { skip: missingPrograms('nginx', 'openssl') }, async () => {
  await using service = await testService(SETTINGS);
  await using provider = await startProvider();
  const changes = [['ops.example.com;', '_;'], ...CHANGES(service, provider)] as const;
  await using nginx = await startSite('nginx/operator.conf', (site) => replaced(site, changes));
  const agent = new Agent({ ca: nginx.ca });
  await judge(service, `https://127.0.0.1:${nginx.port}`, agent);
  agent.destroy();
});

test(`${TITLE}: behind Caddy`, { skip: missingPrograms('caddy') }, async () => {
  const file = join(DEPLOY, 'caddy/operator.Caddyfile');
  assert.equal(spawnSync('caddy', ['fmt', file], { encoding: 'utf8' }).stdout, text('caddy/operator.Caddyfile'));
  await using service = await testService(SETTINGS);
  await using provider = await startProvider();
  const origin = `http://127.0.0.1:${await freePort()}`;
  const name = ['\nops.example.com {', `\n{\n\tauto_https off\n\tadmin off\n}\n${origin} {`] as const;
  const site = replaced(text('caddy/operator.Caddyfile'), [name, ...CHANGES(service, provider)]);
  await using _caddy = await runCaddy(site, origin, '/oauth2/ready');
  await judge(service, origin);
});
