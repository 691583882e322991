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

test('first come tests that are quick, call much of the module and little else, last those that only import it', () => {
  const [a, b] = ['0123456789', 'b'.repeat(1_000)];
  const map: Coverage[] = [
    {
      test: 'importing',
      digest: '',
      ms: 100,
      modules: { 'src/one/a.ts': run(a, [1, 10]), 'src/other/b.ts': run(b, [9, 1_000]) },
    },
    { test: 'broad', digest: '', ms: 100, modules: { 'src/one/a.ts': run(a, []), 'src/other/b.ts': run(b, []) } },
    { test: 'slow', digest: '', ms: 40_000, modules: { 'src/one/a.ts': run(a, []) } },
    { test: 'quick', digest: '', ms: 100, modules: { 'src/one/a.ts': run(a, []) } },
    { test: 'elsewhere', digest: '', ms: 100, modules: { 'src/one/a.ts': run(a, [2, 6]) } },
    { test: 'none of it', digest: '', ms: 100, modules: { 'src/other/b.ts': run(b, []) } },
  ];
  const of = (file: string, text: string, at: number) => {
    const { tests, isStale } = testsOf({ file, text, at }, map);
    return [isStale, ...tests.map((each) => each.test)];
  };
  assert.deepEqual(of('src/one/a.ts', a, 5), [false, 'quick', 'slow', 'broad']);
  assert.deepEqual(of('src/one/a.ts', a, 6), [false, 'quick', 'elsewhere', 'slow', 'broad']);
  assert.deepEqual(of('src/one/renamed.ts', a, 5), [false, 'quick', 'slow', 'broad']);
  const all = ['quick', 'elsewhere', 'slow', 'broad', 'importing'];
  assert.deepEqual(of('src/one/a.ts', a, 0), [false, ...all]);
  assert.deepEqual(of('src/one/a.ts', 'changed', 5), [true, ...all]);
});

test('at most eight narrow tests run, then at most eight of those that run most else', () => {
  const named = (test: string, ms: number, others: Record<string, number>): Coverage => ({
    test,
    digest: '',
    ms,
    modules: Object.fromEntries(
      Object.entries({ a: 1, ...others }).map(([file, size]) => [`src/${file}.ts`, run(file.repeat(size), [])]),
    ),
  });
  const map = [
    ...Array.from({ length: 20 }, (_, index) => named(`narrow ${index}`, 1 + index, { b: 10 })),
    named('broad', 100, { b: 10, c: 1_000 }),
    named('as broad, but slower', 400, { b: 10, c: 1_000 }),
    named('else', 100, { d: 500 }),
  ];
  const { tests } = testsOf({ file: 'src/a.ts', text: 'a', at: 0 }, map);
  assert.deepEqual(
    tests.slice(0, 11).map(({ test }) => test),
    [...Array.from({ length: 8 }, (_, index) => `narrow ${index}`), 'broad', 'else', 'narrow 8'],
  );
  assert.equal(tests.length, 16);
});
