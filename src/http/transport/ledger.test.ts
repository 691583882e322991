import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Account, type Holding, Ledger } from './ledger.ts';

const MEBIBYTE = 1024 * 1024;

/** Holds bytes for keys, or for connections of unknown keys, and notes which were cut off. */
function counted() {
  const ledger = new Ledger();
  const cutOff: [name: string, keyId: string | undefined][] = [];
  const open = (name: string): Account => ({ heldBytes: 0, cutOff: (keyId) => cutOff.push([name, keyId]) });
  const hold = (keyId: string | undefined, bytes: number, account = open(keyId ?? 'unknown')): Holding => {
    const holding = { heldBytes: 0, keyId, account };
    ledger.hold(holding, bytes);
    return holding;
  };
  const names = () => cutOff.map(([name]) => name);
  return { ledger, cutOff, names, open, hold };
}

test('a key is full from 8 MiB on, on all its connections together, until it holds less', () => {
  const { ledger, hold } = counted();
  const first = hold('key', 4 * MEBIBYTE);
  hold('key', 4 * MEBIBYTE - 1);
  assert.equal(ledger.isFull('key'), false);
  hold('other', 1);
  assert.equal(ledger.isFull('key'), false, 'what another key holds counts for that one');
  const last = hold('key', 1);
  assert.deepEqual([ledger.isFull('key'), ledger.isFull('other'), ledger.isFull('third')], [true, false, false]);
  ledger.hold(last, 0);
  assert.deepEqual([ledger.isFull('key'), last.heldBytes], [false, 0]);
  ledger.hold(first, 4 * MEBIBYTE + 1);
  assert.equal(ledger.isFull('key'), true, 'what is held may grow');
  ledger.hold(last, 0);
  assert.equal(ledger.isFull('key'), true, 'what is given back twice counts once');
});

test('an account has what is held on its connection, whatever the keys', () => {
  const { ledger, hold, open } = counted();
  const account = open('one');
  const input = hold(undefined, 10, account);
  hold('key', 5, account);
  hold('key', 100);
  assert.equal(account.heldBytes, 15);
  ledger.hold(input, 3);
  assert.equal(account.heldBytes, 8);
});

test('beyond 48 MiB the connection of the oldest holding of the heaviest is cut off, until the rest fits', () => {
  const { cutOff, hold, names, open } = counted();
  for (const name of ['a1', 'a2', 'a3']) hold('a', 8 * MEBIBYTE, open(name));
  for (const name of ['b1', 'b2']) hold('b', 11 * MEBIBYTE, open(name));
  hold('c', 2 * MEBIBYTE);
  assert.deepEqual(cutOff, []);
  hold('c', 1);
  assert.deepEqual(cutOff, [['a1', 'a']]);
  hold('d', 30 * MEBIBYTE);
  assert.deepEqual(names(), ['a1', 'd']);
  hold('c', 15 * MEBIBYTE, open('c3'));
  assert.deepEqual(names(), ['a1', 'd', 'b1']);
});

test('as long as the key is unknown, each connection answers for itself', () => {
  const { hold, cutOff, names, open } = counted();
  for (const name of ['one', 'two']) hold(undefined, 18 * MEBIBYTE, open(name));
  hold('key', 12 * MEBIBYTE, open('its'));
  assert.deepEqual(cutOff, []);
  hold(undefined, 15 * MEBIBYTE, open('three'));
  assert.deepEqual(names(), ['one']);
  assert.equal(cutOff[0]?.[1], undefined);
});

test('a connection that gives back all that it holds when it is cut off spares the others', () => {
  const { ledger, hold, names, open } = counted();
  const held: Holding[] = [];
  const greedy: Account = {
    heldBytes: 0,
    cutOff: () => {
      for (const holding of held) ledger.hold(holding, 0);
    },
  };
  for (const bytes of [1, 40 * MEBIBYTE]) held.push(hold('greedy', bytes, greedy));
  hold('other', 30 * MEBIBYTE, open('other'));
  assert.deepEqual([names(), greedy.heldBytes], [[], 0]);
});

test('an answer that is larger than all may hold is kept while it is alone', () => {
  const { names, hold } = counted();
  hold('export', 49 * MEBIBYTE);
  assert.deepEqual(names(), []);
  hold('key', 1);
  assert.deepEqual(names(), ['export']);
});
