import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/**
 * The budget: what the house may weigh, in lines of TypeScript. A feature brings a removal of its size; what goes are
 * features, concepts and doors, never blank lines, names or clarity.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Lines that a count may lie below its number. Beyond, the number is lowered; none is ever raised. */
const SLACK_LINES = 100;

/** Each number is a ceiling. Lower it in the commit that takes lines away. */
const BUDGETS = [
  { name: 'service', lines: 25_237, depth: 2, files: filesIn('src').filter(isProduction) },
  { name: 'referee', lines: 5_529, depth: 3, files: filesIn('referee/src').filter(isProduction) },
  {
    name: 'tests',
    lines: 42_934,
    depth: 2,
    files: filesIn('{src,referee/src,test,referee/test}').filter((file) => !/(^|\/)src\//.test(file) || isTest(file)),
  },
];

for (const { name, lines: budget, depth, files } of BUDGETS) {
  test(`${name}: at most ${budget} lines`, (context) => {
    const rooms = new Map<string, number>();
    for (const file of files) {
      const room = file.split('/').slice(0, -1).slice(0, depth).join('/');
      rooms.set(room, (rooms.get(room) ?? 0) + linesOf(file));
    }
    const count = [...rooms.values()].reduce((sum, lines) => sum + lines, 0);
    for (const [room, lines] of [...rooms].sort()) context.diagnostic(`${lines} ${room}`);
    context.diagnostic(`${count} in all`);
    assert.ok(count > SLACK_LINES, 'there is nothing to count');
    assert.ok(count <= budget, `${count} lines, ${count - budget} above the budget: remove as much as was added`);
    assert.ok(budget - count < SLACK_LINES, `${count} lines: lower the budget from ${budget}`);
  });
}

function filesIn(folders: string): string[] {
  return globSync(`${folders}/**/*.ts`, { cwd: ROOT });
}

function isTest(file: string): boolean {
  return file.endsWith('.test.ts');
}

function isProduction(file: string): boolean {
  return !isTest(file);
}

function linesOf(file: string): number {
  return readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
}
