import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Installation, installNode, installPackages } from '../kit/deploy/installation.ts';
import { noRegistry } from '../kit/deploy/programs.ts';
import { type RunOptions, runProcess, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

/**
 * Both packages where they will live: packed, installed from the registry in an empty folder, and used there under the
 * Node.js of the checkout and the oldest that `engines` allows.
 */

const INSTALLED_BYTES_MAX = 60_000_000;
const BLOCK_BYTES = 4_096;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OLDEST = /"node": "\^(\d+\.\d+) /.exec(readFileSync(join(ROOT, 'package.json'), 'utf8'))?.[1];

const skip = noRegistry();
const folder = temporaryFolder();
let installation: Installation;

before(() => {
  if (!skip) installation = installPackages(folder.path);
});
after(() => folder[Symbol.dispose]());

test('the installation takes at most 60 MB of the disk, and brings no Node.js', { skip }, () => {
  const modules = join(installation.path, 'node_modules');
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const blocks = files.map(({ parentPath, name }) => Math.ceil(statSync(join(parentPath, name)).size / BLOCK_BYTES));
  const bytes = blocks.reduce((sum, some) => sum + some, 0) * BLOCK_BYTES;
  assert.ok(bytes > 10_000_000 && bytes <= INSTALLED_BYTES_MAX, `${bytes} bytes`);
  assert.deepEqual(
    readdirSync(modules).filter((name) => /^node-|^typescript/.test(name)),
    [],
  );
});

test('npx runs the packed file, where nothing else is', { skip }, async () => {
  const packed = readdirSync(folder.path).find((name) => /^pet-catalog-\d.*\.tgz$/.test(name)) ?? '';
  const cwd = join(folder.path, 'packed');
  mkdirSync(cwd);
  copyFileSync(join(folder.path, packed), join(cwd, packed));
  // npx keeps what it installs in its cache.
  const env = { ...installation.under(process.execPath).env, npm_config_cache: join(folder.path, 'cache') };
  const npx = { cwd, env, command: ['npx', '--yes', `./${packed}`] } as const;
  const { code, stdout, stderr } = await runProcess(['version'], npx);
  assert.deepEqual([code, stdout], [0, `${/\d+\.\d+\.\d+/.exec(packed)}\n`], stderr);
});

describe('under each Node.js', { skip, concurrency: true }, () => {
  for (const version of ['of the checkout', `${OLDEST}.0`]) {
    test(version, async () => {
      const node = version.startsWith('of') ? process.execPath : installNode(folder.path, version);
      const options = installation.under(node);
      await startByNpx(options);
      await useService(options);
      for (const type of ['module', 'commonjs']) {
        const load = type === 'module' ? 'await import' : 'require';
        const code = `console.log(typeof (${load}('@pet-catalog/client')).PetCatalog)`;
        const command = [node, `--input-type=${type}`, '--eval', code] as const;
        assert.equal((await runProcess([], { ...options, command })).stdout, 'function\n');
      }
    });
  }
});

/** What a newcomer types. A signal to `npx` reaches the service. */
async function startByNpx(options: Required<RunOptions>): Promise<void> {
  const npx = { ...options, command: ['npx', '--no-install', 'pet-catalog'] } as const;
  const service = await serveProcess(['--ephemeral'], npx);
  await service.end();
  assert.match(service.output.stderr, /"event":"stopped"/);
}

/** Every command and page, beside a service. */
async function useService(options: Required<RunOptions>): Promise<void> {
  const ran = new Set<string>();
  const command = async (...args: string[]) => {
    ran.add(
      args
        .filter((arg) => /^[a-z][a-z-]*$/.test(arg))
        .slice(0, 2)
        .join(' '),
    );
    const { code, stdout, stderr } = await runProcess(args, options);
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout.trim();
  };
  ran.add('serve');
  await using service = await serveProcess(['--demo'], options);
  const secret = await command('keys', 'create', '--name', 'shop', '--plan', 'business');
  await request(service, secret);
  await readPages(service, await command('console', 'login'));
  await useKeys(command);
  writeFileSync(join(options.cwd, 'some.csv'), 'name,description\nCat,\nRabbit,Quiet\n');
  await command('categories', 'import', 'some.csv');
  const last = (await command('categories', 'export', '--format', 'ndjson')).split('\n').at(-1) ?? '';
  const { id, name } = JSON.parse(last);
  assert.equal(name, 'Rabbit');
  await command('categories', 'rename', `${id}`, 'Hare');
  await command('categories', 'delete', `${id}`);
  const alone = [['categories', 'list'], ['usage'], ['audit'], ['backup', 'copy.db'], ['migrate'], ['doctor']];
  await Promise.all([...alone, ['config'], ['openapi'], ['version']].map((args) => command(...args)));
  await service.end();
  await command('restore', 'copy.db');
  await command('transfer', '--from', 'sqlite:data/pet-catalog.db', '--to', 'sqlite:other.db');
  const left = (await commandsOf(options)).filter((each) => !ran.has(each));
  assert.deepEqual(left, []);
}

async function useKeys(command: (...args: string[]) => Promise<string>): Promise<void> {
  const { id } = JSON.parse(await command('keys', 'create', '--name', 'other', '--json'));
  await command('keys', 'rotate', id, '--grace', '24h');
  await command('keys', 'set-plan', id, 'pro');
  await command('keys', 'update', id, '--name', 'another');
  await Promise.all([command('requests'), command('why', id)]);
  for (const verb of ['show', 'unban', 'end-graces', 'pause', 'resume', 'revoke']) await command('keys', verb, id);
  assert.match(await command('keys', 'list'), /another .* revoked/);
  const token = await command('operators', 'create', '--name', 'ci', '--role', 'viewer');
  assert.match(token, /^petcat_op_/);
  const [, operator = ''] = /^(op_\S+)/m.exec(await command('operators', 'list')) ?? [];
  await command('operators', 'revoke', operator);
  const [session] = JSON.parse(await command('sessions', 'list', '--json'));
  await command('sessions', 'end', session.id);
}

/** The commands that the help of the program and of its groups lists. */
async function commandsOf(options: RunOptions): Promise<string[]> {
  const listed = async (...group: string[]) => {
    const { stdout } = await runProcess([...group, '--help'], options);
    const [, commands = ''] = stdout.split('\nCommands:\n');
    return [...commands.matchAll(/^ {2}([a-z-]+)( \[options\])?/gm)].filter(([, name]) => name !== 'help');
  };
  const found = await Promise.all(
    (await listed()).map(async ([, name = '', isCommand]) =>
      isCommand ? [name] : (await listed(name)).map(([, member]) => `${name} ${member}`),
    ),
  );
  return found.flat().toSorted();
}

async function request(service: ServiceProcess, secret: string): Promise<void> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'Dog', description: 'Loyal, social, needs walks' });
  const created = await fetch(`${service.url}/categories`, { method: 'POST', headers, body });
  assert.equal(created.status, 201);
  const got = await fetch(new URL(created.headers.get('location') ?? '', service.url), { headers });
  assert.deepEqual([got.status, await got.json()], [200, await created.json()]);
}

