import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingPrograms } from './kit/deploy/programs.ts';
import { COMMAND, runProcess } from './kit/process.ts';
import { temporaryFolder } from './kit/service.ts';

/** What a person at a terminal sees; `script` of util-linux is the terminal. */

const RED = '\x1b[31m';
const skip = missingPrograms('script');
const DOCTOR = `${process.execPath} ${COMMAND} doctor --port nowhere`;

test('problems are red on a terminal, unless NO_COLOR or --no-color is given', { skip }, async () => {
  using folder = temporaryFolder();
  const shown = async (command: string, env: Record<string, string> = {}) => {
    const terminal = ['script', '--quiet', '--return', '--command', command, '/dev/null'] as const;
    const { code, stdout } = await runProcess([], {
      cwd: folder.path,
      env: { TERM: 'xterm', ...env },
      command: terminal,
    });
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
  assert.equal((await shown(`${process.execPath} ${COMMAND} keys make`)).coloured.length, 1);
});

test('nothing is red in a pipe', async () => {
  using folder = temporaryFolder();
  const { stdout, stderr } = await runProcess(['doctor', '--port', 'nowhere'], { cwd: folder.path });
  assert.ok(!`${stdout}${stderr}`.includes('\x1b'));
});
