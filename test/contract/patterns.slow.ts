import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readContract } from '../kit/contract.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/folder.ts';

/** The patterns of both contracts match the same texts in every engine that callers generate code for. */

const PATTERNS = ['openapi.json', 'operator-openapi.json'].flatMap((file) => patternsIn(readContract<object>(file)));
const SOME = [
  ...'\0\u{1}\u{8}\t\v\f\r\u{e}\u{1f} !#,0:T~\u{7f}\u{80}\u{85}\u{a0}\u{ad}é\u{1680}\u{2000}\u{200a}\u{200b}\u{2028}',
  ...'\u{2029}\u{202f}\u{205f}\u{2060}\u{3000}\u{feff}\u{ffff}🐕',
];
const TEXTS = [
  ...[
    '',
    '"k"',
    '""',
    'after_1z',
    'after_0',
    '4xx',
    '404',
    '604',
    '2031-01-01T00:00:00Z',
    '2031-01-01t00:00:00.5+00:00',
  ],
  ...SOME.flatMap((one) => [one, `a${one}`, `${one}a`, `${one}${one}`]),
  // Where `$` also matches before a last line feed, as in Python and Perl, a text must not end with one.
  ...['a\nb', '\na', ' \n ', 'a'.repeat(255), 'a'.repeat(300)],
];
const EXPECTED = PATTERNS.map((pattern) => TEXTS.map((text) => new RegExp(pattern, 'u').test(text)));

const PYTHON = `
import json, re, sys
patterns, texts = json.load(sys.stdin)
print(json.dumps([[bool(re.search(pattern, text)) for text in texts] for pattern in patterns]))
`;
const GO = `
package main

import ("encoding/json"; "os"; "regexp")

func main() {
  var given [][]string
  if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil { panic(err) }
  var found [][]bool
  for _, pattern := range given[0] {
    compiled := regexp.MustCompile(pattern)
    var row []bool
    for _, text := range given[1] { row = append(row, compiled.MatchString(text)) }
    found = append(found, row)
  }
  json.NewEncoder(os.Stdout).Encode(found)
}
`;

function patternsIn(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return [];
  const own = 'pattern' in value && typeof value.pattern === 'string' ? [value.pattern] : [];
  return [...new Set([...own, ...Object.values(value).flatMap(patternsIn)])];
}

function assertAlike(command: string, args: readonly string[], env: Record<string, string> = {}): void {
  const input = JSON.stringify([PATTERNS, TEXTS]);
  const { stdout, stderr } = spawnSync(command, args, { input, encoding: 'utf8', env: { ...process.env, ...env } });
  assert.notEqual(stdout, '', stderr);
  for (const [index, row] of (JSON.parse(stdout) as boolean[][]).entries()) {
    const other = TEXTS.filter((_, at) => row[at] !== EXPECTED[index]?.[at]);
    assert.deepEqual(other, [], `${command} reads ${PATTERNS[index]} in another way`);
  }
}

test('the patterns are found, and none has an escape that engines differ in', () => {
  assert.ok(PATTERNS.length >= 6, `${PATTERNS}`);
  for (const pattern of PATTERNS) assert.doesNotMatch(pattern, /\\[^x.]/);
});

test('Python', { skip: missingPrograms('python3') }, () => assertAlike('python3', ['-c', PYTHON]));

test('RE2, by Go', { skip: missingPrograms('go') }, () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'main.go');
  writeFileSync(file, GO);
  assertAlike('go', ['run', file], { GOCACHE: join(folder.path, 'cache'), GO111MODULE: 'off' });
});

test('PCRE2, by grep', { skip: missingPrograms('grep') }, () => {
  for (const pattern of PATTERNS) {
    // Every text is a line.
    const texts = TEXTS.filter((text) => !/[\0\n]/.test(text));
    const found = spawnSync('grep', ['-aPn', '-e', pattern], {
      input: `${texts.join('\n')}\n`,
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    assert.equal(found.stderr, '');
    const lines = found.stdout.split('\n').flatMap((line) => /^(\d+):/.exec(line)?.[1] ?? []);
    const expected = texts.flatMap((text, at) => (new RegExp(pattern, 'u').test(text) ? [`${at + 1}`] : []));
    assert.deepEqual(lines, expected, pattern);
  }
});
