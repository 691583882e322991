import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedIn } from './expected.ts';

test('each line is a kind and a rule, with comments beside and between', () => {
  assert.deepEqual(
    expectedIn('# ours\r\nPOST /pets   once\r\n\r\nPOST /graphql query Pets stops # both', 'known.txt').map(
      ({ kind, rule }) => [kind, rule],
    ),
    [
      ['POST /pets', 'once'],
      ['POST /graphql query Pets', 'stops'],
    ],
  );
});

for (const line of ['lost', 'lost once', 'GET /a never']) {
  test(`the line "${line}" is refused with its place`, () =>
    assert.throws(() => expectedIn(`\n${line}`, 'known.txt'), {
      message: `known.txt:2: "${line}" is no kind and rule, such as "POST /pets once"`,
    }));
}
