import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { untilTrue } from './kit/clock.ts';
import { httpServer } from './kit/http-server.ts';
import { apiClient, OPERATOR } from './kit/operator.ts';
import { launch } from './kit/process.ts';
import { json, temporaryFolder, testService } from './kit/service.ts';

/** The programs of examples/, as they are. */

const EXAMPLES = fileURLToPath(new URL('../examples', import.meta.url));
const LINES = 50;

function start(program: string, args: readonly string[], env: Record<string, string>) {
  const command = [process.execPath, join(EXAMPLES, program)] as const;
  const { NODE_COMPILE_CACHE = '' } = process.env;
  const { child, output } = launch(args, { cwd: EXAMPLES, env: { NODE_COMPILE_CACHE, ...env }, command });
  return { child, output, code: once(child, 'close').then(([code]) => code as number | null) };
}

/** Forwards requests to the service until one that is carried out and never answered. */
async function losesAnswer(url: string, number: number) {
  const lost = Promise.withResolvers<void>();
  let requests = 0;
  const server = await httpServer(async (request, response) => {
    requests += 1;
    const isLost = requests === number;
    const body = Buffer.concat(await request.toArray());
    const { authorization = '', 'idempotency-key': key = '' } = request.headers as Record<string, string>;
    const answer = await fetch(`${url}${request.url?.slice('/v1'.length)}`, {
      method: request.method ?? '',
      headers: { authorization, 'idempotency-key': key, 'content-type': 'application/json' },
      body,
    });
    if (isLost) return lost.resolve();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  return { ...server, url: `${server.origin}/v1`, lost: lost.promise };
}

test('an import that is killed goes on where it ended, and makes no category twice', async () => {
  await using service = await testService();
  await using before = await losesAnswer(service.url, 20);
  using folder = temporaryFolder();
  const { secret } = await service.issue({ plan: 'business' });
  const file = join(folder.path, 'categories.ndjson');
  const names = Array.from({ length: LINES }, (_, index) => `category ${index + 1}`);
  writeFileSync(file, names.map((name) => `${JSON.stringify({ name })}\n`).join(''));
  const env = { PET_CATALOG_KEY: secret };

  const killed = start('import-with-resume.ts', [before.url, file], env);
  await before.lost;
  killed.child.kill('SIGKILL');
  await killed.code;
  assert.match(readFileSync(`${file}.progress`, 'utf8'), /^[0-9a-f]{16} 19$/);

  const resumed = start('import-with-resume.ts', [service.url, file], env);
  assert.equal(await resumed.code, 0, resumed.output.stderr);
  assert.equal(resumed.output.stdout, 'imported 31 categories\n');
  assert.match(resumed.output.stderr, /^going on after line 19\n20 of 50\n/);
  assert.ok(!existsSync(`${file}.progress`));
  const list = await json<{ name: string }[]>(service.call(secret, '/categories'));
  assert.deepEqual(
    list.map(({ name }) => name),
    names,
  );
});

test('an import ends at a line that is refused, and says which', async () => {
  await using service = await testService();
  using folder = temporaryFolder();
  const { secret } = await service.issue();
  const file = join(folder.path, 'categories.ndjson');
  writeFileSync(file, '{"name":"Dog"}\n{"name":""}\n{"name":"Cat"}\n');
  const { code, output } = start('import-with-resume.ts', [service.url, file], { PET_CATALOG_KEY: secret });
  assert.equal(await code, 1);
  assert.match(output.stderr, /^1 of 3\nline 2: .*name.* \(request [\w.-]+\); mend it, and start again/);
});

test('an import of a file that was changed begins anew, and leaves empty lines out', async () => {
  await using service = await testService();
  using folder = temporaryFolder();
  const { secret } = await service.issue();
  const file = join(folder.path, 'categories.ndjson');
  writeFileSync(file, '{"name":"Dog"}\n\n{"name":"Cat"}\n \n');
  writeFileSync(`${file}.progress`, '0123456789abcdef 1');
  const load = () => start('import-with-resume.ts', [service.url, file], { PET_CATALOG_KEY: secret });
  const { code, output } = load();
  assert.equal(await code, 0, output.stderr);
  assert.deepEqual([output.stderr, output.stdout], ['1 of 2\n2 of 2\n', 'imported 2 categories\n']);
  writeFileSync(file, '{"name":"Eel"}\n');
  const next = load();
  assert.deepEqual([await next.code, next.output.stdout], [0, 'imported 1 categories\n'], next.output.stderr);
});

test('the sign-up server gives a customer one key, however often the form is sent', async () => {
  await using service = await testService();
  const { secret, token } = await apiClient(service, 'keys');
  const server = start('sign-up-server.ts', [service.operatorUrl, '0'], { PET_CATALOG_TOKEN: secret });
  try {
    await untilTrue(() => server.output.stdout.endsWith('\n'));
    const signUp = (form: unknown) =>
      fetch(server.output.stdout.trim(), { method: 'POST', body: JSON.stringify(form) });
    const first = await signUp({ customer: 'cus_42', name: 'Cat Café' });
    assert.equal(first.status, 201);
    const { key, limits } = await json<{ key: string; limits: object }>(first);
    assert.deepEqual(limits, { minute: 60, day: 1_000 });
    assert.equal((await service.call(key, '/categories')).status, 200);
    assert.deepEqual(await json(signUp({ customer: 'cus_42', name: 'Cat Café' })), { key, limits });
    assert.equal((await signUp({ customer: 'cus_42', name: 'Dog Café' })).status, 409);
    for (const customer of ['nonsense', `cus_${'4'.repeat(41)}`])
      assert.equal((await signUp({ customer, name: 'Cat Café' })).status, 400);
    const nameless = await signUp({ customer: 'cus_43', name: ' ' });
    assert.deepEqual([nameless.status, (await json<{ error: string }>(nameless)).error.includes('name')], [400, true]);
    const long = await signUp({ customer: 'cus_43', name: 'x'.repeat(10_000) });
    assert.deepEqual([long.status, await json(long)], [400, { error: 'send JSON of at most 10 kB' }]);
    const place = server.output.stdout.trim();
    for (const answer of [await fetch(place), await fetch(new URL('/', place), { method: 'POST' })])
      assert.deepEqual([answer.status, await json(answer)], [404, { error: 'not found' }]);
    const { keys } = await service.storage.keys.list({ now: 0, limit: 9 });
    assert.deepEqual(
      keys.map(({ name, owner, plan }) => [name, owner, plan]),
      [['Cat Café', 'cus_42', 'free']],
    );
    await service.storage.tokens.revoke(token.id, service.clock.now().unix, OPERATOR);
    const failed = await signUp({ customer: 'cus_43', name: 'Dog Café' });
    assert.deepEqual([failed.status, await json(failed)], [503, { error: 'try again in a minute' }]);
    await untilTrue(() => /^no key for cus_43: .* \(request [\w.-]+\)$/m.test(server.output.stderr));
  } finally {
    server.child.kill();
    await server.code;
  }
});

test("the nightly report has yesterday's usage of each key", async () => {
  await using service = await testService();
  using folder = temporaryFolder();
  const { key, secret } = await service.issue({ name: 'shop' });
  for (let calls = 0; calls < 3; calls += 1) await service.call(secret, '/categories');
  await service.restart();
  service.clock.advance(86_400);
  // Of the next day.
  await service.call(secret, '/categories');
  await service.restart();
  const { secret: token } = await apiClient(service, 'viewer');
  const args = [service.operatorUrl, join(folder.path, 'of/the/shop'), '2026-01-01'];
  const { code, output } = start('nightly-usage.ts', args, { PET_CATALOG_TOKEN: token });
  assert.equal(await code, 0, output.stderr);
  const [header = '', row = '', rest] = readFileSync(output.stdout.trim(), 'utf8').split('\n');
  const columns = header.split(',');
  const values = row.split(',');
  const cell = (column: string) => values[columns.indexOf(column)];
  assert.deepEqual([cell('id'), cell('name'), cell('served'), rest], [key.id, 'shop', '3', '']);
  const before = start('nightly-usage.ts', [service.operatorUrl, folder.path, '2025-12-31'], {
    PET_CATALOG_TOKEN: token,
  });
  assert.equal(await before.code, 0, before.output.stderr);
  assert.doesNotMatch(readFileSync(before.output.stdout.trim(), 'utf8'), /shop/);
  const refused = start('nightly-usage.ts', args, { PET_CATALOG_TOKEN: 'petcat_op_x' });
  assert.equal(await refused.code, 1);
  assert.match(refused.output.stderr, /^no report: .*"invalid_token".* \(request [\w.-]+\)\n$/);
  const days = [yesterday()];
  const usual = start('nightly-usage.ts', args.slice(0, 2), { PET_CATALOG_TOKEN: token });
  await usual.code;
  days.push(yesterday());
  assert.ok(
    days.some((day) => usual.output.stdout.endsWith(`/of/the/shop/usage-${day}.csv\n`)),
    usual.output.stdout,
  );
});

function yesterday(): string {
  return new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
}
