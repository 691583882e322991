import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import { ServerClock } from './server-clock.ts';

const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
/** The server's clock is so far ahead of that of the process. */
const AHEAD = 3_600;

/** A clock, and a reply that took so long on its way to the server and back. */
function bench() {
  const time = new VirtualTime(NOON * 1_000);
  const noted = { steps: 0 };
  const own = time.process();
  const clock = new ServerClock(own, () => {
    noted.steps += 1;
  });
  const reply = ({ toMs = 0, backMs = 0, stepMs = 0 }) => {
    const sentMs = own.steadyMs();
    time.leap(toMs);
    const serverMs = time.nowMs + AHEAD * 1_000 + stepMs;
    time.leap(backMs);
    clock.read(serverMs, sentMs, own.steadyMs());
  };
  const now = () => [clock.now().earliest.unix - NOON - AHEAD, clock.now().latest.unix - NOON - AHEAD];
  return { time, clock, noted, reply, now };
}

test('a clock of the server that was set by more than a second is noticed, either way and once', () => {
  for (const [stepMs, backMs, steps] of [
    [1_000, 0, 0],
    [-1_000, 0, 0],
    [1_001, 0, 1],
    [-1_001, 0, 1],
    // Half a second of it may be that of an answer.
    [-1_200, 500, 0],
  ] as const) {
    const { reply, noted } = bench();
    reply({ backMs });
    reply({ stepMs });
    reply({ stepMs });
    assert.equal(noted.steps, steps, `${stepMs} ms`);
  }
});

test('an answer that took more than five seconds says nothing of the clock, unless it is the first', () => {
  const { reply, now } = bench();
  reply({ backMs: 5_001 });
  assert.deepEqual(now(), [0, 5]);
  reply({});
  assert.deepEqual(now(), [5, 5]);
  reply({ toMs: 5_001 });
  assert.deepEqual(now(), [10, 10]);
  reply({ toMs: 5_000 });
  assert.deepEqual(now(), [15, 20]);
});
