import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertKept, matchers, startReferee } from '../src/test.ts';
import { things } from './kit/api.ts';
import { upstreamOf } from './kit/upstream.ts';

const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const once = (url: string) => fetch(`${url}/things`, { method: 'POST', body: '{}' });
const twice = (url: string) => once(url).catch(() => once(url));

test('a test judges each play and all together, and learns what the client does when all is well', async () => {
  await using upstream = await upstreamOf(things());
  await using referee = await startReferee({ upstream: upstream.url });
  const lost = await referee.play('lost@POST', twice);
  assert.throws(() => assertKept(lost, 'once', 'waits'), {
    name: 'AssertionError',
    message:
      /^once for POST \/things is broken\n {2}lost@POST: Request 2 .*\n {2}fix: make one Idempotency-Key .*\nwaits was never tested$/,
  });
  assert.equal(matchers.toKeep(lost, 'once').pass, false);
  const given = await referee.play('lost@POST', once);
  assertKept(given, 'once', 'tells');
  assert.equal(matchers.toKeep(given).message(), 'every tested rule was kept');
  assert.equal(matchers.toKeep(referee.verdict()).pass, false, 'the first play counts for all');
  await referee.play('ok', async (url) => [await once(url), await once(url)]);
  // Two equal creates are what this client does of itself.
  assertKept(await referee.play('lost@POST', twice), 'once');
});

test('an API that does not answer, a script and an option that are wrong fail the test', async () => {
  await using referee = await startReferee({ upstream: 'http://127.0.0.1:1' });
  const { message } = matchers.toKeep(await referee.play('ok', once));
  assert.match(message(), /^The upstream http:\/\/127\.0\.0\.1:1 did not/);
  await assert.rejects(referee.play('lots', once), { message: /^The step "lots" is none of these/ });
  await assert.rejects(startReferee({ upstream: 'a' }), { message: /^--upstream is "a"/ });
});

for (const [dialect, script, status, body, waits] of [
  ['openai', 'limit:2@POST', 429, /"error":\{"message":"Rate limit reached.*"code":"rate_limit_exceeded"/, null],
  ['stripe', 'error@POST', 500, /"error":\{"type":"api_error"/, null],
  ['github', 'limit-reset:2@POST', 403, /"message":"API rate limit exceeded"/, null],
  ['aws', 'limit:2@POST', 429, /"__type":"ThrottlingException"/, '2000'],
  ['graphql', 'revoked@POST', 401, /"errors":\[\{.*"extensions":\{"code":"UNAUTHENTICATED"/, null],
] as const) {
  test(`in the dialect ${dialect}, ${script} is ${status}`, async () => {
    await using upstream = await upstreamOf(things());
    await using referee = await startReferee({ upstream: upstream.url, dialect });
    const seen: unknown[] = [];
    await referee.play(script, async (url) => {
      const answer = await once(url);
      seen.push(answer.status, answer.headers.get('x-amz-retry-after'), await answer.text());
    });
    assert.deepEqual(seen.slice(0, 2), [status, waits]);
    assert.match(`${seen[2]}`, body);
  });
}

test('nothing in the package links to what is not in it', () => {
  const { files } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { files: string[] };
  const isPacked = (path: string) =>
    [...files, 'README.md', 'LICENSE'].some((each) => path === each || path.startsWith(`${each}/`));
  const docs = ['clients', 'limits', 'scripts', 'testing'].map((name) => `docs/${name}.md`);
  const pages = ['README.md', 'CHANGELOG.md', ...docs];
  const targets = pages.flatMap((page) =>
    [...readFileSync(join(PACKAGE, page), 'utf8').matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) =>
      join(dirname(page), target),
    ),
  );
  assert.ok(targets.length >= 8, `${targets}`);
  assert.deepEqual(
    targets.filter((path) => !isPacked(path) || !existsSync(join(PACKAGE, path))),
    [],
  );
});
