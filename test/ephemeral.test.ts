import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import { temporaryFolder } from './kit/folder.ts';
import { run, serveProcess } from './kit/process.ts';

/** A place that is gone afterwards. Each test has a temporary folder of the system of its own. */

test('one line starts a service that leaves nothing behind, and tells what commands need', async () => {
  using folder = temporaryFolder();
  const flags = ['--ephemeral', '--demo', '--bootstrap', '--environment', 'staging', '--port', '0'];
  await using service = await serveProcess(flags, { cwd: folder.path, env: { TMPDIR: folder.path } });
  const [, settingsTold = ''] = /^listening on \S+\ncommands: (.+)$/m.exec(service.output.stderr) ?? [];
  const told = { ...parseEnv(settingsTold.replaceAll(' ', '\n')) } as Record<string, string>;
  const [place] = readdirSync(folder.path);
  assert.ok(place);
  assert.deepEqual(told, {
    DATABASE_URL: `sqlite:${join(folder.path, place, 'pet-catalog.db')}`,
    ENVIRONMENT: 'staging',
  });
  assert.equal(statSync(join(folder.path, place)).mode & 0o777, 0o700);
  const secret = /petcat_test_\w+/.exec(service.output.stdout)?.[0];
  const headers = { authorization: `Bearer ${secret}` };
  const pets = (await (await fetch(`${service.url}/pets`, { headers })).json()) as unknown[];
  assert.ok(pets.length > 5);
  const [link = ''] = /http\S+token=\S+/.exec(service.output.stdout) ?? [];
  const { origin, searchParams } = new URL(link);
  const body = new URLSearchParams({ token: searchParams.get('token') ?? '' });
  const opened = await fetch(`${origin}/console/login`, { method: 'POST', body, redirect: 'manual' });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const overview = await (await fetch(`${origin}/console`, { headers: { cookie, connection: 'close' } })).text();
  const shown = overview.replaceAll(/(<[^>]*>|\s)+/g, ' ');
  assert.ok(shown.includes(` Signed in as ${userInfo().username} admin `), shown);
  const made = await run(['keys', 'create', '--name', 'ci'], { cwd: folder.path, env: told });
  const answer = await fetch(`${service.url}/pets`, { headers: { authorization: `Bearer ${made.stdout.trim()}` } });
  assert.equal(answer.status, 200, made.stderr);
  assert.equal(await service.end(), 0);
  assert.deepEqual(readdirSync(folder.path), []);
});

test('an ephemeral service takes no other database, and no Redis', async () => {
  using folder = temporaryFolder();
  const env = { TMPDIR: folder.path, DATABASE_URL: 'sqlite:x.db', REDIS_URL: 'redis://127.0.0.1:1', INSTANCES: '1' };
  const { code, stderr } = await run(['serve', '--ephemeral'], { cwd: folder.path, env, invocation: {} });
  assert.equal(code, 2);
  assert.deepEqual(stderr.trim().split('\n'), [
    'pet-catalog: DATABASE_URL: it must not be set with --ephemeral, whose database is a new one (from the environment)',
    'pet-catalog: REDIS_URL: it must not be set with --ephemeral, whose database is a new one (from the environment)',
  ]);
  assert.deepEqual(readdirSync(folder.path), []);
});

/** Well-formed, and not a secret: a compose file or a test may hold it. */
const KNOWN_KEY = 'petcat_live_EphemeralServiceOfATest000000011RJLY';

test('it issues a key that is given, and prints nothing of it; an empty address names no database', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'redis-url');
  writeFileSync(file, '');
  const flags = ['--ephemeral', '--bootstrap-key', KNOWN_KEY, '--port', '0'];
  await using service = await serveProcess(flags, { cwd: folder.path, env: { REDIS_URL_FILE: file } });
  const headers = { authorization: `Bearer ${KNOWN_KEY}`, 'content-type': 'application/json' };
  const made = await fetch(`${service.url}/categories`, { method: 'POST', headers, body: '{"name":"Dog"}' });
  assert.deepEqual([made.status, made.headers.get('x-ratelimit-limit')], [201, '1000']);
  assert.equal(await service.end(), 0);
  assert.equal(service.output.stdout, '');
  assert.ok(!service.output.stderr.includes(KNOWN_KEY));
});
