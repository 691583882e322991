import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { judge } from '../../src/server/referee.ts';
import { HONEST } from './honest.ts';
import { judgeMake, LIMITED_KEY, MAIN_KEY, openMake } from './stranger.ts';
import { WRONG } from './wrong.ts';

describe('the referee acquits, waiting for windows,', () => {
  for (const [name, make] of Object.entries(HONEST)) {
    test(name, async () => {
      const { report, failure } = await judgeMake(make, { isFull: true });
      const failed = report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `${id}: ${seen}`);
      assert.deepEqual([failure, failed], [undefined, []]);
    });
  }
});

describe('the referee blames, by the right rule,', () => {
  for (const [name, { make, rules, isFull = false }] of Object.entries(WRONG)) {
    test(name, async () => {
      const { report } = await judgeMake(make, { isFull });
      const failed = report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
      assert.ok(
        failed.some((id) => rules.includes(id)),
        `${failed}`,
      );
    });
  }
});

describe('within 30 s, in real time, the referee acquits a server that takes', () => {
  for (const latencySeconds of [0.05, 0.25, 2]) {
    test(`${latencySeconds} s for each answer`, async () => {
      await using server = await openMake({ latencySeconds });
      const { report, failure } = await judge({
        url: new URL(server.url),
        key: MAIN_KEY,
        limitedKey: LIMITED_KEY,
        otherEnvironmentKey: undefined,
        level: 'published',
        isFull: false,
        concurrency: 16,
        pace: {
          now: () => performance.now() / 1000,
          wait: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
        },
      });
      const failed = report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `${id}: ${seen}`);
      assert.deepEqual([failure, failed], [undefined, []]);
      assert.ok(report.passed > 20, `only ${report.passed} passed`);
      assert.ok(report.durationMs < 30_000, `it took ${report.durationMs} ms`);
    });
  }
});
