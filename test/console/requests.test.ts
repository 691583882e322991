import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';

/** The console's pages of recent requests. */

test('the page of requests is filtered by key, status and route, and follows the traffic until it is paused', async () => {
  await using service = await testService();
  const [one, two] = [await service.issue({ name: 'one' }), await service.issue({ name: '<two>' })];
  const call = (secret: string, path: string, id: string) =>
    service.call(secret, path, { headers: { 'x-request-id': id } });
  await call(one.secret, '/categories', 'first');
  await call(one.secret, '/nothing', 'second');
  await call(two.secret, '/pets', 'third');
  const operator = await signIn(service, 'viewer');
  const shown = async (query: string) => {
    const text = await operator.page(`/requests${query}`);
    return ['first', 'second', 'third'].filter((id) => text.includes(`<code>${id}</code>`));
  };
  assert.deepEqual(await shown(''), ['first', 'second', 'third']);
  assert.deepEqual(await shown(`?key=${one.key.prefix}`), ['first', 'second']);
  assert.deepEqual(await shown(`?key=${two.key.id}`), ['third']);
  assert.deepEqual(await shown('?key=unmatched'), []);
  assert.deepEqual(await shown('?status=4xx'), ['second']);
  assert.deepEqual(await shown('?status=2xx&route=/v1/pets'), ['third']);
  assert.deepEqual(await shown('?route=unmatched'), ['second']);
  const following = await operator.page('/requests?status=2xx');
  assert.match(following, /<tbody id="requests-rows" data-live>/);
  assert.match(following, /href="\/console\/requests\?status=2xx&amp;paused=1">Pause</);
  assert.match(following, /this instance alone/);
  const paused = await operator.page('/requests?status=2xx&paused=1');
  assert.doesNotMatch(paused, /data-live/);
  assert.match(paused, /href="\/console\/requests\?status=2xx">Follow</);
  assert.match(await operator.page(`/requests?key=${two.key.id}`), /of <bdi>&lt;two&gt;<\/bdi>/);
});

test('“Why was this refused?” leads from a request id or a key to the reason, the windows, the ban and what helps', async () => {
  await using service = await testService({ BAN_AFTER_REFUSALS: '1' });
  const limits = { minute: 1, day: 9 };
  const { key, secret } = await service.issue({ name: 'hasty', plan: 'enterprise', limits });
  const call = (id: string) => service.call(secret, '/categories', { headers: { 'x-request-id': id } });
  await call('served');
  await call('refused');
  const operator = await signIn(service, 'keys');
  for (const query of ['refused', key.prefix, key.id, 'hasty']) {
    const text = await operator.page(`/requests/why?q=${query}`);
    assert.match(text, /429 rate_limit_exceeded: the limit of 1 requests per minute was reached/, query);
    assert.match(text, /<dt>Minute then<\/dt><dd>0 left<\/dd><dt>Day then<\/dt><dd>8 left<\/dd>/, query);
    assert.match(text, new RegExp(`href="/console/keys/${key.id}/edit">Change the plan`), query);
    assert.match(text, /never banned/);
  }
  assert.match(await operator.page('/requests/why?q=served'), /It was not refused/);
  service.clock.advance(3);
  await call('banned');
  await call('banned');
  await call('banned');
  const banned = await operator.page('/requests/why?q=banned');
  assert.match(banned, /429 key_banned: refused/);
  assert.match(banned, new RegExp(`action="/console/keys/${key.id}/unban"`));
  const viewer = await signIn(service, 'viewer');
  const seen = await viewer.page('/requests/why?q=banned');
  assert.match(seen, /Banned for another/);
  assert.doesNotMatch(seen, /unban|Change the plan/);
  const none = await operator.page('/requests/why?q=none-such');
  assert.match(none, /No kept request has this id/);
  const fresh = await service.issue({ name: 'fresh' });
  assert.match(await operator.page(`/requests/why?q=${fresh.key.id}`), /No refused request of this key is kept/);
  assert.equal(service.events.failures.length, 0);
});
