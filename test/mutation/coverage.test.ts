import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempDisposableSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Coverage, digestOf, runsIn, testsOf, unrunInBoth, unrunOf } from './coverage.ts';

const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });

test('the innermost range around a place says whether it ran', () => {
  const [all, ran, block, inBlock, unused] = [
    range(0, 100, 1),
    range(10, 60, 3),
    range(20, 40, 0),
    range(30, 35, 2),
    range(60, 80, 0),
  ];
  assert.deepEqual(unrunOf([all, ran, block, inBlock, unused]), [20, 30, 35, 40, 60, 80]);
  assert.deepEqual(unrunOf([unused, inBlock, block, ran, all]), [20, 30, 35, 40, 60, 80]);
  assert.deepEqual(unrunOf([all, range(20, 40, 0), range(40, 50, 0), range(42, 44, 0)]), [20, 50]);
  assert.deepEqual(unrunOf([all]), []);
});

test('a place did not run if no process ran it', () => {
  assert.deepEqual(unrunInBoth([0, 10, 20, 30], [5, 25]), [5, 10, 20, 25]);
  assert.deepEqual(unrunInBoth([0, 10, 20, 30], [10, 20]), []);
  assert.deepEqual(unrunInBoth([0, 10], []), []);
});

test('what a process and its child ran of a module is found at the offsets of its source', () => {
  using folder = mkdtempDisposableSync(join(realpathSync(tmpdir()), 'coverage-'));
  const [root, reports] = [join(folder.path, 'root'), join(folder.path, 'reports')];
  mkdirSync(join(root, 'src'), { recursive: true });
  const text = `export const one = (n: number): number => n + 1;
export function two(n: number): string {
  if (n > 1) return 'more';
  return 'one';
}
export const three = (): void => {};
`;
  writeFileSync(join(root, 'src/a.ts'), text);
  writeFileSync(join(root, 'src/a.test.ts'), '');
  writeFileSync(join(root, 'child.ts'), "import { one } from './src/a.ts';\none(1);\n");
  writeFileSync(
    join(root, 'main.ts'),
    `import { spawnSync } from 'node:child_process';
import './src/a.test.ts';
import { two } from './src/a.ts';
two(1);
spawnSync(process.execPath, ['child.ts']);
`,
  );
  execFileSync(process.execPath, ['main.ts'], { cwd: root, env: { ...process.env, NODE_V8_COVERAGE: reports } });
  const modules = runsIn(reports, root);
  assert.deepEqual(Object.keys(modules), ['src/a.ts']);
  const map = [{ test: 'main', digest: '', ms: 1, modules }];
  const runs = (code: string) => testsOf({ file: 'src/a.ts', text, at: text.indexOf(code) }, map).tests.length;
  assert.deepEqual(['export const one', 'n + 1', 'n > 1', "'more'", "'one'", '{};'].map(runs), [1, 1, 1, 0, 1, 0]);
});

const run = (text: string, unrun: number[]) => ({ digest: digestOf(text), characters: text.length, unrun });

test('first come tests that are quick and run little else, and at most sixteen', () => {
  const others = { 'src/b.ts': run('b'.repeat(1_000), []) };
  const map: Coverage[] = [
    { test: 'broad', digest: '', ms: 100, modules: { 'src/a.ts': run('0123456789', []), ...others } },
    { test: 'slow', digest: '', ms: 40_000, modules: { 'src/a.ts': run('0123456789', []) } },
    { test: 'quick', digest: '', ms: 100, modules: { 'src/a.ts': run('0123456789', []) } },
    { test: 'elsewhere', digest: '', ms: 100, modules: { 'src/a.ts': run('0123456789', [2, 6]) } },
    { test: 'none of it', digest: '', ms: 100, modules: others },
  ];
  const of = (file: string, text: string, at = 5) => {
    const { tests, isStale } = testsOf({ file, text, at }, map);
    return [isStale, ...tests.map((each) => each.test)];
  };
  assert.deepEqual(of('src/a.ts', '0123456789'), [false, 'quick', 'slow', 'broad']);
  assert.deepEqual(of('src/a.ts', '0123456789', 6), [false, 'quick', 'elsewhere', 'slow', 'broad']);
  assert.deepEqual(of('src/renamed.ts', '0123456789'), [false, 'quick', 'slow', 'broad']);
  assert.deepEqual(of('src/a.ts', 'changed'), [true, 'quick', 'elsewhere', 'slow', 'broad']);
  const many = Array.from({ length: 20 }, (_, index) => ({
    test: `${index}`,
    digest: '',
    ms: 20 - index,
    modules: { 'src/a.ts': run('a', []) },
  }));
  const { tests } = testsOf({ file: 'src/a.ts', text: 'a', at: 0 }, many);
  assert.deepEqual([tests.length, tests[0]?.test], [16, '19']);
});
