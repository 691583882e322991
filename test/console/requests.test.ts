import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import { utc } from '../../src/stdx/time.ts';
import { send, signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The console's pages of recent requests. */

const caller = (service: TestService) => (secret: string, path: string, id: string) =>
  service.call(secret, path, { headers: { 'x-request-id': id } });

test('the page of requests is filtered by key, status and route, and says that it follows or is paused', async () => {
  await using service = await testService();
  const [one, two] = [await service.issue({ name: 'one' }), await service.issue({ name: '<two>' })];
  const call = caller(service);
  await call(one.secret, '/categories', 'first');
  await call(one.secret, '/nothing', 'second');
  await call(two.secret, '/pets', 'third');
  const operator = await signIn(service, 'viewer');
  const shown = async (query: string) => {
    const text = await operator.page(`/requests${query}`);
    return ['first', 'second', 'third'].filter((id) => text.includes(`why?q=${id}"`));
  };
  assert.deepEqual(await shown(''), ['first', 'second', 'third']);
  assert.deepEqual(await shown(`?key=${one.key.prefix}`), ['first', 'second']);
  assert.deepEqual(await shown(`?key=${two.key.id}`), ['third']);
  assert.deepEqual(await shown('?key=one'), ['first', 'second']);
  const { durationMs = 0 } = service.events.answered.find(({ requestId }) => requestId === 'third') ?? {};
  const took = Number(durationMs.toFixed(3)).toFixed(1);
  assert.ok((await operator.page('/requests?status=2xx')).includes(`class="number"><div>${took}</div>`));
  assert.ok((await operator.page('/requests/why?q=third')).includes(`, after ${took} ms</dd>`));
  assert.deepEqual(await shown('?status=2xx&route=/v1/pets'), ['third']);
  const following = await operator.page('/requests?status=2xx');
  assert.match(following, / id="rows" data-live>/);
  assert.match(following, /href="\/console\/requests\?status=2xx&amp;paused=1" data-pause="following">Pause</);
  assert.match(following, /memory of this instance since it started/);
  const paused = await operator.page('/requests?status=2xx&paused=1');
  assert.match(paused, /href="\/console\/requests\?status=2xx" data-pause="paused">Follow</);
  assert.deepEqual(await shown('?key=petcat&status=2xx'), ['first', 'third'], 'of every key that it may mean');
});

test('“Why was this refused?” leads from a request id or a key to the reason, the windows, the ban and what helps', async () => {
  await using service = await testService({ BAN_AFTER_REFUSALS: '1' });
  const limits = { minute: 1, day: 9 };
  const { key, secret } = await service.issue({ name: 'hasty', plan: 'enterprise', limits });
  const call = (id: string) => caller(service)(secret, '/categories', id);
  await call('served');
  await call('refused');
  const operator = await signIn(service, 'keys');
  for (const query of [key.prefix, key.id, 'hasty'])
    assert.equal(
      (await operator.get(`/requests/why?q=${query}`)).headers.get('location'),
      `/console/keys/${key.id}`,
      query,
    );
  for (const page of ['/requests/why?q=refused', `/keys/${key.id}`]) {
    const text = await operator.page(page);
    assert.match(text, /Over the limit of the minute: the key had used its 1 request\./, page);
    assert.match(text, new RegExp(`href="/console/keys/${key.id}/edit">Change`), page);
    assert.match(text, /enterprise: 1 a minute, 9 a day/, page);
  }
  assert.match(await operator.page(`/keys/${key.id}`), /never banned/);
  const refused = await operator.page('/requests/why?q=refused');
  assert.match(refused, /<dt>Minute, then<\/dt><dd>0 left</);
  assert.match(refused, /<dt>Day \(UTC\), then<\/dt><dd>8 left</);
  assert.match(await operator.page('/requests/why?q=served'), /It was not refused/);
  service.clock.advance(3);
  await call('banned');
  await call('banned');
  await call('banned');
  const banned = await operator.page('/requests/why?q=banned');
  assert.match(banned, /Banned: the key went on after a refusal; it was refused 2 more times/);
  assert.match(banned, new RegExp(`action="/console/keys/${key.id}/lift-ban"`));
  const viewer = await signIn(service, 'viewer');
  const seen = await viewer.page('/requests/why?q=banned');
  assert.match(seen, /Banned for another/);
  assert.doesNotMatch(seen, /lift-ban|>Change</);
  const none = await operator.page('/requests/why?q=none-such');
  assert.match(none, /keeps no request with the id <code>none-such<\/code>/);
  const fresh = await service.issue({ name: 'fresh' });
  assert.match(await operator.page(`/keys/${fresh.key.id}`), /keeps no refused or failed request of this key/);
  assert.equal(service.events.failures.length, 0);
});

test('a request with a known key that has ended is kept with the reason, and not counted', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const start = clock.now().unix;
  const { key, secret } = await service.issue({ name: 'brief', expiresAt: start + 60 });
  const operator = await signIn(service);
  const told = async () => {
    const answer = await service.call(secret, '/categories');
    assert.equal(answer.status, 401);
    const id = `${answer.headers.get('x-request-id')}`;
    const pages = [await operator.page(`/requests/why?q=${id}`), await operator.page(`/keys/${key.id}`)];
    const [reason, ...others] = pages.map((page) => /<strong>The key was refused: (.*?)\.</.exec(page)?.[1]);
    assert.deepEqual(others, [reason]);
    return reason;
  };
  assert.equal((await service.call(secret, '/categories')).status, 200);
  await storage.keys.pause(key.id, start, OPERATOR);
  assert.equal(await told(), `paused at ${utc(start)}`);
  await storage.keys.pause(key.id, null, OPERATOR);
  clock.advance(60);
  assert.equal(await told(), `expired at ${utc(start + 60)}`);
  await storage.keys.revoke(key.id, start + 61, OPERATOR);
  assert.equal(await told(), `revoked at ${utc(start + 61)}`);
  await service.restart();
  const sums = await service.storage.usage.sums({ period: 'minute', since: start, group: 'key' });
  assert.deepEqual([sums.length, sums[0]?.served, sums[0]?.clientErrors], [1, 1, 0]);
});

