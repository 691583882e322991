import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('`console login` prints a link to the operator listener as it is set, or as it is reached', async () => {
  using folder = temporaryFolder();
  const login = (...args: string[]) => run(['console', 'login', ...args], { cwd: folder.path });
  const token = /^(http\S+)\/console\/login\?token=[\w-]{43}\n$/;
  const links = await Promise.all([
    login(),
    login('--operator-host', '0.0.0.0', '--operator-port', '9999'),
    login('--operator-host', '::1'),
    login('--url', 'https://ops.example/console', '--operator-port', '0'),
  ]);
  assert.deepEqual(
    links.map(({ stdout }) => token.exec(stdout)?.[1]),
    ['http://127.0.0.1:8081', 'http://127.0.0.1:9999', 'http://[::1]:8081', 'https://ops.example'],
  );
  const { stdout } = await login('--json');
  assert.match(JSON.parse(stdout).url, /^http:\/\/127\.0\.0\.1:8081\/console\/login\?token=/);
});

test('`console login` says what to do where it cannot know the port', async () => {
  using folder = temporaryFolder();
  const login = (...args: string[]) => run(['console', 'login', ...args], { cwd: folder.path });
  const [free, wrong] = await Promise.all([login('--operator-port', '0'), login('--url', 'somewhere')]);
  assert.deepEqual([free.code, free.stdout, wrong.code, wrong.stdout], [2, '', 2, '']);
  assert.match(free.stderr, /--url http:/);
  assert.match(wrong.stderr, /--url is "somewhere"/);
});
