import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { untilTrue } from './kit/clock.ts';
import { missingPrograms } from './kit/deploy/programs.ts';
import { COMMAND, run, runProcess } from './kit/process.ts';
import { temporaryFolder } from './kit/service.ts';

/** What a person at a terminal sees; `script` of util-linux is the terminal. */

const RED = '\x1b[31m';
const skip = missingPrograms('script');
const PROGRAM = `'${process.execPath}' '${COMMAND}'`;
const DOCTOR = `${PROGRAM} doctor --port nowhere`;
const terminalOf = (command: string) => ['script', '--quiet', '--return', '--command', command, '/dev/null'] as const;

/** Runs a command of the shell on a terminal. */
function onTerminal(command: string, { cwd, env = {} }: { cwd: string; env?: Record<string, string> }) {
  return runProcess([], { cwd, env: { TERM: 'xterm', ...env }, command: terminalOf(command) });
}

test('problems are red on a terminal, unless NO_COLOR or --no-color is given', { skip }, async () => {
  using folder = temporaryFolder();
  const shown = async (command: string, env: Record<string, string> = {}) => {
    const { code, stdout } = await onTerminal(command, { cwd: folder.path, env });
    return { code, coloured: stdout.split(/\r?\n/).filter((line) => line.includes('\x1b')) };
  };
  const { code, coloured } = await shown(DOCTOR);
  assert.equal(code, 1);
  assert.deepEqual(
    coloured.map((line) => line.split(': ')[0]),
    [`${RED}PROBLEM \x1b[39msettings`, `${RED}pet-catalog:\x1b[39m 1 of 2 checks found problems`],
  );
  assert.deepEqual(await shown(DOCTOR, { NO_COLOR: '1' }), { code: 1, coloured: [] });
  assert.deepEqual(await shown(`${DOCTOR} --no-color`), { code: 1, coloured: [] });
});

test('what is told on a terminal is red there, wherever stdout goes', { skip }, async () => {
  using folder = temporaryFolder();
  const settings = '--port 0 --operator-port 0 --backup-dir /dev/null/none';
  const serve = `echo $$ > pid; exec ${PROGRAM} serve ${settings} > out`;
  const [program, ...args] = terminalOf(serve);
  const terminal = spawn(program, args, {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(terminal, 'close');
  let told = '';
  terminal.stdout.setEncoding('utf8').on('data', (some: string) => {
    told += some;
  });
  try {
    await untilTrue(() => told.includes('listening on ') && told.includes('backup_failed'));
  } finally {
    process.kill(Number(readFileSync(join(folder.path, 'pid'), 'utf8')), 'SIGTERM');
    await ended;
  }
  assert.ok(told.includes(`${RED}ERROR\x1b[39m backup_failed `), told);
});

test('an import shows on a terminal how far it is, and in a pipe nothing', { skip }, async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  writeFileSync(join(cwd, 'names.ndjson'), '{"name":"c"}\n'.repeat(150));
  await run(['migrate'], { cwd });
  const importing = `${PROGRAM} categories import names.ndjson`;
  const shown = await onTerminal(importing, { cwd });
  const line = (full: number, share: number) =>
    `\rImporting ${'█'.repeat(full)}${'░'.repeat(30 - full)} ${share} %\x1b[K`;
  assert.equal(shown.stdout, `${line(20, 66)}${line(30, 100)}\r\nImported 150 categories\r\n`);
  const { stderr } = await runProcess(['categories', 'import', 'names.ndjson'], { cwd });
  assert.equal(stderr, 'Imported 150 categories\n');
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