test('every refusal and error is explained in plain words, and a change of the limit since is told', async () => {
  await using service = await testService();
  const { key, secret } = await service.issue({
    plan: 'enterprise',
    limits: { minute: 9, day: 4 },
    scopes: ['pets:read'],
  });
  const call = caller(service);
  await call(secret, '/categories', 'scope');
  await call(secret, '/pets?limit=0', 'wrong');
  await call(secret, '/nothing', 'nothing');
  await call(secret, '/pets', 'good');
  await call(secret, '/pets', 'spent');
  const operator = await signIn(service);
  const explained = {
    scope: /403 insufficient_scope: The key may not use this operation/,
    wrong: /400 validation_failed: A value is missing, has the wrong type/,
    nothing: /404 not_found: There is nothing at this address/,
    spent: /Over the quota of the day: the key had used its 4 requests\./,
  };
  for (const [id, words] of Object.entries(explained))
    assert.match(await operator.page(`/requests/why?q=${id}`), words);
  await service.storage.keys.update(key.id, { limits: { minute: 9, day: 5_000 } }, { actor: 'x', via: 'cli' });
  assert.match(await operator.page('/requests/why?q=spent'), /The limit was changed since: it is 5,000 now/);
  await service.storage.keys.update(key.id, { limits: { minute: 8, day: 3 } }, { actor: 'x', via: 'cli' });
  const left = async () =>
    [...(await operator.page('/requests/why?q=scope')).matchAll(/then<\/dt><dd>(.*?)<\/dd>/g)].map(([, said]) => said);
  assert.deepEqual(await left(), ['8 left', '3 left']);
  const { secret: brief } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 9 } });
  for (const id of ['first', 'refused']) await call(brief, '/pets', id);
  const { keyId = '' } = service.events.answered.at(-1) ?? {};
  await service.storage.keys.update(keyId, { limits: { minute: 6, day: 9 } }, { actor: 'x', via: 'cli' });
  const upgraded = await operator.page('/requests/why?q=refused');
  assert.match(upgraded, /The limit was changed since: it is 6 now.*Minute, then<\/dt><dd>0 left<\/dd>/s);
  Object.assign(service.storage.limits, { counts: () => Promise.reject(new CatalogError('unavailable', 'no')) });
  await call((await service.issue()).secret, '/pets', 'uncounted');
  Object.assign(service.storage.limits, { counts: async () => undefined });
  const uncounted = /Minute, then<\/dt><dd><span class="soft">not counted<\/span><\/dd>/;
  const failed = await operator.page('/requests/why?q=uncounted');
  assert.match(failed, uncounted);
  assert.match(failed, /The service failed, not the caller\. .*The log has a line with this request id, up to ten of/);
});

