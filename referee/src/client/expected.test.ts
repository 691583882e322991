import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryFolder } from '../../test/kit/fixtures.ts';
import { readExpected } from './expected.ts';

const folder = temporaryFolder();
after(() => folder[Symbol.dispose]());
const file = join(folder.path, 'known.txt');
const read = (text: string) => {
  writeFileSync(file, text);
  return readExpected(file);
};

test('each line is a kind and a rule, with comments beside and between', () => {
  assert.deepEqual(
    read('# ours\r\nPOST /pets   once\r\n\r\nPOST /graphql query Pets stops # both').map(({ kind, rule }) => [
      kind,
      rule,
    ]),
    [
      ['POST /pets', 'once'],
      ['POST /graphql query Pets', 'stops'],
    ],
  );
});

for (const line of ['lost', 'lost once', 'GET /a never']) {
  test(`the line "${line}" is refused with its place`, () =>
    assert.throws(() => read(`\n${line}`), {
      message: `${file}:2: "${line}" is no kind and rule, such as "POST /pets once"`,
    }));
}
