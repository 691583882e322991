import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { noRegistry } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { type RunOptions, runProcess, serveProcess } from '../kit/process.ts';
import { type Installation, installNode, installPackages } from './installation.ts';

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

/** A key, a create, a page of the guide and one of the console, and the commands that load most of what is packed. */
async function useService(options: Required<RunOptions>): Promise<void> {
  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await runProcess(args, options);
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout.trim();
  };
  await using service = await serveProcess(['--demo'], options);
  const secret = await command('keys', 'create', '--name', 'shop', '--plan', 'business');
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const created = await fetch(`${service.url}/categories`, { method: 'POST', headers, body: '{"name":"Dog"}' });
  assert.equal(created.status, 201);
  const { origin } = new URL(service.url);
  for (const path of ['/docs', '/docs/reference', '/docs/limits.md', '/openapi.yaml', '/llms.txt'])
    assert.equal((await fetch(origin + path)).status, 200, path);
  const link = new URL(await command('console', 'login'));
  const body = new URLSearchParams({ token: link.searchParams.get('token') ?? '' });
  const opened = await fetch(new URL('/console/login', link), { method: 'POST', body, redirect: 'manual' });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const console = await (await fetch(new URL('/console', link), { headers: { cookie } })).text();
  const assets = [...console.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)];
  assert.ok(assets.length >= 5);
  for (const [, asset = ''] of assets) assert.equal((await fetch(new URL(asset, link))).status, 200, asset);
  writeFileSync(join(options.cwd, 'some.csv'), 'name,description\nEel,\nRabbit,Quiet\n');
  await command('categories', 'import', 'some.csv');
  const last = (await command('categories', 'export', '--format', 'ndjson')).split('\n').at(-1) ?? '';
  assert.equal(JSON.parse(last).name, 'Rabbit');
  await Promise.all([['backup', 'copy.db'], ['doctor'], ['openapi'], ['usage']].map((args) => command(...args)));
  await service.end();
  await command('restore', 'copy.db');
  await command('transfer', '--from', 'sqlite:data/pet-catalog.db', '--to', 'sqlite:other.db');
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
