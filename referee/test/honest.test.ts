import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FLAKY, HONEST } from './liar/honest.ts';
import { judged, LIMIT, wayOf } from './liar/judged.ts';

const verdicts = (
  rules: readonly { id: string; verdict: string; seen: string | null; reason: string | null }[],
  wanted: string,
) => rules.filter(({ verdict }) => verdict === wanted).map(({ id, seen, reason }) => `${id}: ${seen ?? reason}`);

describe('at the published level no rule accuses a server with', () => {
  for (const [name, way] of Object.entries(HONEST)) {
    test(name, async () => {
      const isSlow = 'latencySeconds' in way;
      // In full a server is judged by the same rules and more; but one that is slow has less time without it.
      for (const isFull of isSlow ? [false, true] : [true]) {
        // Only how long a whole limit takes to spend is another matter for a slow one.
        const ways = isSlow ? [wayOf(way)] : [{ limit: LIMIT }, wayOf(way)];
        const { report, failure } = await judged(ways, { level: 'published', isFull });
        assert.equal(failure, undefined);
        assert.deepEqual(verdicts(report.rules, 'failed'), []);
        assert.ok(report.passed > 15, `only ${report.passed} passed`);
      }
    });
  }
});

test('a server that fails one in twenty by chance gets the same verdicts five times, in full', async () => {
  for (const way of FLAKY) {
    const { report, failure } = await judged([{ limit: LIMIT }, way], { level: 'published' });
    assert.equal(failure, undefined);
    assert.deepEqual(
      [verdicts(report.rules, 'failed'), verdicts(report.rules, 'skipped')],
      [[], []],
      `seed ${way.seed}`,
    );
  }
});

test('a server that fails one in ten is judged by its last token, in full', async () => {
  for (const failsEvery of [9, 10, 11]) {
    const { report } = await judged([{ failsEvery }], { only: ['limits.last-token'] });
    assert.equal(report.rules[0]?.verdict, 'passed', `${report.rules[0]?.reason}`);
  }
});
