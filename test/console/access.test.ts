import assert from 'node:assert/strict';
import { request } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { hashSecret } from '../../src/catalog/api-key.ts';
import { fillWithLife, HOSTILE_NAMES, pagesOf } from '../kit/console/life.ts';
import { ACTOR, loginLink, send, signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';

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

test('without a session every page leads to the login, and every form is refused', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  for (const [, path] of pagesOf(life).filter(([name]) => !name.startsWith('login'))) {
    const response = await send(service, path);
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/console/login'], path);
    assert.equal(await response.text(), '');
    assert.equal((await send(service, path, { method: 'HEAD' })).status, 303, path);
  }
  const posted = await send(service, `/keys/${life.busyKey}/revoke`, { body: new URLSearchParams({ csrf: '' }) });
  assert.equal(posted.status, 403);
  assert.equal((await service.storage.keys.find(life.busyKey))?.revokedAt, null);
  assert.equal((await fetch(service.operatorUrl, { redirect: 'manual' })).headers.get('location'), '/console');
});

test('an address with a slash at its end is that of the page', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  for (const path of ['/', '/keys/', '/tokens/']) assert.equal((await operator.get(path)).status, 200, path);
  assert.equal((await operator.get('/keys//')).status, 404);
});

test('a page is answered to HEAD as to GET, without its body', async () => {
  await using service = await testService();
  const { cookie } = await signIn(service);
  const head = await fetch(`${service.operatorUrl}/console/keys`, { method: 'HEAD', headers: { cookie } });
  assert.deepEqual(
    [head.status, head.headers.get('content-type'), await head.text()],
    [200, 'text/html; charset=utf-8', ''],
  );
});

