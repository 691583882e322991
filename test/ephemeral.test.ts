import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SETTINGS } from '../src/config.ts';
import { run, type ServiceProcess, serveProcess } from './kit/process.ts';
import { temporaryFolder } from './kit/service.ts';

/** A place that is gone afterwards. Each test has a temporary folder of the system of its own. */

/** The settings that the service told for commands. */
function toldSettings({ output }: ServiceProcess): Record<string, string> {
  const [, told = ''] = /^listening on \S+\ncommands: (.+)$/m.exec(output.stderr) ?? [];
  return Object.fromEntries(told.split(' ').map((setting) => setting.split(/=(.*)/s).slice(0, 2)));
}

test('one line starts a service that leaves nothing behind, and tells what commands need', async () => {
  using folder = temporaryFolder();
  const env = { TMPDIR: folder.path };
  await using service = await serveProcess(
    ['--ephemeral', '--demo', '--bootstrap', '--environment', 'staging', '--port', '0'],
    {
      cwd: folder.path,
      env,
    },
  );
  const told = toldSettings(service);
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
  const settings = await (
    await fetch(`${origin}/console/settings`, { headers: { cookie, connection: 'close' } })
  ).text();
  const shown = settings.replaceAll(/(<[^>]*>|\s)+/g, ' ');
  assert.ok(shown.includes(` Signed in as ${userInfo().username} admin `), shown);
  const { about } = SETTINGS.DATABASE_URL;
  assert.ok(shown.includes(` DATABASE_URL changed ${about} ${told.DATABASE_URL} --ephemeral `), shown);
  const made = await run(['keys', 'create', '--name', 'ci'], { cwd: folder.path, env: told });
  const answer = await fetch(`${service.url}/pets`, { headers: { authorization: `Bearer ${made.stdout.trim()}` } });
  assert.equal(answer.status, 200, made.stderr);
  assert.equal(await service.end(), 0);
  assert.deepEqual(readdirSync(folder.path), []);
});

test('what a killed service left is removed by the next, and no folder of a running one', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { TMPDIR: folder.path } };
  const fileOf = (service: ServiceProcess) => toldSettings(service).DATABASE_URL?.slice('sqlite:'.length) ?? '';
  await using killed = await serveProcess(['--ephemeral'], options);
  await using running = await serveProcess(['--ephemeral'], options);
  const other = join(folder.path, 'pet-catalog-ephemeral-file');
  writeFileSync(other, 'not a folder');
  // Killed before it had claimed its folder.
  mkdirSync(join(folder.path, 'pet-catalog-ephemeral-empty'));
  assert.equal(await killed.end('SIGKILL'), null);
  assert.ok(existsSync(fileOf(killed)));
  // A plain service on what is left keeps it.
  await using kept = await serveProcess(['--ephemeral'], options);
  assert.ok(!existsSync(fileOf(killed)));
  assert.equal(await kept.end('SIGKILL'), null);
  await using looking = await serveProcess(['--database-url', `sqlite:${fileOf(kept)}`], options);
  await using next = await serveProcess(['--ephemeral'], options);
  const left = readdirSync(folder.path).map((name) => join(folder.path, name, 'pet-catalog.db'));
  assert.deepEqual(left.sort(), [fileOf(running), fileOf(kept), fileOf(next), join(other, 'pet-catalog.db')].sort());
  for (const service of [running, looking, next]) assert.equal((await fetch(`${service.url}/pets`)).status, 401);
  assert.deepEqual(await Promise.all([running, looking, next].map((service) => service.end())), [0, 0, 0]);
  assert.deepEqual(readdirSync(folder.path).length, 2, 'the file, and what the plain service was given');
});

test('an ephemeral service takes no other database, and no Redis', async () => {
  using folder = temporaryFolder();
  const env = { TMPDIR: folder.path, DATABASE_URL: 'sqlite:x.db', REDIS_URL: 'redis://127.0.0.1:1', INSTANCES: '1' };
  const { code, stderr } = await run(['serve', '--ephemeral'], { cwd: folder.path, env });
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
