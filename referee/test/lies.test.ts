import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FAMILIES } from './liar/families.ts';
import { failuresOf, judgedLimit, wayOf } from './liar/judged.ts';
import { head, LIMIT, REFUSED, REMAINING, RESET, say } from './liar/lie.ts';
import { LIES, LIES_OF_RESET } from './liar/lies.ts';

/** The draft with another window than is true. */
const policy = (window: string) => [
  FAMILIES[7]?.[1] ?? {},
  head({}, 'ratelimit-policy', (text) => text.replace('w=60', window)),
];
/** A second family, with so much more in it. */
const second = (left: number, seconds: number) => [
  say({}, ({ headers }, { now }) => {
    headers['ratelimit-limit'] = headers[LIMIT];
    headers['ratelimit-remaining'] = Number(headers[REMAINING]) + left;
    headers['ratelimit-reset'] = Number(headers[RESET]) - Math.floor(now) + seconds;
  }),
];

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

  for (const [told, way, found] of [
    ['w=3600', policy('w=3600'), 'limits.window-as-told: the window of 3600 s was over after 60 s'],
    ['w=10', policy('w=10'), 'limits.window-as-told: Reset is 60 s ahead, in a window of 10 s'],
    ['another Remaining', second(5, 0), 'limits.families-agree: remaining differ in RateLimit-Limit, '],
    ['another Reset', second(0, 60), 'limits.families-agree: reset differ in RateLimit-Limit, '],
  ] as const) {
    test(`a family that tells ${told} than is true`, async () => {
      const [seen = '', ...others] = failuresOf(await judgedLimit(way));
      assert.deepEqual([seen.slice(0, found.length), others], [found, []]);
    });
  }

  for (const [told, change, found] of [
    ['is over', (at: number) => at - 60, 'the Reset of a refusal is 1 s over, though it is to be waited for'],
    ['is in another unit than before', (at: number) => at * 1000, '1767268860000 is no Unix time in seconds'],
  ] as const) {
    test(`a Reset of a refusal that ${told}`, async () => {
      const way = head(REFUSED, RESET, (at) => change(Number(at)));
      assert.deepEqual(failuresOf(await judgedLimit([way])), [`limits.reset-ahead: ${found}`]);
    });
  }
});
