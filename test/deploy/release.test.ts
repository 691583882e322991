import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../kit/folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILES = [
  'build/release.ts',
  'build/bill-of-materials.ts',
  'package.json',
  'package-lock.json',
  'client/package.json',
  'client/src/transport.ts',
  'openapi.json',
];

test('a release says at once what has to be put right first, and makes nothing', (t) => {
  if (spawnSync('git', ['--version']).status !== 0) return t.skip('git is missing; install it to run this test');
  using folder = temporaryFolder();
  for (const file of FILES) cpSync(join(ROOT, file), join(folder.path, file));
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(
    join(folder.path, 'CHANGELOG.md'),
    `## [Unreleased]\n\n## [${version}] - 2026-12-01\n\n## [0.0.1] - 2026-01-01\n`,
  );
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder.path, stdio: 'pipe' });
  git('init', '--quiet');
  git('add', '--all');
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message', 'x');
  const release = () => {
    const { status, stderr } = spawnSync(process.execPath, ['build/release.ts', '--dry-run'], {
      cwd: folder.path,
      encoding: 'utf8',
    });
    return { status, problems: stderr.split('\n').filter((line) => line.startsWith('release: ')) };
  };

  const edit = (file: string, change: (text: string) => string) =>
    writeFileSync(join(folder.path, file), change(readFileSync(join(folder.path, file), 'utf8')));
  edit('package.json', (text) => text.replace(/"version": ".*?"/, '"version": "7.8.9"'));
  edit('package-lock.json', (text) =>
    text.replace('"version"', '"resolved": "https://registry.example/x",\n"version"'),
  );
  const wrong = release();
  assert.equal(wrong.status, 1);
  assert.deepEqual(wrong.problems, [
    'release: client/package.json is not at 7.8.9',
    'release: client/src/transport.ts does not name 7.8.9',
    'release: the working tree has changes; commit them',
    'release: CHANGELOG.md has no section "## [7.8.9] - YYYY-MM-DD"',
    'release: test/contracts/1.0.0.json is not a copy of openapi.json',
    `release: test/releases/${version} is missing; make it with npm run databases in a checkout of v${version}`,
    'release: package-lock.json names a registry',
  ]);
  assert.ok(!existsSync(join(folder.path, 'release')));

  git('checkout', '--quiet', '.');
  for (const made of ['test/contracts', 'test/releases/0.0.1']) mkdirSync(join(folder.path, made), { recursive: true });
  cpSync(join(ROOT, 'openapi.json'), join(folder.path, 'test/contracts/1.0.0.json'));
  assert.deepEqual(release().problems, ['release: the working tree has changes; commit them']);
});
