import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../test/kit/fixtures.ts';
import { readExpected } from './expected.ts';
import type { RuleName } from './rules.ts';

const folder = temporaryFolder();
after(() => folder[Symbol.dispose]());
const file = join(folder.path, 'known.txt');
const read = (text: string) => {
  writeFileSync(file, text);
  return readExpected(file);
};
const finding = (kind: string, rule: RuleName) => ({ kind, rule, number: 1, text: '' });

test('each line is a kind or a script, and a rule, with comments beside and between', () => {
  const expected = read('# ours\r\nlost,ok*2   once\r\n\r\nPOST /pets stops # both\nlost@POST /pets waits');
  for (const [script, kind, rule, isKnown] of [
    ['lost,ok,ok', 'GET /a', 'once', true],
    ['lost,ok', 'GET /a', 'once', false],
    ['lost,ok,ok', 'GET /a', 'stops', false],
    ['cut', 'POST /pets', 'stops', true],
    ['lost@POST /pets', 'POST /pets', 'waits', true],
    ['cut@POST /pets', 'POST /pets', 'waits', false],
  ] as const) {
    assert.equal(
      expected.some((each) => each.isOf(script, finding(kind, rule))),
      isKnown,
      `${script} ${rule}`,
    );
  }
});

test('a line is stale if its kind or script was tried, and the rule was not broken', () => {
  const play = { script: 'lost', reached: 1, steps: 1, requests: [], remarks: [] };
  const cell = (verdict: 'kept' | 'broken') => ({ kind: 'GET /a', rule: 'waits', verdict, evidence: [] }) as const;
  const [ofKind, ofScript, other] = read('GET /a waits\nlost once\ncut once');
  assert.deepEqual([ofKind?.isStale([], [cell('kept')]), ofKind?.isStale([], [cell('broken')])], [true, false]);
  assert.deepEqual([ofScript?.isStale([play], []), other?.isStale([play], [])], [true, false]);
  ofScript?.isOf('lost', finding('GET /a', 'once'));
  assert.equal(ofScript?.isStale([play], []), false);
});

for (const line of ['lost', 'lost never', 'GET /a never']) {
  test(`the line "${line}" is refused with its place`, () =>
    assert.throws(() => read(`\n${line}`), {
      message: `${file}:2: "${line}" is no kind or script and rule, such as "POST /pets once"`,
    }));
}