test('an API key gives no access, neither as a header nor as a cookie nor as a login', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  for (const headers of [{ authorization: `Bearer ${secret}` }, { cookie: `pet_catalog_console=${secret}` }]) {
    assert.equal((await send(service, '/keys', { headers })).headers.get('location'), '/console/login');
  }
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

test('the cookie is for HTTPS alone where a proxy says that the operator came by it', async () => {
  await using service = await testService();
  const { token } = await loginLink(service);
  const opened = await login(service, token, { 'x-forwarded-proto': 'https' });
  assert.match(opened.headers.get('set-cookie') ?? '', /; Secure$/);
});

test('failed logins are limited for each address, and lock no operator out', async () => {
  await using service = await testService();
  const wrong = 'x'.repeat(43);
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal((await login(service, wrong)).status, 403);
  const refused = await login(service, wrong);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60']);
  const { token } = await loginLink(service);
  assert.equal((await login(service, token)).status, 303, 'a good link opens all the same');
  assert.equal((await login(service, wrong)).status, 429, 'and does not clear the count');
  // Other systems have 127.0.0.1 alone unless they are told.
  if (process.platform === 'linux') {
    const url = `${service.operatorUrl}/console/login`;
    assert.equal(await fromAddress('127.0.0.2', url, `token=${wrong}`), 403);
    assert.equal((await login(service, wrong)).status, 429, 'each address has its own count');
  }
  service.clock.advance(20);
  assert.equal((await login(service, wrong)).headers.get('retry-after'), '40');
  service.clock.advance(40);
  for (let attempt = 0; attempt < 10; attempt += 1) assert.equal((await login(service, wrong)).status, 403);
  const anew = await login(service, wrong);
  assert.deepEqual([anew.status, anew.headers.get('retry-after')], [429, '60'], 'each minute is counted');
});

const skip = process.env.TEST_ON?.includes('postgres') ? 'about the lock of SQLite' : false;

test('a guessed login waits for no writer', { skip }, async () => {
  await using service = await testService();
  assert.ok(service.config.database.engine === 'sqlite');
  using database = new DatabaseSync(service.config.database.file, { timeout: 10_000 });
  database.exec('BEGIN IMMEDIATE');
  assert.equal((await login(service, 'x'.repeat(43))).status, 403);
});

test('a planted session id is not adopted at the login', async () => {
  await using service = await testService();
  const planted = `pet_catalog_console=${'a'.repeat(43)}`;
  const { token } = await loginLink(service);
  const opened = await login(service, token, { cookie: planted });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  assert.notEqual(cookie, planted);
  assert.equal((await send(service, '/keys', { headers: { cookie } })).status, 200);
  assert.equal((await send(service, '/keys', { headers: { cookie: planted } })).status, 303);
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

  const sessions = await service.storage.sessions.list(service.clock.now().unix);
  assert.equal(sessions.length, 2);
  const listed = await other.page('/sessions');
  assert.match(listed, /<span class="badge">this one<\/span>/);
  const theirs = /action="\/console\/sessions\/(session_[\w-]+)\/end"/.exec(listed)?.[1];
  assert.equal(
    (await other.post(`/sessions/${theirs}/end`)).headers.get('location'),
    '/console/sessions?done=console.revoke',
  );
  assert.equal((await third.get('/keys')).status, 303);
  assert.equal(
    (await other.post(`/sessions/${theirs}/end`)).headers.get('location'),
    '/console/sessions?done=console.revoke-nothing',
  );
  const last = await signIn(service, 'viewer');
  assert.doesNotMatch(await last.page('/sessions'), /\/end"/, 'a viewer ends no session but its own');
  const closed = await last.post('/logout', {}, { 'x-forwarded-proto': 'https' });
  const { port } = new URL(service.operatorUrl);
  const cookie = `pet_catalog_console_${port}=; Path=/console; Max-Age=0; HttpOnly; SameSite=Strict; Secure`;
  assert.deepEqual([closed.headers.get('location'), closed.headers.get('set-cookie')], ['/console/login', cookie]);
  assert.equal((await last.get('/keys')).status, 303);
  const among = { headers: { cookie: `theme=dark; ${other.cookie}` } };
  assert.equal((await send(service, '/keys', among)).status, 200, 'among other cookies');

  for (let passed = 0; passed < SESSION_SECONDS; passed += IDLE_SECONDS / 2) {
    assert.equal((await other.get('/keys')).status, 200);
    service.clock.advance(IDLE_SECONDS / 2);
  }
  assert.equal((await other.get('/keys')).status, 303);
});

test('a session ends after an hour without use, and a page that refreshes itself is no use', async () => {
  await using service = await testService();
  const [used, watched] = [await signIn(service), await signIn(service)];
  const refresh = () => send(service, '', { headers: { cookie: watched.cookie, 'x-refresh': '1' } });
  for (let minutes = 0; minutes < 59; minutes += 1) {
    service.clock.advance(60);
    assert.equal((await used.get('/keys')).status, 200);
    assert.equal((await refresh()).status, 200);
  }
  service.clock.advance(60);
  assert.equal((await refresh()).status, 303);
  assert.equal((await used.get('/keys')).status, 200);
  const { touch } = service.storage.sessions;
  service.clock.advance(60);
  service.storage.sessions.touch = () => Promise.reject(new Error('The disk is full'));
  assert.equal((await used.get('/keys')).status, 200, 'a use that cannot be stored');
  service.storage.sessions.touch = touch;
  assert.equal((await used.get('/keys')).status, 200);
  const writes = countTouches(service);
  for (let i = 0; i < 5; i += 1) await used.get('/keys');
  assert.equal(writes(), 0, 'noted once a minute at most');
  service.clock.advance(60);
  for (let i = 0; i < 5; i += 1) await used.get('/keys');
  assert.equal(writes(), 1);
  service.clock.advance(IDLE_SECONDS);
  assert.equal((await used.get('/keys')).status, 303);
});

test('a form without the token of its own session, or from another site, changes nothing', async () => {
  await using service = await testService();
  const { busyKey } = await fillWithLife(service);
  const [operator, other] = [await signIn(service), await signIn(service)];
  const path = `/keys/${busyKey}/revoke`;
  const tries = [
    operator.post(path, { csrf: '' }),
    operator.post(path, { csrf: other.csrf }),
    operator.post(path, {}, { origin: 'https://evil.example' }),
    operator.post(path, {}, { origin: 'null' }),
    operator.post(path, {}, { 'sec-fetch-site': 'cross-site' }),
    send(service, path, {
      body: `csrf=${operator.csrf}`,
      headers: { cookie: operator.cookie, 'content-type': 'text/plain' },
    }),
  ];
  for (const response of await Promise.all(tries))
    assert.ok([403, 415].includes(response.status), `${response.status}`);
  assert.equal((await service.storage.keys.find(busyKey))?.revokedAt, null);
  assert.equal((await operator.get(path)).status, 200);
  const accepted = await operator.post(path, {}, { origin: service.operatorUrl, 'sec-fetch-site': 'same-origin' });
  assert.equal(accepted.status, 303);
  assert.notEqual((await service.storage.keys.find(busyKey))?.revokedAt, null);
});

test('every page is under a strict policy, is not kept, and holds no secret, no hash and nothing inline', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  const { key, secret } = await service.issue({ name: 'secret bearer' });
  const operator = await signIn(service);
  const token = operator.cookie.split('=')[1] ?? '';
  const secrets = [secret, hashSecret(secret), token, hashSecret(token)];
  const more: [string, string][] = [
    ['own', `/keys/${key.id}`],
    ['found', '/keys?q=bearer'],
  ];
  for (const [name, path] of [...pagesOf(life), ...more]) {
    const response = await operator.get(path);
    const text = await response.text();
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(response.headers.get('cache-control'), 'no-store', name);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|<[^>]*\s(style|on\w+)=(?=["'])/i, name);
    for (const each of secrets) assert.ok(!text.includes(each), `${name} tells a secret`);
    for (const hostile of HOSTILE_NAMES.filter((each) => /[<"]/.test(each))) assert.ok(!text.includes(hostile), name);
  }
});

test('missing pages and wrong methods get an error page', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  for (const path of [
    '/nothing',
    '/keys/key_0000000000000000',
    '/categories/7',
    '/categories/import/none',
    '/categories/x',
    '/categories/1x',
    '/pets/1x',
  ]) {
    const response = await operator.get(path);
    assert.equal(response.status, 404, path);
    assert.match(await response.text(), /<h1>Not found<\/h1>/);
  }
  for (const path of ['/keys/%00', '/categories/%00', '/pets/%00'])
    assert.equal((await operator.get(path)).status, 404);
  assert.equal((await operator.post('/sessions/%00/end')).status, 404);
  assert.equal((await operator.get('/keys?q=%00')).status, 200);
  for (const word of ['__proto__', 'constructor', 'nothing']) {
    assert.doesNotMatch(await operator.page(`/keys?done=${word}`), /class="notice"/);
  }
  for (const path of ['/consoles', '/api/v1s', '/nothing'])
    assert.equal((await fetch(service.operatorUrl + path)).status, 404, path);
  const wrong = await operator.post('/audit');
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD']);
  assert.equal((await operator.get('/logout')).status, 405);
  const [, asset = ''] = /href="\/console(\/assets\/[^"]+)"/.exec(await operator.page('')) ?? [];
  const posted = await operator.post(asset);
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
  await operator.get(asset);
  const routes = service.events.answered.map(({ route }) => route).filter((route) => route.startsWith('/console'));
  assert.deepEqual(
    ['/console/assets', '/console/login', '/console/keys/{id}', '/console/categories/{id}'].filter(
      (route) => !routes.includes(route),
    ),
    [],
  );
  for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
    const response = await send(service, '/login', { method });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, POST']);
    assert.equal((await send(service, '/keys', { method })).status, 403, 'and it does not redirect');
    const signedIn = await send(service, '/keys', { method, headers: { cookie: operator.cookie } });
    assert.deepEqual([signedIn.status, signedIn.headers.get('allow')], [405, 'GET, HEAD']);
  }
  assert.equal(service.events.failures.length, 0);
});

test('the audit records who opened and who ended a session', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  await operator.post('/logout');
  const entries = await service.storage.audit.list({ since: 0, limit: 10 });
  assert.deepEqual(
    entries.map(({ action, operator: { actor, via } }) => [action, actor, via]),
    [
      ['console.revoke', ACTOR, 'console'],
      ['console.open', ACTOR, 'console'],
    ],
  );
});

function login(service: TestService, token: string, headers: Record<string, string> = {}): Promise<Response> {
  return send(service, '/login', { body: new URLSearchParams({ token }), headers });
}

/** Sends a form from another address of the loopback. Resolves with the status. */
function fromAddress(localAddress: string, url: string, form: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', localAddress, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).end(form);
  });
}

/** Counts the uses of sessions that are written from now on. */
function countTouches({ storage: { sessions } }: TestService): () => number {
  const { touch } = sessions;
  let count = 0;
  sessions.touch = (...args) => {
    count += 1;
    return touch.apply(sessions, args);
  };
  return () => count;
}
