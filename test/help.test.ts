import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './kit/process.ts';
import { temporaryFolder } from './kit/service.ts';

test('every command has a help: its usage, and its own options before the settings', async () => {
  using folder = temporaryFolder();
  const shown: string[] = [];
  const show = async (command: readonly string[]) => {
    const { code, stdout } = await run([...command, '--help'], { cwd: folder.path });
    assert.equal(code, 0, command.join(' '));
    assert.ok(stdout.startsWith(`Usage: ${['pet-catalog', ...command].join(' ')} `), stdout);
    const [own, settings] = [stdout.indexOf('\nOptions:'), stdout.indexOf('\nSettings:')];
    assert.ok(own > 0 && (settings < 0 || own < settings), stdout);
    shown.push(command.join(' '));
    const [, commands = ''] = /\nCommands:\n([\s\S]*)$/.exec(stdout) ?? [];
    for (const [, name = ''] of commands.matchAll(/^ {2}(\w[\w-]*)/gm))
      if (name !== 'help') await show([...command, name]);
  };
  await show([]);
  for (const command of ['serve', 'keys create', 'categories import', 'doctor']) assert.ok(shown.includes(command));
});

test('what the last release had says in one line where it went, and runs nothing', async () => {
  using folder = temporaryFolder();
  for (const [words, where] of [
    ['rehearse run -- npm test', '`rehearse` went in 0.3.0: `referee client`'],
    ['conformance http://127.0.0.1:1 --key k', '`conformance` went in 0.3.0: `referee server`'],
    ['clock advance 1h', '`clock` went in 0.3.0: '],
    ['defects --json', '`defects` went in 0.3.0: '],
    ['completion bash', '`completion` went in 0.3.0: '],
    ['doctor --repair', '`doctor --repair` went in 0.3.0: `sqlite3 FILE .recover`'],
    ['keys create --name x --rehearse ok,lost', '`keys create --rehearse` went in 0.3.0: `referee proxy`'],
    ['serve --ephemeral --grease=7', '`serve --grease` went in 0.3.0: `referee client`'],
    ['serve --defect create-is-200', '`serve --defect` went in 0.3.0: '],
  ] as const) {
    const { code, stdout, stderr } = await run(words.split(' '), { cwd: folder.path });
    assert.deepEqual([code, stdout, stderr.split('\n').length], [2, '', 2], stderr);
    assert.ok(stderr.startsWith(`pet-catalog: ${where}`), stderr);
  }
});
