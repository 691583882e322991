import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('`console login` prints a link to the operator listener as it is set or reached, and says what to do where it cannot know the port', async () => {
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
  assert.deepEqual(await login('--operator-port', '0'), {
    code: 2,
    stdout: '',
    stderr:
      'pet-catalog: OPERATOR_PORT is 0, so the port is only in the log of the service; add --url http://HOST:PORT\n',
  });
});

test('a failure of the system is told in one line', async () => {
  using folder = temporaryFolder();
  await run(['migrate'], { cwd: folder.path });
  mkdirSync(join(folder.path, 'data/pet-catalog.db.lock'));
  const { code, stdout, stderr } = await run(['console', 'login'], { cwd: folder.path });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^pet-catalog: EISDIR: .*\n$/);
});

test('`console login` leads to the running service, from whichever setting its port came, and after its end to that of the settings', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const link = async (env = {}) => (await run(['console', 'login'], { ...options, env })).stdout.trim();
  for (const [flags, signal] of [
    [[], 'SIGKILL'],
    [['--operator-host', '0.0.0.0'], 'SIGTERM'],
  ] as const) {
    await using service = await serveProcess(flags, options);
    const { port } = new URL(await service.operatorUrl());
    const opened = await fetch(await link());
    assert.equal(opened.status, 200);
    assert.ok(opened.url.startsWith(`http://127.0.0.1:${port}/console/login`), opened.url);
    await service.end(signal);
    assert.match(
      await link({ OPERATOR_PORT: '9' }),
      /^http:\/\/127\.0\.0\.1:9\//,
      'nothing listens at the port of a killed one',
    );
  }
});

test('a note that a killed service left helps no login to a database that cannot be opened', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'x.db.lock'), `${'\0'.repeat(512)}http://127.0.0.1:4\nhidden\n`);
  const login = ['console', 'login', '--database-url', 'sqlite:x.db'];
  const { code, stdout, stderr } = await run(login, { cwd: folder.path });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^pet-catalog: There is no database \S+x\.db; .*\n$/);
});

test('the settings page marks what is not the default, and says where it came from', async () => {
  using folder = temporaryFolder();
  const env = { REDIS_URL: 'redis://:s3cret@127.0.0.1:1/1', INSTANCES: '2' };
  const flags = ['--operator-port', '0', '--ban-after-refusals', '9', '--log-level', 'info'];
  await using service = await serveProcess(flags, { cwd: folder.path, env });
  await service.operatorUrl();
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
