import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { untilTrue } from '../clock.ts';
import { temporaryFolder } from '../folder.ts';
import { text } from './files.ts';
import { freePort } from './port.ts';

export interface TestNginx extends AsyncDisposable {
  readonly port: number;
  /** The certificate, which is its own authority; PEM. */
  readonly ca: string;
  /** What it wrote of the requests so far. */
  log(): string;
}

/**
 * The nginx of `deploy/nginx` on a free port of the loopback, in front of a service, or of several. The files are as
 * they are delivered, but for their paths, the ports and the second listener.
 */
export async function startNginx(...servicePorts: readonly string[]): Promise<TestNginx> {
  const upstream = upstreamOf(servicePorts, text(`nginx/upstream${servicePorts.length > 1 ? '.scaled' : ''}.conf`));
  return startSite('nginx/pet-catalog.conf', (site, folder) => {
    return `${upstream}\n${replaced(site, [['/var/log/nginx', folder]])}`;
  });
}

/** nginx with a delivered site on a free port of the loopback; `adapt` changes the addresses and paths in its text. */
export async function startSite(file: string, adapt: (site: string, folder: string) => string): Promise<TestNginx> {
  const folder = temporaryFolder();
  const port = await freePort();
  mkdirSync(join(folder.path, 'tls'));
  const ca = selfSigned(join(folder.path, 'tls'));
  const site = replaced(text(file), [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['listen [::]:443 ssl;', ''],
    ['/etc/pet-catalog/tls', join(folder.path, 'tls')],
  ]);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder.path, kind)};`,
  );
  const main = [
    'daemon off;',
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `pid ${join(folder.path, 'nginx.pid')};`,
    'worker_processes 1;',
    'events { worker_connections 8192; }',
    `http { ${temporary.join(' ')}\n${adapt(site, folder.path)}\n}`,
  ];
  const path = join(folder.path, 'nginx.conf');
  writeFileSync(path, main.join('\n'));
  const child = spawn('nginx', ['-c', path, '-e', join(folder.path, 'error.log')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  await untilTrue(() => {
    assert.equal(child.exitCode, null, `nginx ended by itself: ${told}`);
    return listens(port, ca);
  }, 'nginx');
  return {
    port,
    ca,
    log: () => readFileSync(join(folder.path, 'access.log'), 'utf8'),
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', kill);
      if (child.exitCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      folder[Symbol.dispose]();
    },
  };
}

/** The upstream with the delivered servers for each port. */
function upstreamOf(ports: readonly string[], upstream: string): string {
  const options = new Set([...upstream.matchAll(/^ *server \S+:8080(.*)$/gm)].map(([, each]) => each));
  assert.ok(options.size > 0);
  const servers = [...options].flatMap((each) => ports.map((port) => `server 127.0.0.1:${port}${each}`)).join('\n');
  return upstream.replaceAll(/^ *server .*\n/gm, '').replace(/^}/m, `${servers}\n}`);
}

/** Replaces texts, each of which must be there. */
export function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((changed, [from, to]) => {
    assert.ok(changed.includes(from), `the file does not have ${from}`);
    return changed.replaceAll(from, to);
  }, text);
}

/** Writes a certificate for the loopback and its key into a folder; gives the certificate. */
export function selfSigned(folder: string): string {
  const [certificate, key] = [join(folder, 'fullchain.pem'), join(folder, 'privkey.pem')];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = spawnSync('openssl', [...args, ...names, '-keyout', key, '-out', certificate], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return readFileSync(certificate, 'utf8');
}

function listens(port: number, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca }, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('secureConnect', () => socket.destroy());
  });
}
