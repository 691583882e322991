import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeIn } from '../charts/range.ts';
import type { ConsoleOptions } from '../frame/context.ts';
import { createMost } from './most.ts';

test('what a range has most of is asked of storage every five seconds at most, for each group and order', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const asked: unknown[] = [];
  const storage = { usage: { most: async (query: unknown) => [asked.push(query)] } };
  const time = { now: () => ({ unix: 1_767_268_830, steady: 0 }) };
  const most = createMost({ storage, time } as unknown as ConsoleOptions);
  const range = rangeIn(new URLSearchParams());
  const ask = () => most({ range, group: 'key', sort: 'requests' });
  await ask();
  nowMs = 4_999;
  await ask();
  const wanted = { period: 'minute', since: 1_767_268_800 - 59 * 60, group: 'key', sort: 'requests', limit: 10 };
  assert.deepEqual(asked, [wanted]);
  nowMs = 5_000;
  await ask();
  assert.equal(asked.length, 2);
  await most({ range, group: 'owner', sort: 'requests' });
  await most({ range, group: 'key', sort: 'refused' });
  assert.deepEqual(asked.slice(1), [wanted, { ...wanted, group: 'owner' }, { ...wanted, sort: 'refused' }]);
});
