import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { untilTrue } from '../clock.ts';
import { temporaryFolder } from '../service.ts';
import { freePort } from './port.ts';

/** The Caddyfile as it is delivered. */
export const CADDYFILE = fileURLToPath(new URL('../../../deploy/caddy/Caddyfile', import.meta.url));
/** Why tests with Caddy are left out. Not asked for on CI either: Debian's package would start a server on port 80. */
export const caddyMissing =
  spawnSync('caddy', ['version']).status !== 0 && 'caddy is not installed: these tests are left out';

/** Caddy with the delivered file on a free port, without TLS: its host name is an example. */
export async function startCaddy(servicePort: string): Promise<AsyncDisposable & { readonly url: string }> {
  const folder = temporaryFolder();
  const port = await freePort();
  const file = join(folder.path, 'Caddyfile');
  const text = readFileSync(CADDYFILE, 'utf8')
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
