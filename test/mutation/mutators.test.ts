import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, drawn, mutantsOf } from './mutators.ts';

/** The texts that the mutants of one make of it. */
function made(file: string, text: string): string[] {
  return mutantsOf(file, text).map((mutant) => changed(text, mutant));
}

test('numbers, members, arguments, conditions of SQL and entries of sets are changed, and only where code is', () => {
  for (const [text, ...mutants] of [
    ['const GRACE_MS = 8_000; // 7', 'const GRACE_MS = 16000; // 7'],
    ['let used: 0 | 1 = 0;', 'let used: 0 | 1 = 1;'],
    ["const text = 'at most 7';"],
    [
      'call({\n  one,\n  two: 2,\n});',
      'call({\n  one,\n  two: 4,\n});',
      'call({\n  two: 2,\n});',
      'call({\n  one,\n});',
    ],
    ['compare(server.now, now);', 'compare(now, server.now);'],
    ['function compare(one, other) {}'],
    [
      'sql`select min(at) from usage where period = 1 and at >= 5 order by at`;',
      'sql`select min(at) from usage where period = 1 order by at`;',
      'sql`select min(at) from usage where period = 1 and at > 5 order by at`;',
      'sql`select max(at) from usage where period = 1 and at >= 5 order by at`;',
    ],
    ["const ALL = ['a', 'b'] as const;", "const ALL = ['b'] as const;", "const ALL = ['a', ] as const;"],
  ] as const)
    assert.deepEqual(made('a.ts', text), mutants, text);
});

test('numbers, lines and flags of YAML are changed, and comments are not', () => {
  assert.deepEqual(made('a.yaml', 'a: # 1\n  b: 10s\n  c: true\n  - d\n'), [
    'a: # 1\n  b: 20s\n  c: true\n  - d\n',
    'a: # 1\n  c: true\n  - d\n',
    'a: # 1\n  b: 10s\n  - d\n',
    'a: # 1\n  b: 10s\n  c: true\n',
    'a: # 1\n  b: 10s\n  c: false\n  - d\n',
  ]);
});

test('of a long file forty mutants are tried, spread over it', () => {
  const text = Array.from({ length: 200 }, (_, index) => `const c${index} = ${index + 2};\n`).join('');
  const mutants = mutantsOf('a.ts', text);
  assert.equal(mutants.length, 40);
  assert.ok((mutants.at(-1)?.at ?? 0) > text.length * 0.9);
});

test('a seed always draws the same, whatever their order, and another seed others', () => {
  const all = Array.from({ length: 100 }, (_, index) => ({ module: 'a', mutant: { at: index, from: '1', to: '2' } }));
  const first = drawn(all, 10, 'one');
  assert.equal(new Set(first).size, 10);
  assert.deepEqual(drawn(all.toReversed(), 10, 'one'), first);
  assert.notDeepEqual(drawn(all, 10, 'two'), first);
});
