import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newCategory } from './category.ts';
import { newOrder } from './order.ts';
import { newPet, newQuantity, petUpdate } from './pet.ts';
import { nearest, quote } from './validate.ts';

/** The messages of what is refused, word by word: one form for the bounds of each kind of value. */

const name = 'Rex';
const categoryId = 1;

for (const [check, body, message] of [
  [newOrder, { petId: 1, quantity: 0 }, 'quantity is 0; send a whole number from 1 to 1,000'],
  [newOrder, { petId: 1, quantity: 1_001 }, 'quantity is 1001; send a whole number from 1 to 1,000'],
  [newOrder, { petId: 1, quantity: 1.5 }, 'quantity is 1.5; send a whole number from 1 to 1,000'],
  [newOrder, { petId: 1, quantity: '1' }, 'quantity is "1"; send a whole number from 1 to 1,000'],
  [newOrder, { petId: 1, quantity: null }, 'quantity is null; send a whole number from 1 to 1,000'],
  [newOrder, { petId: 0, quantity: 1 }, 'petId is 0; send a whole number from 1'],
  [newOrder, { quantity: 1 }, 'petId is missing; add it to the body'],
  [newOrder, {}, 'petId and quantity are missing; add them to the body'],
  [newOrder, { pet: 1, qty: 1 }, 'petId and quantity are missing; "pet" is no member of the body, did you mean petId?'],
  [
    newOrder,
    { petId: 1, quantity: 1, shipDate: 4_102_444_800 },
    'shipDate is 4102444800; send a string such as 2099-12-31T12:00:00Z',
  ],
  [
    newOrder,
    { petId: 1, quantity: 1, shipDate: 'soon' },
    'shipDate is "soon"; send a date and time in UTC such as 2099-12-31T12:00:00Z',
  ],
  [newQuantity, { quantity: -1 }, 'quantity is -1; send a whole number from 0 to 1,000,000'],
  [newPet, { name, categoryId, status: null }, 'status is null; send one of available, pending, sold'],
  [newPet, { name, categoryId, status: 'dead' }, 'status is "dead"; send one of available, pending, sold'],
  [newPet, { name: '', categoryId }, 'name is empty; send a string of 1 to 255 characters'],
  [newPet, { name: 7, categoryId }, 'name is 7; send a string of 1 to 255 characters'],
  [
    newPet,
    { name: 'x'.repeat(256), categoryId },
    `name is 256 characters long ("${'x'.repeat(40)}…"); send a string of 1 to 255 characters`,
  ],
  [newPet, { name: ' ', categoryId }, 'name is " "; send at least one character that is not white space'],
  [newPet, { name: 'a\u0007', categoryId }, 'name is "a\\u0007"; send no control characters'],
  [newPet, { name: '\n', categoryId }, 'name is "\\n"; send no control characters'],
  [
    newCategory,
    { name, description: '\u0000' },
    'description is "\\u0000"; send no control characters but tab, line feed and carriage return',
  ],
  [newCategory, { name, description: null }, 'description is null; send a string of 0 to 2,000 characters'],
  [newCategory, [], 'The body is an array; send an object'],
  [newCategory, { nmae: 'Dog' }, 'name is missing; "nmae" is no member of the body, did you mean name?'],
  [
    newPet,
    { name, category_id: 1 },
    'categoryId is missing; "category_id" is no member of the body, did you mean categoryId?',
  ],
  [newPet, { stauts: 'sold' }, 'name and categoryId are missing; add them to the body'],
  [newPet, { name, stauts: 'sold' }, 'categoryId is missing; add it to the body'],
  [
    newQuantity,
    { quantitiy: 5, id: 1 },
    'quantity is missing; "quantitiy" is no member of the body, did you mean quantity?',
  ],
  [petUpdate, { id: 1, nmae: 'Max' }, 'The body changes nothing; "nmae" is no member of the body, did you mean name?'],
  [petUpdate, { id: 1 }, 'The body changes nothing; send name, categoryId or status'],
] as const) {
  test(`${JSON.stringify(body).slice(0, 60)}: ${message.slice(0, 60)}`, () => {
    assert.throws(() => check(body), { code: 'validation_failed', message });
  });
}

test('of a body with very many members the first twenty are compared', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));
  assert.throws(() => newCategory({ ...members(19), nmae: 'Dog' }), /did you mean name\?$/);
  assert.throws(() => newCategory({ ...members(20), nmae: 'Dog' }), /add it to the body$/);
});

test('the nearest name is at most three letters away, and less than half of its own', () => {
  const known = ['categories', 'pets', 'orders', 'inventory', 'rate_limit'];
  for (const [text, meant] of [
    ['category', 'categories'],
    ['Categories', 'categories'],
    ['pet', 'pets'],
    ['order', 'orders'],
    ['rate-limit', 'rate_limit'],
    ['rateLimits', 'rate_limit'],
    ['inventroy', 'inventory'],
    ['stores', undefined],
    ['', undefined],
    ['x'.repeat(10_000), undefined],
  ] as const) {
    assert.equal(nearest(text, known), meant, text);
  }
});

test('a long text is quoted up to a whole character', () => {
  assert.equal(quote(`${'x'.repeat(39)}😀`), `"${'x'.repeat(39)}\u{FFFD}…"`);
});
