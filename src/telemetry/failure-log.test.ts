import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../catalog/error.ts';
import { FailureLog } from './failure-log.ts';

type Line = Record<string, unknown>;

function bench(t: { mock: { timers: { enable(options: { apis: ['setTimeout'] }): void } } }) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const lines: Line[] = [];
  const failures = new FailureLog((line) => lines.push(line as Line));
  let sent = 0;
  const fail = (err: unknown) => {
    sent += 1;
    failures.report({ requestId: `r${sent}`, code: 'unavailable', err });
  };
  return { lines, failures, fail };
}

const full = () => new CatalogError('unavailable', 'The disk is full');

test('of one cause ten lines a second are written, then one with the number and the ids of the others', (t) => {
  const { lines, fail } = bench(t);
  for (let second = 0; second < 2; second += 1) {
    for (let time = 0; time < 200; time += 1) fail(full());
    t.mock.timers.tick(1_000);
  }
  assert.equal(lines.length, 22);
  const summary = { event: 'requests_failed', count: 190, code: 'unavailable', reason: 'The disk is full' };
  assert.deepEqual(lines[10], { ...summary, firstRequestId: 'r11', lastRequestId: 'r200' });
  assert.deepEqual(lines[21], { ...summary, firstRequestId: 'r211', lastRequestId: 'r400' });
  assert.deepEqual([lines[0]?.event, lines[11]?.requestId], ['request_failed', 'r201']);
});

test('another cause, and the same defect at another place, have lines of their own', (t) => {
  const { lines, failures, fail } = bench(t);
  const [here, there] = [() => new Error('a defect'), () => new Error('a defect')];
  for (let time = 0; time < 11; time += 1) for (const made of [full(), here(), there()]) fail(made);
  assert.equal(lines.length, 30);
  failures.flush();
  assert.deepEqual(
    lines.slice(30).map(({ count, reason }) => [count, reason]),
    [
      [1, 'The disk is full'],
      [1, 'a defect'],
      [1, 'a defect'],
    ],
  );
});

test('a defect is the same from any caller', (t) => {
  const { lines, failures, fail } = bench(t);
  const thrown = () => new Error('a defect');
  for (let time = 0; time < 11; time += 1) fail(time % 2 ? thrown() : thrown());
  failures.flush();
  assert.deepEqual([lines.length, lines.at(-1)?.count], [11, 1]);
});

test('a second begins with its first failure, also after one that was ended early', (t) => {
  const { lines, failures, fail } = bench(t);
  fail(full());
  t.mock.timers.tick(600);
  failures.flush();
  for (let time = 0; time < 11; time += 1) fail(full());
  t.mock.timers.tick(999);
  assert.equal(lines.length, 11);
  t.mock.timers.tick(1);
  assert.deepEqual([lines.length, lines.at(-1)?.count], [12, 1]);
});

test('causes without bound do not fill the log', (t) => {
  const { lines, failures, fail } = bench(t);
  for (let time = 0; time < 5_000; time += 1) fail(new Error(`defect ${time}`));
  failures.flush();
  assert.equal(lines.length, 100 + 10 + 1);
  assert.equal(lines.at(-1)?.count, 4_890);
  const first = full();
  for (let time = 0; time < 200; time += 1) fail(time ? new Error(`defect ${time}`) : first);
  for (let time = 0; time < 11; time += 1) fail(first);
  lines.length = 0;
  failures.flush();
  assert.deepEqual(
    lines.map(({ count, reason }) => [count, reason]),
    [
      [2, 'The disk is full'],
      [90, 'defect 100'],
    ],
    'one that was there before the others keeps its own line',
  );
});
