import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('`console login` prints a link to the operator listener as it is set, or as it is reached', async () => {
  using folder = temporaryFolder();
  await run(['migrate'], { cwd: folder.path });
  const login = (...args: string[]) => run(['console', 'login', ...args], { cwd: folder.path });
  const token = /^(http\S+)\/console\/login\?token=[\w-]{43}\n$/;
  const links = await Promise.all([
    login(),
    login('--operator-host', '0.0.0.0', '--operator-port', '9999'),
    login('--operator-host', '::1'),
    login('--operator-host', '::'),
    login('--url', 'https://ops.example/console', '--operator-port', '0'),
  ]);
  assert.deepEqual(
    links.map(({ stdout }) => token.exec(stdout)?.[1]),
    ['http://127.0.0.1:8081', 'http://127.0.0.1:9999', 'http://[::1]:8081', 'http://[::1]:8081', 'https://ops.example'],
  );
  const { stdout } = await login('--json');
  assert.match(JSON.parse(stdout).url, /^http:\/\/127\.0\.0\.1:8081\/console\/login\?token=/);
});

test('`console login` says what to do where it cannot know the port', async () => {
  using folder = temporaryFolder();
  await run(['migrate'], { cwd: folder.path });
  const login = (...args: string[]) => run(['console', 'login', ...args], { cwd: folder.path });
  assert.deepEqual(await login('--operator-port', '0'), {
    code: 2,
    stdout: '',
    stderr:
      'pet-catalog: OPERATOR_PORT is 0, so the port is only in the log of the service; add --url http://HOST:PORT\n',
  });
  for (const url of ['somewhere', 'ftp://127.0.0.1']) {
    const stderr = `pet-catalog: --url is "${url}"; write an address such as http://127.0.0.1:8081\n`;
    assert.deepEqual(await login('--url', url), { code: 2, stdout: '', stderr });
  }
});

test('a failure of the system is told in one line', async () => {
  using folder = temporaryFolder();
  await run(['migrate'], { cwd: folder.path });
  mkdirSync(join(folder.path, 'data/pet-catalog.db.lock'));
  const { code, stdout, stderr } = await run(['console', 'login'], { cwd: folder.path });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^pet-catalog: EISDIR: .*\n$/);
});

test('`console login` prints the port of the running service, from whichever setting it came', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const link = async () => (await run(['console', 'login'], options)).stdout;
  for (const flags of [[], ['--operator-host', '0.0.0.0']]) {
    await using service = await serveProcess(flags, options);
    await untilTrue(() => service.output.stderr.includes('operatorUrl'));
    const [, port] = /"operatorUrl":"http:\/\/[\d.]+:(\d+)"/.exec(service.output.stderr) ?? [];
    const opened = await fetch((await link()).trim());
    assert.equal(opened.status, 200);
    assert.ok(opened.url.startsWith(`http://127.0.0.1:${port}/console/login`), opened.url);
    assert.equal(await service.end('SIGTERM'), 0);
    assert.match(await link(), /^http:\/\/127\.0\.0\.1:8081\//, 'once it has ended, the settings count again');
  }
});

test('the settings page marks what is not the default, and says where it came from', async () => {
  using folder = temporaryFolder();
  const env = { REDIS_URL: 'redis://:s3cret@127.0.0.1:1/1', INSTANCES: '2' };
  const flags = ['--operator-port', '0', '--ban-after-refusals', '9', '--log-level', 'info'];
  await using service = await serveProcess(flags, { cwd: folder.path, env });
  await untilTrue(() => service.output.stderr.includes('operatorUrl'));
  const { stdout } = await run(['console', 'login'], { cwd: folder.path });
  const { origin, searchParams } = new URL(stdout.trim());
  const body = new URLSearchParams({ token: searchParams.get('token') ?? '' });
  const opened = await fetch(`${origin}/console/login`, { method: 'POST', body, redirect: 'manual' });
  const headers = { cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '', connection: 'close' };
  const text = await (await fetch(`${origin}/console/settings`, { headers })).text();
  const [changed = '', same = ''] = text.split('<h2>At the default');
  assert.match(
    changed,
    /BAN_AFTER_REFUSALS<\/code> <span class="badge good">changed<\/span>.*<code>9<\/code>.*--ban-after-refusals/s,
  );
  const count = changed.match(/<tr>/g)?.length ?? 0;
  assert.ok(text.includes(`<h2>Changed from the default <span class="badge">${count - 1}</span></h2>`));
  assert.match(changed, /changed<\/span><span class="under soft">[^<]{9,}<\/span><\/th>/);
  assert.match(changed, /redis:\/\/:\*\*\*@127\.0\.0\.1:1\/1/);
  assert.ok(!text.includes('s3cret') && !service.output.stderr.includes('s3cret'));
  assert.match(same, /<code>CATEGORIES_MAX<\/code><span.*default/s);
  assert.doesNotMatch(changed, /CATEGORIES_MAX/);
  assert.match(same, /<code>LOG_LEVEL<\/code>.*?<code>info<\/code>.*?--log-level/s);
  assert.match(same, /<code>CORS_ORIGINS<\/code>.*?<span class="soft">not set<\/span>/s);
  assert.doesNotMatch(same, /changed<\/span>|BAN_AFTER_REFUSALS/);
  assert.equal(await service.end('SIGTERM'), 0);
});
