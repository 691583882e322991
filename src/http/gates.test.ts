import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilEqual } from '../../test/kit/clock.ts';
import { post } from '../../test/kit/edge/corpus.ts';
import { openRaw, type RawConnection } from '../../test/kit/edge/raw.ts';
import { testService } from '../../test/kit/service.ts';

test('a key has 512 writes in flight, those whose bodies are read among them; one more is 503, and reads are served', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const body = '{"name":"Dog"}';
  const create = () =>
    service.call(secret, '/categories', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const remaining = async () =>
    Number((await service.call(secret, '/rate_limit')).headers.get('x-ratelimit-remaining'));
  await using opened = new AsyncDisposableStack();
  const writing: RawConnection[] = [];
  for (let count = 0; count < 512; count += 1) writing.push(opened.use(await openRaw(service.url)));
  for (const raw of writing) await raw.send(post('', `Content-Length: ${body.length}`).replace('<key>', secret));
  await untilEqual(remaining, 1_000 - 512);
  const { status, headers } = await create();
  assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
  assert.equal((await service.call(secret, '/categories')).status, 200);
  for (const raw of writing) await raw.send(body);
  for (const raw of writing) assert.equal((await raw.answer()).status, 201);
  const later = await Promise.all(Array.from({ length: 8 }, create));
  assert.deepEqual(new Set(later.map((each) => each.status)), new Set([201]), 'each has made room');
});

test('the scope of a key is looked at before its query and its body', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ scopes: ['pets:read'] });
  for (const path of ['/categories', '/categories?other=1'])
    assert.equal((await service.call(secret, path, { method: 'POST', body: '{' })).status, 403, path);
});
