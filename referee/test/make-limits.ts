import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { untilTrue } from '../../test/kit/clock.ts';
import { freePort } from '../../test/kit/deploy/port.ts';
import type { Report } from '../src/limits/rule.ts';
import { runReferee } from './kit/fixtures.ts';

/** Writes docs/limits.md: installs the limiters of examples/limiters into a temporary folder, and judges each. */

interface Limiter {
  readonly name: string;
  readonly file: string;
  /** From npm; the first is the limiter. */
  readonly packages: readonly string[];
  /** Of the program, as JSON; of nginx, lines of its configuration. */
  readonly options?: string | object;
}

const PAGE = new URL('../docs/limits.md', import.meta.url);
const PROGRAMS = fileURLToPath(new URL('../examples/limiters', import.meta.url));
const LIMITERS: readonly Limiter[] = JSON.parse(readFileSync(join(PROGRAMS, 'limiters.json'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'limiters-'));

// The workers of nginx may be another user.
chmodSync(folder, 0o755);

try {
  cpSync(PROGRAMS, folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const packages = new Set(LIMITERS.flatMap((limiter) => limiter.packages));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], { cwd: folder });
  const rows: string[] = [];
  for (const limiter of LIMITERS) rows.push(rowOf(limiter, await judged(limiter)));
  const page = readFileSync(PAGE, 'utf8');
  const table = ['| limiter | version | headers found | broken |', '|---|---|---|---|', ...rows].join('\n');
  writeFileSync(PAGE, page.replace(/\| limiter +\|[\s\S]*?\n(?=\n|$)/, `${table}\n`));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function judged(limiter: Limiter): Promise<Report> {
  const port = await freePort();
  const [command = '', ...args] = commandOf(limiter, port);
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  try {
    const probe = { headers: { 'X-Api-Key': 'probe' } };
    await untilTrue(async () => (await fetch(`http://127.0.0.1:${port}/`, probe).catch(() => undefined)) !== undefined);
    const options = ['--header', 'X-Api-Key: one', '--other-header', 'X-Api-Key: other', '--second', 'POST / {}'];
    const { stdout, stderr } = await runReferee([
      'limits',
      `http://127.0.0.1:${port}/`,
      ...options,
      ...['--window', '10', '--full', '--json'],
    ]);
    if (stdout === '') throw new Error(`${limiter.file}, ${limiter.name}: ${stderr}`);
    return JSON.parse(stdout);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

function commandOf({ file, options }: Limiter, port: number): string[] {
  const own = join(folder, file);
  if (file.endsWith('.mjs')) return [process.execPath, own, `${port}`, JSON.stringify(options ?? {})];
  const text = readFileSync(join(PROGRAMS, file), 'utf8').replaceAll('FOLDER', folder).replaceAll('PORT', `${port}`);
  writeFileSync(own, text.replace(/^#.*\n/, '').replace('OPTIONS', `${options}`));
  return file === 'haproxy.cfg' ? ['haproxy', '-db', '-f', own] : ['nginx', '-p', folder, '-c', own];
}

function rowOf({ name, file, packages: [own] }: Limiter, { family, rules }: Report): string {
  const broken = rules.filter(({ verdict }) => verdict === 'failed').map(({ id, message }) => `\`${id}\`: ${message}`);
  const limiter = own ?? (file === 'haproxy.cfg' ? 'HAProxy `http_req_rate`' : 'nginx `limit_req`');
  return `| ${limiter}, ${name} | ${versionOf(own, file)} | ${family} | ${broken.join('<br>') || '–'} |`;
}

function versionOf(own: string | undefined, file: string): string {
  if (own !== undefined)
    return JSON.parse(readFileSync(join(folder, 'node_modules', own, 'package.json'), 'utf8')).version;
  // nginx prints its version on stderr.
  const said = execFileSync('sh', ['-c', file === 'haproxy.cfg' ? 'haproxy -v' : 'nginx -v 2>&1']).toString();
  return /\d+\.\d+\.\d+/.exec(said)?.[0] ?? '';
}
