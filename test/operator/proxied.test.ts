import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { call } from '../deploy/call.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The sign-in by a proxy in front, whose address is 127.0.0.2. The delivered files are in `test/deploy`. */

const skip = process.platform === 'linux' ? false : 'other systems have 127.0.0.1 alone';
const SETTINGS = {
  OPERATOR_IDENTITY_HEADER: 'Remote-User',
  OPERATOR_IDENTITY_PROXIES: '10.0.0.0/8,127.0.0.2',
  OPERATOR_ROLE_HEADER: 'Remote-Groups',
  OPERATOR_ROLES: 'a=b=admin,/support=keys,*=viewer',
};
const ADMIN = { 'remote-user': 'ann', 'remote-groups': 'a=b' };

async function ask({ operatorUrl }: TestService, path: string, headers: object, localAddress = '127.0.0.2') {
  const agent = new Agent({ localAddress });
  const { status, body } = await call(operatorUrl, path, { headers: headers as Record<string, string>, agent });
  return { status, text: body.toString() };
}

test('the highest role that a name has counts, by exact names, and the actor is the name in UTF-8', {
  skip,
}, async () => {
  await using service = await testService(SETTINGS);
  const name = { 'remote-user': Buffer.from('Jörg <x>').toString('latin1') };
  for (const [groups, role] of [
    [{}, 'viewer'],
    [{ 'remote-groups': 'support, A=B' }, 'viewer'],
    [{ 'remote-groups': 'staff,/support' }, 'keys'],
    [{ 'remote-groups': '/support , a=b' }, 'admin'],
  ] as const) {
    const { text } = await ask(service, '/console/keys', { ...name, ...groups });
    assert.ok(text.includes(`<bdi>Jörg &lt;x&gt;</bdi> <span class="badge" title="Your role">${role}<`), text);
  }
  assert.equal((await ask(service, '/console/keys/new', name)).status, 403, 'a viewer');
});

test('the header counts from the proxy alone; from others, or twice, it is refused on each page', {
  skip,
}, async () => {
  await using service = await testService(SETTINGS);
  for (const path of ['/console', '/console/login', '/console/nothing']) {
    const { status, text } = await ask(service, path, ADMIN, '127.0.0.1');
    assert.equal(status, 403, path);
    assert.match(text, /remote-user counts only from the proxies in OPERATOR_IDENTITY_PROXIES, not from 127\.0\.0\.1/);
  }
  for (const twice of [{ 'remote-user': ['root', 'ann'] }, { 'remote-groups': ['a=b', 'staff'] }])
    assert.match((await ask(service, '/console', { ...ADMIN, ...twice })).text, /came twice; the proxy must set it/);
});

test('without the header sessions go on, and the API takes tokens alone', { skip }, async () => {
  await using service = await testService(SETTINGS);
  const { cookie } = await signIn(service);
  for (const headers of [{ cookie }, { cookie, 'remote-user': '' }])
    assert.equal((await ask(service, '/console/keys', headers)).status, 200);
  assert.equal((await ask(service, '/console/keys', {})).status, 303);
  assert.equal((await ask(service, '/api/v1/keys', ADMIN)).status, 401);
});
