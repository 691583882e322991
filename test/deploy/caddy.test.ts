import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { untilTrue } from '../kit/clock.ts';
import { call } from '../kit/deploy/call.ts';
import { freePort } from '../kit/deploy/port.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

const FILE = fileURLToPath(new URL('../../deploy/caddy/Caddyfile', import.meta.url));
// Not asked for on CI either: Debian's package would start a server of its own on port 80.
const skip = spawnSync('caddy', ['version']).status !== 0 && 'caddy is not installed: these tests are left out';

suite('the Caddyfile', { skip }, () => {
  test('is in the form that Caddy gives it', () => {
    const { stdout } = spawnSync('caddy', ['fmt', FILE], { encoding: 'utf8' });
    assert.equal(stdout, readFileSync(FILE, 'utf8'));
  });

  test('lets errors and 304 of the service pass, and answers in its form when there is none', async () => {
    await using service = await testService();
    const { secret } = await service.issue();
    const headers = { authorization: `Bearer ${secret}`, 'accept-encoding': 'gzip' };
    await using caddy = await startCaddy(new URL(service.url).port);
    const get = (path: string, more = {}) => call(caddy.url, path, { headers: { ...headers, ...more } });

    const unknown = await call(caddy.url, '/v1/categories', {});
    assert.deepEqual([unknown.status, JSON.parse(unknown.body.toString()).code], [401, 'missing_api_key']);
    const large = await call(caddy.url, '/v1/categories', { method: 'POST', headers, body: Buffer.alloc(300_000, 32) });
    assert.deepEqual([large.status, JSON.parse(large.body.toString()).code], [413, 'payload_too_large']);
    assert.equal(large.headers['x-ratelimit-limit'], '60');

    const body = JSON.stringify({ name: 'Dog', description: 'x'.repeat(1_900) });
    assert.equal((await call(caddy.url, '/v1/categories', { method: 'POST', headers, body })).status, 201);
    const list = await get('/v1/categories');
    assert.deepEqual([list.status, list.headers['content-encoding']], [200, 'gzip']);
    assert.equal((await get('/v1/categories', { 'if-none-match': list.headers.etag })).status, 304);

    await service[Symbol.asyncDispose]();
    const gone = await get('/v1/categories');
    assert.deepEqual([gone.status, JSON.parse(gone.body.toString()).code], [503, 'unavailable']);
    assert.deepEqual([gone.headers['content-type'], gone.headers['x-ratelimit-limit']], ['application/json', '0']);
    assert.match(gone.headers['x-ratelimit-reset'] as string, /^\d{10}$/);
  });
});

/** Caddy with the delivered file on a free port, without TLS: its host name is an example. */
async function startCaddy(servicePort: string): Promise<AsyncDisposable & { readonly url: string }> {
  const folder = temporaryFolder();
  const port = await freePort();
  const file = join(folder.path, 'Caddyfile');
  const text = readFileSync(FILE, 'utf8')
    .replace('auto_https disable_redirects', 'auto_https off\n\tadmin off')
    .replace(/^api\.example\.com/m, `http://127.0.0.1:${port}`)
    .replace('reverse_proxy 127.0.0.1:8080', `reverse_proxy 127.0.0.1:${servicePort}`);
  writeFileSync(file, text);
  const env = { PATH: process.env.PATH ?? '', HOME: folder.path };
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], { env, stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await untilTrue(() => {
    assert.equal(child.exitCode, null, 'Caddy ended by itself');
    return fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  }, 'Caddy');
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await once(child, 'exit');
      folder[Symbol.dispose]();
    },
  };
}
