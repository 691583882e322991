import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { untilTrue } from '../kit/clock.ts';
import { runProcess, serveProcess } from '../kit/process.ts';
import { json, temporaryFolder } from '../kit/service.ts';
import { buildExecutable } from './executable.ts';

/** The executable of a release: in an empty folder, without Node.js on the PATH, where it can be as another user. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The user id without rights that every system has. */
const OTHER_USER = 65_534;
const folder = temporaryFolder();
const place = join(folder.path, 'bin');
const file = join(place, 'pet-catalog');

const built = join(place, 'pet-catalog-1.2.3-linux-x64');
const START = /^```sh\n(install .*)\n\.\/pet-catalog (.*)\n```$/m;
const [, install = '', serve = ''] = START.exec(readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')) ?? [];
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

before(() => {
  mkdirSync(place);
  buildExecutable(built);
  execFileSync('sh', ['-c', install], { cwd: place });
  chmodSync(place, 0o555);
  chmodSync(folder.path, 0o755);
});
after(() => {
  chmodSync(place, 0o755);
  folder[Symbol.dispose]();
});

/** Runs it in a folder of its own, with nothing in the environment but a PATH that has no Node.js. */
function at(name: string) {
  const cwd = join(folder.path, name);
  mkdirSync(cwd);
  // A NODE_OPTIONS of the machine loads nothing into it.
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', NODE_OPTIONS: '--require /nonexistent.js' };
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(cwd, OTHER_USER, OTHER_USER);
  const asAnother = ['setpriv', `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, '--clear-groups', file] as const;
  return { cwd, env, command: isRoot ? asAnother : ([file] as const) };
}

test('it serves: a key, a create, pages, the console, metrics, and backups by a process of its own', async () => {
  const here = at('serve');
  const [command, ...flags] = serve.split(' ');
  assert.equal(command, 'serve');
  await using service = await serveProcess([...flags, '--backup-dir', 'backups', '--backup-every', '1s'], here);
  const key = /petcat_live_[0-9A-Za-z]{36}/.exec(service.output.stdout)?.[0] ?? '';
  const created = await fetch(`${service.url}/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"name":"Dog"}',
  });
  assert.deepEqual([created.status, await json(created)], [201, { id: 1, name: 'Dog' }]);
  const { origin } = new URL(service.url);
  for (const path of ['/docs', '/docs/reference', '/docs/limits.md', '/openapi.json', '/openapi.yaml']) {
    const response = await fetch(origin + path);
    assert.equal(response.status, 200, path);
    const text = await response.text();
    for (const [, asset = ''] of text.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g))
      assert.equal((await fetch(origin + asset)).status, 200, asset);
  }
  const login = await runProcess(['console', 'login'], here);
  const page = await fetch(login.stdout.trim());
  assert.equal(page.status, 200);
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)];
  assert.ok(assets.length >= 5);
  const operator = new URL(login.stdout.trim()).origin;
  for (const [, asset = ''] of assets) assert.equal((await fetch(operator + asset)).status, 200, asset);
  assert.match(await (await fetch(`${operator}/metrics`)).text(), /^pet_catalog_request_duration_seconds_count/m);
  const token = new URL(login.stdout.trim()).searchParams.get('token') ?? '';
  const body = new URLSearchParams({ token });
  const opened = await fetch(`${operator}/console/login`, { method: 'POST', body, redirect: 'manual' });
  const headers = { cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '' };
  const overview = async () => (await fetch(`${operator}/console`, { headers })).text();
  // The checks of doctor, which a thread runs beside the service.
  await untilTrue(async () => /\d checks? (passed|complain)/.test(await overview()), 'the checks on the overview');
  await untilTrue(() => readdirSync(join(here.cwd, 'backups')).some((name) => name.endsWith('.db')));
  const doctor = await runProcess(['doctor'], here);
  assert.match(doctor.stdout, /^ok +database: .* is sound$/m);
  assert.equal(await service.end(), 0);
});

test('the licences of all that it holds are in it', async () => {
  const here = at('commands');
  const { stdout, stderr } = await runProcess(['licenses'], here);
  // Node.js would say here that it rejects the compiled code.
  assert.equal(stderr, '');
  for (const name of ['pet-catalog', 'Node.js 26', 'ajv 8', '@redis/client', '@opentelemetry/core', 'pg 8'])
    assert.ok(stdout.includes(`\n${name}`) || stdout.startsWith(name), name);
  assert.equal(stdout.match(/^-{80}$/gm)?.length, stdout.split(/^-{80}$/m).length - 1);
});

test('the same commit gives the same bytes, in another folder too', () => {
  const [checkout, again] = [join(folder.path, 'checkout'), join(folder.path, 'again')];
  for (const name of ['package.json', 'package-lock.json', 'LICENSE', 'tsconfig.json', 'build', 'src'])
    cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  buildExecutable(again, checkout);
  assert.equal(digest(again), digest(file));
});
