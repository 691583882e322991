import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESPECT } from './testers/respect.ts';
import { scoreOf } from './testers/score.ts';

/** The smallest tester, which needs no registry, holds what all of them share. */
test('a tester catches what it reports of a defect alone, and misses what it reports anyway', async () => {
  const defects = ['create-is-200', 'description-is-null', 'no-message'];
  const { caught, missed, untried, falseAlarms } = await scoreOf(RESPECT, { defects, minutes: 4, tell: () => {} });
  assert.deepEqual([caught, missed, untried], [['create-is-200', 'description-is-null'], ['no-message'], []]);
  // It cancels an order that has shipped.
  assert.equal(falseAlarms, 1);
});

test('a defect is untried when the time is over', async () => {
  const defects = ['create-is-200'];
  const { caught, untried } = await scoreOf(RESPECT, { defects, minutes: 0, tell: () => {} });
  assert.deepEqual([caught, untried], [[], defects]);
});
