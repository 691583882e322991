import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KEY_PATTERN } from '../src/catalog/api-key.ts';
import { COMMAND } from '../src/version.ts';
import { temporaryFolder } from './kit/folder.ts';
import { httpServer } from './kit/http-server.ts';
import { run, runProcess, type ServiceProcess, serveProcess } from './kit/process.ts';

test('a newcomer starts the service, pastes the line, and finds everything again after a restart', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  let secret = '';
  {
    await using service = await serveProcess(['--bootstrap'], options);
    const pasted = /^ *curl -H 'Authorization: Bearer (\S+)' (\S+)$/m.exec(service.output.stdout);
    assert.ok(pasted?.[1] && pasted[2], service.output.stdout);
    secret = pasted[1];
    assert.match(secret, KEY_PATTERN);
    const [link = ''] = /http\S+\/console\/login\?token=\S+/.exec(service.output.stdout) ?? [];
    assert.equal(
      service.output.stdout,
      `Your first API key (business plan), shown only this once:\n\n  ${secret}\n\nTry it:\n\n  curl -H 'Authorization: Bearer ${secret}' ${service.url}/categories\n\nSee the request in the console (the link works once, for ten minutes):\n\n  ${link}\n\n`,
    );
    const list = await get(pasted[2], secret);
    assert.deepEqual([list.status, await list.json()], [200, []]);
    assert.equal((await create(service, secret, { name: 'Dog' })).status, 201);
    assert.equal(await service.end('SIGTERM'), 0);
  }
  await using service = await serveProcess(['--bootstrap', '--demo'], options);
  assert.equal(
    service.output.stdout,
    `There is an API key already. To issue another:\n\n  ${COMMAND} keys create --name NAME\n\nTo see how it is used:\n\n  ${COMMAND} console login\n\n`,
  );
  const list = await get(`${service.url}/categories`, secret);
  assert.deepEqual(await list.json(), [{ id: 1, name: 'Dog' }], 'the demo leaves a catalog alone that is not empty');
  assert.equal(list.headers.get('x-ratelimit-remaining'), '997', 'the counts are kept');
  assert.equal(await service.end('SIGINT'), 0);
});

test('a port in use is reported in one line that names it', async () => {
  using folder = temporaryFolder();
  await using other = await httpServer(() => {});
  for (const [setting, args] of [
    ['PORT', ['--port', `${other.port}`, '--operator-port', '0']],
    ['OPERATOR_PORT', ['--port', '0', '--operator-port', `${other.port}`]],
  ] as const) {
    const why = `Cannot listen on 127.0.0.1:${other.port}: something else listens there`;
    const stderr = `pet-catalog: ${why}; set ${setting} to another port, or to 0 for a free one\n`;
    // No unusable key is issued.
    assert.deepEqual(await run(['serve', '--bootstrap', ...args], { cwd: folder.path }), {
      code: 1,
      stdout: '',
      stderr,
    });
  }
});

test('concurrent commands without a database create one together', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const made = await Promise.all(
    Array.from({ length: 3 }, (_, index) => runProcess(['keys', 'create', '--name', `key ${index}`], options)),
  );
  for (const { code, stderr } of made) assert.equal(code, 0, stderr);
  const { stdout } = await run(['keys', 'list', '--json'], options);
  assert.equal(JSON.parse(stdout).length, 3);
});

function get(url: string, secret: string): Promise<Response> {
  return fetch(url, { headers: { authorization: `Bearer ${secret}` } });
}

function create(service: ServiceProcess, secret: string, category: unknown): Promise<Response> {
  return fetch(`${service.url}/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(category),
  });
}

test('ending `npm start` ends the service', async () => {
  using folder = temporaryFolder();
  const root = fileURLToPath(new URL('..', import.meta.url));
  const env = { ...process.env, PORT: '0', DATABASE_URL: `sqlite:${folder.path}/pets.db` };
  const child = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  const closed = new Promise((resolve) => child.stderr.once('close', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      const found = /^listening on (\S+)$/m.exec(told)?.[1];
      if (found) resolve(found);
    });
    child.stderr.once('close', () => reject(new Error(`the service did not start: ${told}`)));
  });
  // Its idle connection keeps the service stopping for half a second, twice as long as it looks after npm.
  assert.equal((await fetch(`${url}/categories`)).status, 401);
  child.kill('SIGTERM');
  // The pipe closes when the last that holds it is gone: npm, its shell and the service.
  await closed;
  assert.match(told, /"event":"stopped"/);
  await assert.rejects(fetch(url), 'the port is closed');
});
