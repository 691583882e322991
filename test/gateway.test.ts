import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TestService, testService } from './kit/service.ts';

/** A gateway serves the service below a path of its own, and takes that path off: every link must have it. */

const PREFIX = '/pets/$$shop';
const SETTINGS = { PRODUCTION_BASE_URL: `https://gateway.example${PREFIX}/v1` };

/** Addresses in HTML, Markdown and the index of the search. */
const LINKS = /(?:(?:href|src)="|\]\(|"path":")([^")\s]*)/g;

/** A request as it comes through the gateway. Only what is below the prefix reaches the service. */
function through(service: TestService, path: string, init: RequestInit = {}): Promise<Response> {
  assert.ok(path.startsWith(`${PREFIX}/`), `${path} is outside of the gateway's prefix`);
  const url = service.url.replace('/v1', path.slice(PREFIX.length));
  return fetch(url, { ...init, redirect: 'manual', headers: { connection: 'close', ...(init.headers as object) } });
}

test('Location and Link have the prefix', async () => {
  await using service = await testService(SETTINGS);
  const { secret } = await service.issue();
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const post = (path: string, body: object) =>
    through(service, `${PREFIX}/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  for (const [path, body, location] of [
    ['/categories', { name: 'Dog' }, `${PREFIX}/v1/categories/1`],
    ['/pets', { name: 'Rex', categoryId: 1 }, `${PREFIX}/v1/pets?ids=1`],
    ['/pets', { name: 'Max', categoryId: 1 }, `${PREFIX}/v1/pets?ids=2`],
    ['/store/orders', { petId: 1, quantity: 1 }, `${PREFIX}/v1/store/orders/1`],
  ] as const) {
    const made = await post(path, body);
    assert.deepEqual([made.status, made.headers.get('location')], [201, location]);
    assert.equal((await through(service, location, { headers })).status, 200, location);
  }
  const first = await through(service, `${PREFIX}/v1/pets?categoryId=1&limit=1`, { headers });
  assert.equal(first.headers.get('link'), `<${PREFIX}/v1/pets?categoryId=1&limit=1&cursor=after_1>; rel="next"`);
  for (const [id, successor] of [
    ['1', 'pets?ids=1'],
    ['99', 'pets?ids=99'],
  ]) {
    const deprecated = await through(service, `${PREFIX}/v1/pets/${id}`, { headers });
    assert.equal(
      deprecated.headers.get('link'),
      `<${PREFIX}/v1/${successor}>; rel="successor-version", <${PREFIX}/docs/deprecations#getPet>; rel="deprecation"; type="text/html"`,
    );
  }
});

test('every page that a page leads to, and everything that it loads, is there behind the gateway', async () => {
  await using service = await testService(SETTINGS);
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const home = await through(service, `${PREFIX}/`, { headers: { accept } });
  assert.deepEqual([home.status, home.headers.get('location')], [303, `${PREFIX}/docs`]);
  assert.equal(home.headers.get('cache-control'), 'public, max-age=300');
  const seen = new Set<string>();
  const queue = [`${PREFIX}/docs`, `${PREFIX}/docs/search.json`, `${PREFIX}/llms.txt`];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const answer = await through(service, path);
    assert.deepEqual([path, answer.status], [path, 200]);
    const text = await answer.text();
    const found = [...text.matchAll(LINKS)].map(([, target = '']) => target.replace(/#.*/, ''));
    queue.push(...found.filter((target) => target.startsWith('/')));
  }
  assert.ok(seen.size > 30, [...seen].join('\n'));
  const reference = await (await through(service, `${PREFIX}/docs/reference`)).text();
  assert.ok(reference.includes(`data-path="${PREFIX}/v1/categories"`));
});
