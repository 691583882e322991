import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from './kit/process.ts';
import { temporaryFolder } from './kit/service.ts';

/**
 * The help of every command, to the character, in help.txt. After a change that is meant:
 * `npx node --test --test-update-snapshots test/help.test.ts`, and read the difference.
 */

test('the help of every command is as it was', async (t) => {
  using folder = temporaryFolder();
  const helps: string[] = [];
  const show = async (command: readonly string[]) => {
    const { code, stdout } = await run([...command, '--help'], { cwd: folder.path });
    assert.equal(code, 0, command.join(' '));
    helps.push(stdout);
    const [, commands = ''] = /\nCommands:\n([\s\S]*)$/.exec(stdout) ?? [];
    for (const [, name = ''] of commands.matchAll(/^ {2}(\w[\w-]*)/gm))
      if (name !== 'help') await show([...command, name]);
  };
  await show([]);
  assert.ok(helps.length > 30);
  t.assert.fileSnapshot(helps.join('\n'), join(import.meta.dirname, 'help.txt'), { serializers: [String] });
});
