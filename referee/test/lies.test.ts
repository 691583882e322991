import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FAMILIES } from './liar/families.ts';
import { failuresOf, judgedLimit, wayOf } from './liar/judged.ts';
import { head, REFUSED, RESET } from './liar/lie.ts';
import { LIES, LIES_OF_RESET } from './liar/lies.ts';

describe('a lie about a limit is caught by the rules that it breaks, and by no other:', () => {
  const [unix, , delta, , , , , draft] = FAMILIES;
  const families = [unix, delta, draft].flatMap((each) => (each ? [each] : []));
  for (const [index, [told, rules, way]] of [...LIES, ...LIES_OF_RESET].entries()) {
    // Each in one family of headers: how those are read is shown by limits that are kept.
    const [name, family] = families[index % families.length] ?? assert.fail();
    test(`${told}, told by ${name}`, async () => {
      const seen = failuresOf(await judgedLimit([wayOf(way), family]));
      assert.deepEqual(seen.map((text) => text.split(':')[0]).sort(), rules.split(' '), seen.join('\n'));
    });
  }

  test('a Reset of a refusal that is over', async () => {
    const over = head(REFUSED, RESET, (at) => Number(at) - 60);
    assert.deepEqual(failuresOf(await judgedLimit([over])), [
      'limits.reset-ahead: the Reset of a refusal is 1 s over, though it is to be waited for',
    ]);
  });

  test('a Reset in another unit on refusals, which were Unix seconds before', async () => {
    const milliseconds = head(REFUSED, RESET, (at) => Number(at) * 1000);
    assert.deepEqual(failuresOf(await judgedLimit([milliseconds])), [
      'limits.reset-ahead: 1767268860000 is no Unix time in seconds',
    ]);
  });
});
