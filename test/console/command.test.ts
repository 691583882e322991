import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('`console login` prints a link of the running service, wherever it listens, and after its end says where to run it', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const login = (...args: string[]) => run(['console', 'login', ...args], options);
  for (const [flags, signal] of [
    [[], 'SIGKILL'],
    [['--operator-host', '0.0.0.0'], 'SIGTERM'],
  ] as const) {
    await using service = await serveProcess(flags, options);
    const { port } = new URL(await service.operatorUrl());
    const { stdout } = await login();
    assert.match(stdout, new RegExp(`^http://127\\.0\\.0\\.1:${port}/console/login\\?token=[\\w-]{43}\n$`));
    assert.equal((await fetch(stdout.trim())).status, 200);
    const elsewhere = await login('--json', '--url', 'https://ops.example/console');
    assert.match(JSON.parse(elsewhere.stdout).url, /^https:\/\/ops\.example\/console\/login\?token=[\w-]{43}$/);
    assert.match((await login('--role', 'root')).stderr, /There is no role "root"/);
    await service.end(signal);
    for (const line of ['console login', 'requests', 'why x']) {
      const { code, stdout, stderr } = await run(line.split(' '), options);
      assert.deepEqual([code, stdout], [1, ''], line);
      assert.match(stderr, /^pet-catalog: No service runs here that could be asked; run this on its machine/, line);
    }
  }
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
  const end = text.indexOf('</tr>', text.lastIndexOf('changed</span>'));
  const [changed, same] = [text.slice(0, end), text.slice(end)];
  assert.match(
    changed,
    /BAN_AFTER_REFUSALS<\/code> <span class="badge good">changed<\/span>.*<code>9<\/code>.*--ban-after-refusals/s,
  );
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
