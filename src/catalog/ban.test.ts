import assert from 'node:assert/strict';
import { test } from 'node:test';
import { banAt, cappedBan, enforced, nextBan, runningBan } from './ban.ts';

const DAY = 86_400;
const reason = 'r';

test('bans last 1, 5, 15 and 60 minutes, and a day without one starts over', () => {
  let last: ReturnType<typeof nextBan> | undefined;
  const lengths = Array.from({ length: 6 }, () => {
    last = nextBan(last, { startedAt: (last?.endsAt ?? 0) + DAY - 1, reason });
    return [last.level, last.endsAt - last.startedAt];
  });
  assert.deepEqual(lengths, [
    [1, 60],
    [2, 300],
    [3, 900],
    [4, 3_600],
    [4, 3_600],
    [4, 3_600],
  ]);
  const startedAt = (last?.endsAt ?? 0) + DAY;
  assert.deepEqual(nextBan(last, { startedAt, reason }), { startedAt, endsAt: startedAt + 60, level: 1, reason });
});

test('a ban that began in the future begins now, as long as it is, and runs by the steady clock up to its end', () => {
  const ban = { startedAt: 1_000, endsAt: 1_300, level: 2, reason };
  assert.equal(cappedBan(ban, 1_000), ban);
  assert.deepEqual(cappedBan(ban, 999), { ...ban, startedAt: 999, endsAt: 1_299 });
  const own = enforced(ban, { unix: 1_100, steady: 50 });
  assert.deepEqual(own, { ...ban, ends: 250 });
  assert.deepEqual(enforced(ban, { unix: 900, steady: 50 }), { ...ban, startedAt: 900, endsAt: 1_200, ends: 350 });
  assert.deepEqual([runningBan(own, { steady: 249 }), runningBan(own, { steady: 250 })], [own, undefined]);
  assert.deepEqual([banAt({ ban: own }, 1_299), banAt({ ban: own }, 1_300)], [own, undefined]);
  assert.deepEqual([runningBan(null, { steady: 0 }), banAt({ ban: null }, 0)], [undefined, undefined]);
});
