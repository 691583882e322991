import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { missingPrograms } from '../../test/kit/deploy/programs.ts';
import { run } from '../../test/kit/process.ts';

/** The words that bash offers at the end of a command line. */
function offered(script: string, words: readonly string[]): string[] {
  const line = `COMP_WORDS=(pet-catalog ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`;
  const code = `${script}\n${line}; _pet_catalog; printf '%s\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', code], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim().split('\n');
}

test('bash completes commands, their own flags, and the place of a command behind flags', {
  skip: missingPrograms('bash'),
}, async () => {
  const { code, stdout } = await run(['completion', 'bash'], { cwd: tmpdir() });
  assert.equal(code, 0);
  assert.deepEqual(offered(stdout, ['ser']), ['serve']);
  assert.deepEqual(offered(stdout, ['keys', 're']), ['revoke']);
  assert.deepEqual(offered(stdout, ['keys', 'r']), ['rotate', 'revoke']);
  assert.deepEqual(offered(stdout, ['keys', 'rotate', '--gr']), ['--grace']);
  assert.deepEqual(offered(stdout, ['keys', '--environment', 'staging', 'un']), ['unban']);
  assert.deepEqual(offered(stdout, ['serve', '--thr']), [''], 'a setting without effect is not offered');
  assert.ok(offered(stdout, ['']).includes('doctor'));
  const rotate = ['--json', '--database-url', '--environment', '--rehearsal', '--grace', '--help'];
  assert.deepEqual(offered(stdout, ['keys', 'rotate', '--']), rotate);
  assert.deepEqual(offered(stdout, ['keys', 'rotate', 'create', '--']), rotate, 'an operand is no command');
  assert.deepEqual(offered(stdout, ['clock', '']), ['show', 'advance', 'set', '--help']);
  assert.deepEqual(offered(stdout, ['restore', import.meta.filename.slice(0, -3)]), [import.meta.filename]);
});

test('fish gets a line for each word, and an unknown shell a usage error', async () => {
  const fish = await run(['completion', 'fish'], { cwd: tmpdir() });
  const create =
    /^complete -c pet-catalog -n '__fish_seen_subcommand_from keys; and not __fish_seen_subcommand_from [a-z -]*' -f -a create -d '[^']+'$/m;
  assert.match(fish.stdout, create);
  const place = '__fish_seen_subcommand_from console; and not __fish_seen_subcommand_from login';
  assert.deepEqual(
    fish.stdout
      .split('\n')
      .filter((line) => line.includes('from console'))
      .slice(0, 2),
    [
      `complete -c pet-catalog -n '${place}' -f -a login -d 'Print a link that opens one session of the console, within ten minutes'`,
      `complete -c pet-catalog -n '${place}' -l help -d 'show the help'`,
    ],
  );
  assert.match(
    fish.stdout,
    /^complete -c pet-catalog -n 'not __fish_seen_subcommand_from serve keys [\w ]+' -f -a serve /,
  );
  assert.match(fish.stdout, /from operators; and not __fish_seen_subcommand_from create list revoke' -f -a list -d /);
  assert.match(fish.stdout, /^complete .*from keys; and __fish_seen_subcommand_from rotate' -l grace -d '[^']+'$/m);
  // An apostrophe within a quoted text would end it.
  const line = /^complete -c pet-catalog -n '[^']+' (?:-f -a [\w-]+|-l [\w-]+) -d '[^']+'$/;
  assert.deepEqual(
    fish.stdout
      .trim()
      .split('\n')
      .filter((each) => !line.test(each)),
    [],
  );
  assert.match(fish.stdout, / -l owner -d 'the customer’s own id'$/m);
  const zsh = await run(['completion', 'zsh'], { cwd: tmpdir() });
  assert.match(zsh.stdout, /^autoload -U \+X compinit && compinit\n[\s\S]*\ncomplete -F _pet_catalog pet-catalog\n$/);
  const { code, stderr } = await run(['completion', 'tcsh'], { cwd: tmpdir() });
  assert.deepEqual(
    [code, stderr],
    [2, 'pet-catalog: There is no completion for tcsh; the shells are bash, zsh, fish\n'],
  );
});
