import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/folder.ts';
import { httpServer } from '../kit/http-server.ts';
import { run, serveProcess } from '../kit/process.ts';

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
    // Where the note of a killed one stays, another service may have its port.
    await using _ = await httpServer((_, response) => response.writeHead(404).end('{"error":"no"}'), Number(port));
    for (const line of ['console login', 'requests', 'why x']) {
      const { code, stdout, stderr } = await run(line.split(' '), options);
      assert.deepEqual([code, stdout], [1, ''], line);
      assert.match(
        stderr,
        /^pet-catalog: No service runs here that could be asked; run this .* Its log has a line/,
        line,
      );
    }
  }
});
