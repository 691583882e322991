import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareClock, threadClock } from './clock.ts';

test('a thread reads the moments of the main thread, also after the system clock was stepped', (t) => {
  const machine = Date.now;
  let steppedMs = 0;
  t.mock.method(Date, 'now', () => machine() + steppedMs);
  const { now, memory } = shareClock();
  // The system clock shows whole milliseconds only.
  steppedMs = 5_500;
  const before = now();
  const { unix, steady } = threadClock(memory)();
  assert.equal(unix - steady, 5);
  const after = now();
  assert.ok(before.steady <= steady && steady <= after.steady, `${before.steady} ${steady} ${after.steady}`);
});
