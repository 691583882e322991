import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSecret } from '../../src/catalog/api-key.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import { ACTOR, loginLink, send, signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';
import { fillWithLife, HOSTILE_NAMES, pagesOf } from './life.ts';

/** Access to the console, over real HTTP. */

const LOGIN_SECONDS = 600;
const SESSION_SECONDS = 12 * 3_600;
const IDLE_SECONDS = 3_600;

test('the public listener has nothing of the console', async () => {
  await using service = await testService();
  const { cookie } = await signIn(service);
  const origin = new URL(service.url).origin;
  const [, asset = ''] = /href="(\/console\/assets\/[^"]+)"/.exec(await (await send(service, '/login')).text()) ?? [];
  assert.equal((await fetch(service.operatorUrl + asset)).status, 200);
  for (const path of ['/console', '/console/login', '/console/keys', '/v1/console', asset]) {
    const response = await fetch(origin + path, { headers: { cookie, connection: 'close' } });
    assert.ok([401, 404].includes(response.status), `${path}: ${response.status}`);
    assert.doesNotMatch(await response.text(), /<html/);
  }
});

/** Pages that are forms, or of who may operate, which a viewer may not see. */
const FORMS = /\/(new|edit|rotate|revoke|delete)$|^\/(sessions|tokens)$/;

