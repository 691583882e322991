import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openMachine } from '../kit/deploy/host.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';

/** The program of docs/operator-api.md, as it is pasted. */

const PAGE = readFileSync(join(fileURLToPath(new URL('../..', import.meta.url)), 'docs/operator-api.md'), 'utf8');

test('the program of the page issues, upgrades, rotates and revokes', {
  skip: missingPrograms('bash', 'curl'),
}, async () => {
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const lines = block.trim().split('\n');
  assert.ok(lines.length <= 12, 'ten lines between the two of the shell');
  await using machine = await openMachine();
  await machine.prepare('systemctl start pet-catalog');
  const operator = `http://${machine.names.get('127.0.0.1:8081')}`;
  await machine.prepare(`curl -fs --retry 60 --retry-delay 1 --retry-all-errors ${operator}/readyz`);
  const here = [...machine.names].reduce((text, [there, actual]) => text.replaceAll(there, actual), block);
  // A here-document cannot stand in the braces in which the shell of the runbook runs a command.
  const printed = await machine.prepare(`eval "$(cat <<'PASTED'\n${here}\nPASTED\n)"`);
  const key = 'petcat_live_[0-9A-Za-z]{36}';
  const [, first, second] = new RegExp(`^(${key}) pro (${key}) \\d{4}-\\d\\d-\\d\\dT[\\d:]+Z$`).exec(printed) ?? [];
  assert.ok(first && second && first !== second, printed);
  const audit = JSON.parse(await machine.prepare('pet-catalog audit --json')) as {
    action: string;
    actor: string;
  }[];
  assert.deepEqual(
    audit.slice(0, 4).map(({ action, actor }) => [action, actor]),
    ['key.revoke', 'key.rotate', 'key.update', 'key.create'].map((action) => [action, 'billing']),
  );
});
