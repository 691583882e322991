import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { untilTrue } from '../clock.ts';
import { temporaryFolder } from '../folder.ts';
import { freePort } from './port.ts';

/** The Caddyfile as it is delivered. */
export const CADDYFILE = fileURLToPath(new URL('../../../deploy/caddy/Caddyfile', import.meta.url));

/**
 * Caddy with the delivered file on a free port, in front of a service, or of several with the lines for that, without
 * TLS: its host name is an example.
 */
export async function startCaddy(
  ...servicePorts: readonly string[]
): Promise<AsyncDisposable & { readonly url: string }> {
  const port = await freePort();
  const upstreams = servicePorts.map((each) => `127.0.0.1:${each}`).join(' ');
  const file = readFileSync(CADDYFILE, 'utf8');
  const forSeveral = servicePorts.length > 1 ? file.match(/(?<=^\t#)\t(lb|health)_.*$/gm)?.join('\n') : '';
  assert.notEqual(forSeveral, undefined);
  const text = file
    .replace('auto_https disable_redirects', 'auto_https off\n\tadmin off')
    .replace(/^api\.example\.com/m, `http://127.0.0.1:${port}`)
    .replace(/^:443/m, `http://:${port}`)
    .replace('reverse_proxy 127.0.0.1:8080 {', `reverse_proxy ${upstreams} {\n${forSeveral}`);
  return runCaddy(text, `http://127.0.0.1:${port}`, '/livez');
}

/** Caddy with a file, which listens at `url`, once a page of it is answered. */
export async function runCaddy(text: string, url: string, page: string) {
  const folder = temporaryFolder();
  const path = join(folder.path, 'Caddyfile');
  writeFileSync(path, text);
  const env = { PATH: process.env.PATH ?? '', HOME: folder.path };
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', path], { env, stdio: 'ignore' });
  await untilTrue(() => {
    assert.equal(child.exitCode, null, 'Caddy ended by itself');
    return fetch(`${url}${page}`).then(
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
