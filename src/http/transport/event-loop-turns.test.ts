import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from './event-loop-turns.ts';

/** Connections that wait for a turn each, and take as long for a request as the test says. */
function waiting(t: TestContext, count: number, requestMs = 0) {
  let nowMs = 5;
  t.mock.method(performance, 'now', () => nowMs);
  const turns = new Turns();
  const served: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const ask = () => {
      if (!turns.take(ask)) return;
      served.push(index);
      nowMs += requestMs;
    };
    ask();
  }
  return { turns, served };
}

test('a turn serves sixteen requests, first come, first served', async (t) => {
  const { served } = waiting(t, 40);
  assert.deepEqual(served, []);
  for (const count of [16, 32, 40, 40]) {
    await nextTurn();
    assert.equal(served.length, count);
  }
  assert.deepEqual(
    served,
    Array.from({ length: 40 }, (_, index) => index),
  );
});

test('a turn ends after two milliseconds', async (t) => {
  const { served } = waiting(t, 7, 1);
  for (const count of [2, 4, 6, 7]) {
    await nextTurn();
    assert.equal(served.length, count);
  }
});

test('a request that takes longer than a turn is served alone', async (t) => {
  const { served } = waiting(t, 3, 10);
  for (const count of [1, 2, 3]) {
    await nextTurn();
    assert.equal(served.length, count);
  }
});

test('a turn whose time is gone before its first request is followed by another', async (t) => {
  const nowMs = [5, 8];
  t.mock.method(performance, 'now', () => nowMs.shift() ?? 8);
  const turns = new Turns();
  let isServed = false;
  const ask = () => {
    isServed = turns.take(ask);
  };
  ask();
  for (const isExpected of [false, true]) {
    await nextTurn();
    assert.equal(isServed, isExpected);
  }
});

test('a grant is for one request, and is gone if it is not taken', async (t) => {
  const { turns } = waiting(t, 0);
  const granted: boolean[] = [];
  const never = () => assert.fail('it was served at once');
  turns.take(() =>
    granted.push(
      turns.take(never),
      turns.take(() => {}),
    ),
  );
  await nextTurn();
  assert.deepEqual(granted, [true, false]);
  let isCalled = false;
  turns.take(() => {
    isCalled = true;
  });
  await nextTurn();
  await nextTurn();
  assert.equal(isCalled, true);
  assert.equal(
    turns.take(() => {}),
    false,
  );
});