test('every page leads a stranger to the login, shows a viewer nothing that changes, and is under a strict policy without a secret', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  const { key, secret } = await service.issue({ name: 'secret bearer' });
  const [admin, viewer] = [await signIn(service, 'admin'), await signIn(service, 'viewer')];
  const sessions = await service.storage.sessions.list(service.clock.now().unix);
  const other = sessions.find(({ role }) => role === 'admin')?.id ?? assert.fail();
  const token = admin.cookie.split('=')[1] ?? '';
  const secrets = [secret, hashSecret(secret), token, hashSecret(token)];
  const own: [string, string] = ['own', `/keys/${key.id}`];
  for (const [name, path] of [...pagesOf(life), own]) {
    const isOpen = name.startsWith('login');
    const stranger = await send(service, path);
    const to = isOpen ? null : '/console/login';
    assert.deepEqual([stranger.status, stranger.headers.get('location')], [isOpen ? 200 : 303, to], path);
    if (!isOpen) assert.equal(await stranger.text(), '');

    const answer = await admin.get(path);
    const text = await answer.text();
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'.*frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    const headers = ['cache-control', 'x-content-type-options'].map((each) => answer.headers.get(each));
    assert.deepEqual(headers, ['no-store', 'nosniff'], name);
    assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|<[^>]*\s(style|on\w+)=(?=["'])/i, name);
    for (const each of secrets) assert.ok(!text.includes(each), `${name} tells a secret`);
    for (const hostile of HOSTILE_NAMES.filter((each) => /[<"]/.test(each))) assert.ok(!text.includes(hostile), name);
    if (!isOpen) assert.match(text, /<bdi>operator<\/bdi> <span class="badge" title="Your role">admin<\/span>/);

    if (isOpen || name === 'nothing') continue;
    const seen = await viewer.get(path);
    assert.equal(seen.status, FORMS.test(path) ? 403 : 200, path);
    const page = await seen.text();
    const actions = [...page.matchAll(/<form method="post" action="\/console([^"]*)"/g)].map(([, action]) => action);
    const changing = actions.filter((action) => action !== '/logout' && !action?.startsWith('/sessions/'));
    assert.deepEqual(changing, [], path);
    assert.doesNotMatch(page, /href="[^"]*\/(new|edit|rotate|revoke|delete)"/, path);
    assert.ok(!page.includes(`/sessions/${other}/end`), path);
  }
  assert.equal((await fetch(service.operatorUrl, { redirect: 'manual' })).headers.get('location'), '/console');
});

test('an API key gives no access, neither as a header nor as a cookie nor as a login', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  for (const headers of [{ authorization: `Bearer ${secret}` }, { cookie: `pet_catalog_console=${secret}` }])
    assert.equal((await send(service, '/keys', { headers })).headers.get('location'), '/console/login');
  assert.equal((await login(service, secret)).status, 403);
});

test('looking at the link spends nothing; its button opens one session, once, within ten minutes', async () => {
  await using service = await testService();
  const { link, token } = await loginLink(service);
  for (const method of ['GET', 'HEAD', 'GET']) {
    const response = await fetch(link, { method });
    assert.deepEqual([response.status, response.headers.get('set-cookie')], [200, null]);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal(response.headers.get('referrer-policy'), 'same-origin');
  }
  const opened = await login(service, token);
  assert.equal(opened.status, 303);
  assert.match(
    opened.headers.get('set-cookie') ?? '',
    /^pet_catalog_console_\d+=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  const replayed = await login(service, token);
  assert.deepEqual([replayed.status, replayed.headers.get('set-cookie')], [403, null]);
  assert.equal((await login(service, 'x'.repeat(4_096))).status, 413, 'anyone may send one');

  const { token: old } = await loginLink(service);
  service.clock.advance(LOGIN_SECONDS);
  assert.equal((await login(service, old)).status, 403);
});

test('only one of two simultaneous logins with the same link succeeds', async () => {
  await using service = await testService();
  const { token } = await loginLink(service);
  const both = await Promise.all([login(service, token), login(service, token)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [303, 403]);
});

test('a login made by a page of another site is refused', async () => {
  await using service = await testService();
  const { token } = await loginLink(service);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: service.operatorUrl },
  ];
  for (const headers of foreign) {
    assert.equal((await login(service, token, headers)).status, 403);
  }
  const own = { origin: service.operatorUrl, 'sec-fetch-site': 'same-origin' };
  assert.equal((await login(service, token, own)).status, 303, 'and the link is not spent by it');
});

test('a planted session id is not adopted at the login', async () => {
  await using service = await testService();
  const planted = `pet_catalog_console=${'a'.repeat(43)}`;
  const opened = await login(service, (await loginLink(service)).token, { cookie: planted });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const status = async (sent: string) => (await send(service, '/keys', { headers: { cookie: sent } })).status;
  assert.deepEqual([await status(cookie), await status(planted)], [200, 303]);
  assert.equal(await status(`theme=dark; ${cookie}`), 200, 'among other cookies');
});

test('a session ends after twelve hours, by signing out, or by another operator; a restart does not end it', async () => {
  await using service = await testService();
  const [one, other, third] = [await signIn(service), await signIn(service), await signIn(service)];
  await service.restart();
  assert.equal((await one.get('/keys')).status, 200, 'sessions are in the database');

  const out = await one.post('/logout');
  assert.equal(out.headers.get('location'), '/console/login');
  assert.match(out.headers.get('set-cookie') ?? '', /^pet_catalog_console_\d+=; Path=\/console; Max-Age=0;/);
  assert.equal((await one.get('/keys')).status, 303);
  const [ended, began] = await service.storage.audit.list({ since: 0, limit: 2 });
  assert.deepEqual([ended?.action, ended?.operator], ['console.revoke', { actor: ACTOR, via: 'console' }]);
  assert.deepEqual([began?.action, began?.operator], ['console.open', { actor: ACTOR, via: 'console' }]);

  const sessions = await service.storage.sessions.list(service.clock.now().unix);
  assert.equal(sessions.length, 2);
  const listed = await other.page('/sessions');
  assert.match(listed, /<span class="badge">this one<\/span>/);
  assert.equal(listed.match(/\/end"/g)?.length, 1, 'its own ends by signing out');
  const theirs = /action="\/console\/sessions\/(session_[\w-]+)\/end"/.exec(listed)?.[1];
  assert.equal(
    (await other.post(`/sessions/${theirs}/end`)).headers.get('location'),
    '/console/sessions?done=session.end',
  );
  assert.equal((await third.get('/keys')).status, 303);
  const again = await other.post(`/sessions/${theirs}/end`);
  assert.match(await again.text(), new RegExp(`There is no open session ${theirs}`));
  const last = await signIn(service, 'viewer');
  assert.equal((await last.get('/sessions')).status, 403, 'a viewer ends no session but its own');
  const closed = await last.post('/logout', {}, { 'x-forwarded-proto': 'https' });
  const { port } = new URL(service.operatorUrl);
  const cookie = `pet_catalog_console_${port}=; Path=/console; Max-Age=0; HttpOnly; SameSite=Strict; Secure`;
  assert.deepEqual([closed.headers.get('location'), closed.headers.get('set-cookie')], ['/console/login', cookie]);
  assert.equal((await last.get('/keys')).status, 303);

  for (let passed = 0; passed < SESSION_SECONDS; passed += IDLE_SECONDS / 2) {
    assert.equal((await other.get('/keys')).status, 200);
    service.clock.advance(IDLE_SECONDS / 2);
  }
  assert.equal((await other.get('/keys')).status, 303);
});

test('a session ends after an hour without use, and a page that refreshes itself is no use', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const [used, watched] = [await signIn(service), await signIn(service)];
  const refresh = () => send(service, '', { headers: { cookie: watched.cookie, 'x-refresh': '1' } });
  for (let quarter = 0; quarter < 3; quarter += 1) {
    clock.advance(900);
    assert.deepEqual([(await used.get('/keys')).status, (await refresh()).status], [200, 200]);
  }
  clock.advance(900);
  assert.deepEqual([(await used.get('/keys')).status, (await refresh()).status], [200, 303]);
  const seenAt = async () => (await storage.sessions.list(clock.now().unix))[0]?.lastSeenAt;
  const noted = await seenAt();
  clock.advance(59);
  await used.get('/keys');
  assert.equal(await seenAt(), noted, 'noted once a minute at most');
  clock.advance(1);
  storage.sessions.touch = () => Promise.reject(new Error('The disk is full'));
  assert.equal((await used.get('/keys')).status, 200, 'a use that cannot be stored');
  clock.advance(IDLE_SECONDS - 60);
  assert.equal((await used.get('/keys')).status, 303);
});

test('a form without the token of its own session, or from another site, changes nothing', async () => {
  await using service = await testService();
  const { id } = (await service.issue()).key;
  const [operator, other] = [await signIn(service), await signIn(service)];
  const path = `/keys/${id}/revoke`;
  const tries = [
    operator.post(path, { csrf: '' }),
    operator.post(path, { csrf: other.csrf }),
    operator.post(path, {}, { origin: 'https://evil.example' }),
    operator.post(path, {}, { origin: 'null' }),
    operator.post(path, {}, { 'sec-fetch-site': 'cross-site' }),
    operator.post(path, {}, { 'content-type': 'text/plain' }),
  ];
  for (const response of await Promise.all(tries))
    assert.ok([403, 415].includes(response.status), `${response.status}`);
  assert.equal((await service.storage.keys.find(id))?.revokedAt, null);
  assert.equal((await operator.get(path)).status, 200);
  const accepted = await operator.post(path, {}, { origin: service.operatorUrl, 'sec-fetch-site': 'same-origin' });
  assert.equal(accepted.status, 303);
  assert.notEqual((await service.storage.keys.find(id))?.revokedAt, null);
});

test('what is not there, fails, or is asked by a wrong method has a page with the navigation', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  for (const path of ['/', '/keys/', '/tokens/', '/keys?q=%00'])
    assert.equal((await operator.get(path)).status, 200, path);
  const head = await send(service, '/keys', { method: 'HEAD', headers: { cookie: operator.cookie } });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  for (const [path, message] of [
    ['/nothing', 'There is nothing at this address'],
    ['/keys//', 'There is nothing at this address'],
    ['/keys/%00', 'There is nothing at this address'],
    ['/keys/key_none/lift-ban', 'There is no key key_none'],
    ['/categories/7', 'There is no category 7;'],
    ['/categories/1x', 'There is no category &quot;1x&quot;'],
    ['/pets/1x', 'pet'],
  ] as const) {
    const answer = await operator.get(path);
    const text = await answer.text();
    assert.equal(answer.status, 404, path);
    assert.match(text, /<nav aria-label="Console">.*<h1>Not found<\/h1>/s, path);
    assert.ok(text.includes(message), path);
  }
  for (const word of ['__proto__', 'constructor', 'nothing'])
    assert.doesNotMatch(await operator.page(`/keys?done=${word}`), /class="notice"/);
  for (const path of ['/consoles', '/api/v1s', '/nothing'])
    assert.equal((await fetch(service.operatorUrl + path)).status, 404, path);
  const [, asset = ''] = /href="\/console(\/assets\/[^"]+)"/.exec(await operator.page('')) ?? [];
  const session = { cookie: operator.cookie };
  for (const [method, path, headers, status, allow] of [
    ['GET', '/logout', session, 405, 'OPTIONS, POST'],
    ['POST', '/audit', session, 405, 'GET, HEAD, OPTIONS'],
    ['OPTIONS', '/audit', session, 204, 'GET, HEAD, OPTIONS'],
    ['POST', asset, session, 405, 'GET, HEAD'],
    ['DELETE', '/keys', session, 405, 'GET, HEAD, OPTIONS'],
    ['DELETE', '/login', {}, 405, 'GET, HEAD, POST'],
    ['DELETE', '/keys', {}, 403, null],
  ] as const) {
    const answer = await send(service, path, { method, headers });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [status, allow], `${method} ${path}`);
  }
  await operator.get(asset);
  const routes = service.events.answered.map(({ route }) => route);
  for (const route of ['/console/assets', '/console/login', '/console/keys/{id}/lift-ban', '/console/categories/{id}'])
    assert.ok(routes.includes(route), route);
  assert.equal(service.events.failures.length, 0);

  const { keys } = service.storage;
  const failing = () => Promise.reject(new CatalogError('unavailable', 'The database does not respond; try again'));
  Object.assign(keys, { list: failing, insert: failing });
  const lost = await operator.post('/keys/new', { name: 'x', plan: 'free', scopes: 'pets:read' });
  assert.equal(lost.status, 503, 'no mistake of the form');
  const failed = await operator.get('/keys');
  assert.equal(failed.status, 503);
  assert.match(await failed.text(), /<nav aria-label="Console">.*The database does not respond/s);
  Object.assign(keys, { list: () => Promise.reject(new Error('a secret of the engine')) });
  const defect = await operator.get('/keys');
  assert.deepEqual(
    [defect.status, /<p[^>]*role="alert">(.*?)<\/p>/.exec(await defect.text())?.[1]],
    [500, 'The console failed; see the log.'],
  );
});

function login(service: TestService, token: string, headers: Record<string, string> = {}): Promise<Response> {
  return send(service, '/login', { body: new URLSearchParams({ token }), headers });
}
