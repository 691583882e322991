import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemTime, utc, within } from './time.ts';

/** The time of a machine whose clocks stand still until the test moves them. */
function bench() {
  const clocks = { monotonicMs: 500, systemMs: 1_000_000 };
  const time = systemTime({ ...systemTime(), monotonicMs: () => clocks.monotonicMs, systemMs: () => clocks.systemMs });
  return {
    time,
    clocks,
    pass(ms: number) {
      clocks.monotonicMs += ms;
      clocks.systemMs += ms;
    },
  };
}

test('both readings begin with Unix time, and follow the monotonic clock', () => {
  const { time, pass } = bench();
  assert.deepEqual([time.now(), time.steadyMs()], [{ unix: 1_000, steady: 1_000 }, 1_000_000]);
  pass(1_999);
  assert.deepEqual([time.now(), time.steadyMs()], [{ unix: 1_001, steady: 1_001 }, 1_001_999]);
});

test('a step of the system clock moves Unix time within a second, and durations not at all', () => {
  const { time, clocks, pass } = bench();
  for (const [stepMs, unix] of [
    // Whole seconds: what is left of a step is ignored until it adds up.
    [1_700, 1_002],
    [-1_700, 1_002],
    [7_200_000, 8_203],
    [-7_200_000, 1_004],
    [1_000, 1_006],
    [-1_000, 1_006],
    [-90_500, 917],
    // Smaller ones are ignored, and add up to one that is not.
    [-400, 918],
    [-400, 918],
  ] as const) {
    time.now();
    clocks.systemMs += stepMs;
    assert.deepEqual(time.now(), time.now());
    pass(1_000);
    assert.equal(time.now().unix, unix);
  }
  assert.deepEqual([time.now().steady, time.steadyMs()], [1_009, 1_009_000]);
});

test('a moment is written in UTC to the second, and a repeat is the same', () => {
  for (const unix of [0, 1_767_268_799, 1_767_268_799, 4_102_444_800])
    assert.equal(utc(unix), new Date(unix * 1_000).toISOString().replace('.000', ''));
});

const lateness = () => new Error('late');

test('work within its time settles unchanged', async () => {
  assert.equal(await within(Promise.resolve(7), { ms: 60_000, lateness, time: systemTime() }), 7);
  await assert.rejects(
    within(Promise.reject(new Error('failed')), { ms: 60_000, lateness, time: systemTime() }),
    /failed/,
  );
  assert.ok(!process.getActiveResourcesInfo().includes('Timeout'), 'no timer outlives the work');
});

test('work that takes too long is not waited for', async () => {
  const { promise } = Promise.withResolvers<void>();
  const waits: number[] = [];
  const recorded = {
    setTimeout: (run: () => void, ms: number) => {
      waits.push(ms);
      return systemTime().setTimeout(run, 1);
    },
  };
  await assert.rejects(within(promise, { ms: 7_000, lateness, time: recorded }), /late/);
  assert.deepEqual(waits, [7_000]);
});
