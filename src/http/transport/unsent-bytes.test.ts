import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isConnectionFull, type Unsent, UnsentBytes } from './unsent-bytes.ts';

const MEBIBYTE = 1024 * 1024;

/** Counts items by holder, and notes which were cut off. */
function counted() {
  const unsent = new UnsentBytes();
  const cutOff: string[] = [];
  const add = (holder: string, bytes: number, name = holder): Unsent => {
    const item = { unsentBytes: 0, holder, cutOff: () => cutOff.push(name) };
    unsent.add(item, bytes);
    return item;
  };
  return { unsent, cutOff, add };
}

test('a key is full from 8 MiB on, on all its connections together, until it holds less', () => {
  const { unsent, add } = counted();
  const first = add('key', 4 * MEBIBYTE);
  add('key', 4 * MEBIBYTE - 1);
  assert.equal(unsent.isFull('key'), false);
  add('other', 1);
  assert.equal(unsent.isFull('key'), false, 'what another key holds counts for that one');
  const last = add('key', 1);
  assert.deepEqual([unsent.isFull('key'), unsent.isFull('other'), unsent.isFull('third')], [true, false, false]);
  unsent.delete(last);
  assert.deepEqual([unsent.isFull('key'), last.unsentBytes], [false, 0]);
  add('key', 1);
  assert.equal(unsent.isFull('key'), true);
  unsent.delete(last);
  assert.equal(unsent.isFull('key'), true, 'what is deleted twice is counted no more once');
  unsent.delete(first);
  assert.equal(unsent.heaviestBytes, 4 * MEBIBYTE);
});

test('beyond 64 MiB the oldest of the holder that holds the most is cut off, until it fits', () => {
  const { unsent, cutOff, add } = counted();
  for (const name of ['a1', 'a2', 'a3']) add('a', 11 * MEBIBYTE, name);
  for (const name of ['b1', 'b2']) add('b', 15 * MEBIBYTE, name);
  add('c', MEBIBYTE);
  assert.deepEqual([cutOff, unsent.heaviestBytes], [[], 33 * MEBIBYTE]);
  add('c', 1, 'c2');
  assert.deepEqual([cutOff, unsent.heaviestBytes], [['a1'], 30 * MEBIBYTE]);
  add('d', 40 * MEBIBYTE);
  assert.deepEqual(cutOff, ['a1', 'd']);
  add('c', 20 * MEBIBYTE, 'c3');
  assert.deepEqual(cutOff, ['a1', 'd', 'b1']);
  assert.equal(unsent.heaviestBytes, 22 * MEBIBYTE);
});

test('of two that hold as much the one that held something first is cut off, and who holds nothing is forgotten', () => {
  const { unsent, cutOff, add } = counted();
  unsent.delete(add('a', MEBIBYTE));
  for (const name of ['b', 'a']) add(name, MEBIBYTE);
  unsent.cutOffHeaviest();
  assert.deepEqual(cutOff, ['b']);
});

test('a key that alone holds exactly 8 MiB is full', () => {
  const { unsent, add } = counted();
  add('key', 8 * MEBIBYTE);
  assert.equal(unsent.isFull('key'), true);
});

test('an answer that is larger than all may be is kept while it is alone', () => {
  const { cutOff, add } = counted();
  add('export', 65 * MEBIBYTE);
  assert.deepEqual(cutOff, []);
  add('key', 1);
  assert.deepEqual(cutOff, ['export']);
});

test('without a holder nothing is cut off', () => {
  const { unsent, add } = counted();
  unsent.delete(add('key', 1));
  unsent.delete({ unsentBytes: 0, holder: 'other', cutOff: assert.fail });
  assert.equal(unsent.heaviestBytes, 0);
  assert.throws(() => unsent.cutOffHeaviest(), /More bytes are counted than any holder has/);
});

test('a connection is full from 1 MiB on', () => {
  const answers = (...bytes: number[]) => bytes.map((unsentBytes) => ({ unsentBytes }) as Unsent);
  assert.equal(isConnectionFull(answers(MEBIBYTE / 2, MEBIBYTE / 2 - 1)), false);
  assert.equal(isConnectionFull(answers(MEBIBYTE / 2, MEBIBYTE / 2)), true);
});
