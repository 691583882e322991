import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../src/limits/rule.ts';
import { runReferee, untilTrue } from './kit/fixtures.ts';
import { LIMITERS, type RegistryLimiter } from './registry/limiters.ts';

/** Writes docs/limits.md: installs limiters of the registry into a temporary folder, and judges each. */

const PAGE = new URL('../docs/limits.md', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'limiters-'));

// The workers of nginx may be another user.
chmodSync(folder, 0o755);

try {
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const packages = new Set(LIMITERS.flatMap((limiter) => limiter.packages));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], { cwd: folder });
  const rows: string[] = [];
  for (const limiter of LIMITERS) rows.push(rowOf(limiter, await judged(limiter)));
  const page = readFileSync(PAGE, 'utf8');
  const table = ['| limiter | version | headers found | broken |', '|---|---|---|---|', ...rows].join('\n');
  writeFileSync(PAGE, page.replace(/\| limiter \|[\s\S]*?\n(?=\n|$)/, `${table}\n`));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function judged(limiter: RegistryLimiter): Promise<Report> {
  const port = await freePort();
  const isNginx = limiter.packages.length === 0;
  const file = join(folder, isNginx ? 'nginx.conf' : 'server.js');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  writeFileSync(
    file,
    isNginx
      ? `pid ${folder}/nginx.pid; daemon off; error_log /dev/null; events {}\nhttp { access_log off; ${paths.join(' ')}\n${limiter.code.replaceAll('FOLDER', folder).replace('PORT', `${port}`)} }`
      : `const port = ${port};\n${limiter.code}`,
  );
  const [command = '', ...args] = isNginx ? ['nginx', '-p', folder, '-c', file] : [process.execPath, file];
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    await untilTrue(() => accepts(port));
    const options = ['--header', 'X-Api-Key: one', '--other-header', 'X-Api-Key: other', '--second', 'POST / {}'];
    const { stdout, stderr } = await runReferee([
      'limits',
      `http://127.0.0.1:${port}/`,
      ...options,
      ...['--window', '10', '--full', '--json'],
    ]);
    if (stdout === '') throw new Error(`${limiter.packages[0] ?? 'nginx'}, ${limiter.name}: ${stderr}`);
    return JSON.parse(stdout);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

function rowOf({ name, packages: [own] }: RegistryLimiter, { family, rules }: Report): string {
  const broken = rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `\`${id}\`: ${seen}`);
  return `| ${own ?? 'nginx `limit_req`'}, ${name} | ${versionOf(own)} | ${family} | ${broken.join('<br>') || '–'} |`;
}

function versionOf(own: string | undefined): string {
  if (own !== undefined)
    return JSON.parse(readFileSync(join(folder, 'node_modules', own, 'package.json'), 'utf8')).version;
  // It prints its version on stderr.
  const said = execFileSync('sh', ['-c', 'nginx -v 2>&1']).toString();
  return /nginx\/(\S+)/.exec(said)?.[1] ?? '';
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => Boolean(socket.destroy()),
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
