import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../test/kit/fixtures.ts';
import type { Play } from '../client/note.ts';
import { reportOf } from '../client/verdict.ts';
import { knownUnder, readExpected, staleLines } from './expected.ts';

const folder = temporaryFolder();
after(() => folder[Symbol.dispose]());
const file = join(folder.path, 'known.txt');
const read = (text: string) => {
  writeFileSync(file, text);
  return readExpected(file);
};
const report = (script: string, more: Partial<Play> = {}) => reportOf({ script, reached: 0, requests: [], ...more });

test('a script and a rule in each line, whatever its end, with comments beside and between', () => {
  const expected = read('# ours\r\nlost,ok*2   once\r\n\r\nlost,ok,ok stops # both\nlimit:2 waits');
  assert.deepEqual([...knownUnder('lost,ok,ok', expected)], ['once', 'stops']);
  assert.deepEqual([...knownUnder(' limit:2*1', expected)], ['waits']);
  assert.deepEqual([...knownUnder('ok', expected)], []);
});

test('a line is stale if its script was tried, and its own rule was not broken', () => {
  const expected = read('limit:2 waits\nlimit:2 once\nlost once\nerror once\n');
  const note = { method: 'GET', route: '/pets', target: 'pets', body: null, idempotencyKey: null, credentials: null };
  const limited = { ...note, step: null, isEarly: false, status: 429, retryAfter: 2, isDelivered: true };
  const requests = [0, 5].map((at) => ({ ...limited, at, answeredAt: at, isDone: false, hasCreated: false }));
  const reports = [report('limit:2', { requests }), report('error', { failure: 'no answer' })];
  assert.deepEqual(staleLines(expected, reports), [
    `${file}:2: "limit:2 once" is stale: once was not broken; remove the line`,
  ]);
});

for (const [line, message] of [
  ['lost', ' is no script and rule, such as "lost,ok retries-safely"'],
  ['lost once twice', ' is no script and rule, such as "lost,ok retries-safely"'],
  ['lost never', ' is no script and rule, such as "lost,ok retries-safely"'],
] as const) {
  test(`the line "${line}" is refused with its place`, () =>
    assert.throws(() => read(`\n${line}`), { message: `${file}:2: "${line}"${message}` }));
}