/** Follows every link of guide, reference, texts, operator reference and console. */
async function readPages(service: ServiceProcess, login: string): Promise<void> {
  const pages = await crawl(service.url, ['/docs', '/llms.txt', '/.well-known/api-catalog', '/livez', '/readyz']);
  for (const page of ['/docs/reference', '/docs/limits.md', '/openapi.yaml']) assert.ok(pages.includes(page), page);
  const link = new URL(login);
  const body = new URLSearchParams({ token: link.searchParams.get('token') ?? '' });
  const opened = await fetch(new URL('/console/login', link), { method: 'POST', body, redirect: 'manual' });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const shown = await crawl(login, ['/console', '/docs', '/openapi.json', '/metrics', '/livez', '/readyz'], cookie);
  for (const page of ['/console/keys', '/console/settings', '/console/requests']) assert.ok(shown.includes(page), page);
}

/** Reads pages, and all that they lead to on the same listener. Returns their paths. */
async function crawl(from: string, paths: readonly string[], cookie = ''): Promise<string[]> {
  const { origin } = new URL(from);
  const seen = new Set(paths);
  for (const path of seen) {
    const response = await fetch(origin + path, { headers: { cookie } });
    const text = await response.text();
    assert.equal(response.status, 200, path);
    assert.ok(text.length > 0, path);
    const isHtml = response.headers.get('content-type')?.startsWith('text/html');
    const isText = /\.(md|txt)$/.test(path);
    const links = isHtml ? /(?:href|src)="([^"#?]+)/g : isText ? /\]\(([^)#\s]+)/g : undefined;
    for (const [, link = ''] of links ? text.matchAll(links) : []) {
      const url = URL.parse(link, origin + path);
      // What is quoted in an example is not served here, nor is the API itself.
      if (url?.origin === origin && !url.pathname.startsWith('/v1') && !/[{<]/.test(url.pathname))
        seen.add(url.pathname);
    }
  }
  return [...seen];
}

test('traces need what the refusal says to install, and no more', { skip }, async () => {
  const collected: string[] = [];
  const collector = createServer((request, response) => {
    collected.push(`${request.method} ${request.url}`);
    request.resume().once('end', () => response.end('{}'));
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const options = installation.under(process.execPath);
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const traced = { ...options, env: { ...options.env, PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: url } };
  const refused = await runProcess(['serve', '--ephemeral'], traced);
  assert.equal(refused.code, 1);
  const install = /^ {2}(npm install .*)$/m.exec(refused.stderr)?.[1] ?? '';
  installation.run('sh', ['-c', install]);
  {
    await using service = await serveProcess(['--ephemeral'], traced);
    assert.equal((await fetch(`${service.url}/categories`)).status, 401);
    assert.equal(await service.end(), 0);
  }
  assert.deepEqual([...new Set(collected)], ['POST /v1/traces']);
  collector.close();
});
