import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOf, worstOf } from './report.ts';
import type { Report, Verdict } from './rule.ts';

const verdict = (kind: Verdict['verdict'], run: number, id = 'a.b'): Verdict => ({
  id,
  level: 'published',
  sentence: 'Said.',
  source: 'A, 1',
  verdict: kind,
  expected: '200',
  seen: kind === 'failed' ? `seen ${run}` : null,
  reason: kind === 'skipped' ? `reason ${run}` : null,
  exchanges: kind === 'failed' ? [{ request: 'GET /a\nb: c', response: '500\nd: e', curl: 'curl' }] : [],
});
const report = (...rules: Verdict[]): Report => {
  return { url: 'http://a/v1', level: 'ours', passed: 9, failed: 9, skipped: 9, durationMs: 5, rules };
};

test('of several runs each rule has its worst verdict: failed, then passed, then skipped', () => {
  for (const [kinds, kind, words] of [
    ['passed failed skipped', 'failed', 'seen 1 (in 1 of 3 runs)'],
    ['skipped skipped failed', 'failed', 'seen 2 (in 1 of 3 runs)'],
    ['failed failed passed', 'failed', 'seen 0 (in 2 of 3 runs)'],
    ['failed failed failed', 'failed', 'seen 0'],
    ['skipped passed skipped', 'passed', null],
    ['skipped skipped skipped', 'skipped', 'reason 0'],
  ] as const) {
    const runs = kinds.split(' ').map((each, run) => report(verdict(each as Verdict['verdict'], run)));
    const { rules, ...rest } = worstOf(runs as [Report, ...Report[]]);
    assert.deepEqual([rules.length, rules[0]?.verdict, rules[0]?.seen ?? rules[0]?.reason], [1, kind, words], kinds);
    const counts = { passed: 0, failed: 0, skipped: 0, [kind]: 1 };
    assert.deepEqual(rest, { url: 'http://a/v1', level: 'ours', durationMs: 15, ...counts });
  }
});

test('the worst verdicts are of one rule each', () => {
  const runs = [report(verdict('passed', 0), verdict('failed', 0, 'c.d')), report(verdict('failed', 1))] as const;
  assert.deepEqual(
    worstOf(runs).rules.map(({ id, seen }) => [id, seen]),
    [
      ['a.b', 'seen 1 (in 1 of 2 runs)'],
      ['c.d', 'seen 0'],
    ],
  );
});

test('rules are listed in columns', () => {
  const [one, other] = [verdict('passed', 0), { ...verdict('passed', 0, 'longer.id'), level: 'ours' as const }];
  const rules = [one, other].map((each) => ({ ...each, judge() {} }));
  assert.equal(listOf(rules), 'a.b        published  Said.\nlonger.id  ours       Said.');
});