test('a pasted key is searched for by its visible beginning only, and a name of several keys leads to them', async () => {
  await using service = await testService();
  const { key, secret } = await service.issue({ name: 'shop one' });
  await service.issue({ name: 'shop two' });
  const operator = await signIn(service);
  const found = async (path: string) => {
    const { status, headers } = await operator.get(path);
    const address = headers.get('location') ?? '';
    assert.deepEqual([status, address.includes(secret.slice(0, 20))], [303, false], path);
    return operator.page(address.replace('/console', ''));
  };
  const asked = await operator.get(`/requests/why?q=${secret}`);
  assert.equal(asked.headers.get('location'), `/console/requests/why?q=${key.prefix}`);
  for (const list of ['/keys?q', '/requests?key', '/audit?q']) {
    const page = await found(`${list}=Authorization:+Bearer+${secret}`);
    assert.ok(page.includes(`value="${key.prefix}"`) && !page.includes(secret.slice(0, 20)), list);
    assert.ok(!/No key (found|has)|Neither/.test(page), list);
  }
  assert.match(await operator.page('/requests/why?q=shop'), /href="\/console\/keys\?q=shop">Keys that this may mean/);
  const { key: meant } = await service.issue({ name: 'x', owner: 'shop' });
  const only = await operator.get('/requests/why?q=shop');
  assert.equal(only.headers.get('location'), `/console/keys/${meant.id}`, 'its whole owner');
  assert.match(await found(`/requests/why?q=petcat_test_${'a'.repeat(32)}`), /value="petcat_test_aaaa"/);
  assert.match(await found(`/audit?sort=x&actor=petcat_op_${'a'.repeat(36)}`), /value="petcat_op_aaaaaa"/);
  const wanted = await send(service, `/keys?q=${secret}`);
  assert.deepEqual(
    [wanted.headers.get('location'), wanted.headers.get('set-cookie')],
    [`/console/keys?q=${key.prefix}`, null],
  );
  const search = /<form class="look-up"[^>]*action="\/console\/requests\/why">\s*<input name="q"/;
  for (const path of ['', '/keys', '/audit']) assert.match(await operator.page(path), search);
});

test('the beginning of a secret that was rotated leads to its key through the audit', async () => {
  await using service = await testService();
  const { key } = await service.issue();
  const operator = await signIn(service);
  assert.equal((await operator.post(`/keys/${key.id}/rotate`, { grace: '0' })).status, 200);
  const unknown = await operator.page(`/requests/why?q=${key.prefix}`);
  const [, link = ''] = /href="\/console(\/audit[^"]*)">in the audit</.exec(unknown) ?? [];
  assert.equal(link, `/audit?q=${key.prefix}`);
  const found = await operator.page(link.replaceAll('&amp;', '&'));
  assert.match(found, new RegExp(`<code>key\\.rotate</code>.*href="/console/keys/${key.id}"`, 's'));
});
