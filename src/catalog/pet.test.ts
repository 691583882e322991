import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCanBeSold, assertShipsLater, isComplete, newOrder } from './order.ts';
import { firstStock, newPet, newQuantity, PET_STATUSES, petUpdate, statusAt, stockAt } from './pet.ts';

test('stock and status go together, whichever is set', () => {
  assert.deepEqual(PET_STATUSES.map(firstStock), [1, 1, 0]);
  for (const [quantity, statuses, stocks] of [
    [0, ['sold', 'sold', 'sold'], [1, 1, 0]],
    [1, ['available', 'pending', 'available'], [1, 1, 0]],
    [7, ['available', 'pending', 'available'], [7, 7, 0]],
  ] as const) {
    assert.deepEqual(
      PET_STATUSES.map((status) => statusAt(quantity, status)),
      statuses,
    );
    assert.deepEqual(
      PET_STATUSES.map((status) => stockAt(status, quantity)),
      stocks,
    );
  }
});

test('known members are read up to their bounds, and no others', () => {
  const more = { id: 9, extra: 1 };
  assert.deepEqual(newPet({ name: 'Rex', categoryId: 1, ...more }), {
    name: 'Rex',
    categoryId: 1,
    status: 'available',
  });
  for (const status of PET_STATUSES) {
    assert.equal(newPet({ name: 'Rex', categoryId: 2 ** 53 - 1, status }).status, status);
    assert.deepEqual(petUpdate({ status, ...more }), { name: undefined, categoryId: undefined, status });
  }
  assert.deepEqual([newQuantity({ quantity: 0 }), newQuantity({ quantity: 1_000_000 })], [0, 1_000_000]);
  assert.deepEqual(newOrder({ petId: 1, quantity: 1_000, ...more }), { petId: 1, quantity: 1_000 });
});

test('a ship date exists, is at most five minutes over, and completes an order from its second on', () => {
  const order = (shipDate: string) => newOrder({ petId: 1, quantity: 1, shipDate }).shipDate;
  for (const day of ['2031-02-29', '2031-04-31', '2031-13-01'])
    assert.throws(() => order(`${day}T00:00:00Z`), {
      code: 'validation_failed',
      message: `shipDate is "${day}T00:00:00Z", which does not exist; send a real date`,
    });
  assert.equal(order('2032-02-29t23:59:59.120z'), '2032-02-29T23:59:59.12Z');
  const shipDate = '1970-01-01T01:00:00Z';
  assertShipsLater(undefined, 9_999);
  assertShipsLater(shipDate, 3_900);
  assert.throws(() => assertShipsLater(shipDate, 3_901), {
    code: 'validation_failed',
    message: `shipDate is "${shipDate}", in the past; send a later one, or none`,
  });
  assert.deepEqual(
    [isComplete(shipDate, 3_599), isComplete(shipDate, 3_600), isComplete(undefined, 9_999)],
    [false, true, false],
  );
});

test('an order takes up to the whole stock, and of a reserved pet nothing', () => {
  const code = 'insufficient_stock';
  for (const status of ['available', 'sold'] as const) assertCanBeSold({ id: 7, status, quantity: 3 }, 3);
  for (const [status, quantity, message] of [
    ['pending', 3, 'Pet 7 is reserved (pending); order it once it is available'],
    ['available', 0, 'Pet 7 is out of stock; order it once there is stock again'],
    ['available', 2, 'Pet 7 has 2 in stock, not 3; order fewer'],
  ] as const)
    assert.throws(() => assertCanBeSold({ id: 7, status, quantity }, 3), { code, message });
});
