import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { missingPrograms } from './kit/deploy/programs.ts';
import { temporaryFolder } from './kit/folder.ts';
import { COMMAND, run, runProcess } from './kit/process.ts';

/** What a person at a terminal sees; `script` of util-linux is the terminal. */

const skip = missingPrograms('script');
const PROGRAM = `'${process.execPath}' '${COMMAND}'`;
const terminalOf = (command: string) => ['script', '--quiet', '--return', '--command', command, '/dev/null'] as const;

/** Runs a command of the shell on a terminal. */
function onTerminal(command: string, { cwd, env = {} }: { cwd: string; env?: Record<string, string> }) {
  return runProcess([], { cwd, env: { TERM: 'xterm', ...env }, command: terminalOf(command) });
}

test('an import shows on a terminal how far it is', { skip }, async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  writeFileSync(join(cwd, 'names.ndjson'), '{"name":"c"}\n'.repeat(150));
  await run(['migrate'], { cwd });
  const importing = `${PROGRAM} categories import names.ndjson`;
  const shown = await onTerminal(importing, { cwd });
  assert.equal(shown.stdout, 'Importing 66 %\rImporting 100 %\rImported 150 categories\r\n');
});

test('a reader that closes a pipe early, as `head` does, is no failure', async () => {
  using folder = temporaryFolder();
  for (const [command, closed, open] of [
    ['openapi', 'stdout', 'stderr'],
    ['migrate', 'stderr', 'stdout'],
  ] as const) {
    const child = spawn(process.execPath, [COMMAND, command], { cwd: folder.path, stdio: ['ignore', 'pipe', 'pipe'] });
    const [told, ended] = [text(child[open]), once(child, 'close')];
    child[closed].destroy();
    assert.deepEqual([await ended, await told], [[0, null], ''], closed);
  }
});

test('a command that npm starts ends once it is done', () => {
  using folder = temporaryFolder();
  const env = { PATH: process.env.PATH ?? '', npm_lifecycle_event: 'npx' };
  const { status } = spawnSync(process.execPath, [COMMAND, 'version'], { cwd: folder.path, env, timeout: 20_000 });
  assert.equal(status, 0);
});

test('an unreadable .env is told as a mistake in the settings', async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, '.env'));
  const { code, stderr } = await runProcess(['config'], { cwd: folder.path });
  assert.deepEqual([code, /^pet-catalog: \.env: cannot read it: EISDIR: /.test(stderr)], [2, true], stderr);
});
