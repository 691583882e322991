import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newCategory } from './category.ts';
import { newOrder } from './order.ts';
import { newPet, newQuantity, petUpdate } from './pet.ts';
import { quote, shortened, validator } from './validate.ts';

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
  [
    newOrder,
    { petId: 1, quantity: 1, shipDate: '2031-01-01T00:00:00+01:00' },
    'shipDate is "2031-01-01T00:00:00+01:00"; send a date and time in UTC such as 2099-12-31T12:00:00Z',
  ],
  [
    newOrder,
    { petId: 1, quantity: 1, shipDate: '2031-02-30T00:00:00Z' },
    'shipDate is "2031-02-30T00:00:00Z", which does not exist; send a real date',
  ],
  [newQuantity, { quantity: -1 }, 'quantity is -1; send a whole number from 0 to 1,000,000'],
  [newQuantity, { quantity: 1_000_001 }, 'quantity is 1000001; send a whole number from 0 to 1,000,000'],
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
  [newPet, { name: 'a\u0007', categoryId }, 'name is "a\\u0007"; send no C0 control character (U+0000 to U+001F)'],
  [newPet, { name: '\n', categoryId }, 'name is "\\n"; send no C0 control character (U+0000 to U+001F)'],
  [
    newCategory,
    { name, description: '\u0000' },
    'description is "\\u0000"; send no C0 control character (U+0000 to U+001F) but tab, LF and CR',
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

test('a name has a character that is not white space, and up to 255 characters, whatever they take', () => {
  const spaces = Array.from({ length: 0x1_0000 }, (_, unit) => String.fromCharCode(unit)).filter((each) =>
    /[\p{White_Space}\uFEFF]/u.test(each),
  );
  assert.equal(spaces.length, 26);
  for (const space of spaces) {
    assert.throws(() => newCategory({ name: space.repeat(2) }), { code: 'validation_failed' }, space);
    if (space >= ' ') assert.equal(newCategory({ name: `${space}a${space}` }).name, `${space}a${space}`);
  }
  const longest = { name: '🐕'.repeat(255), description: `\t\n\r${'🐕'.repeat(1_997)}` };
  assert.deepEqual(newCategory({ ...longest, id: 1 }), longest);
  assert.deepEqual(newCategory({ name: 'a' }), { name: 'a' });
  for (const [member, value, count] of [
    ['name', '🐕'.repeat(256), 256],
    ['description', `${longest.description}🐕`, 2_001],
  ] as const)
    assert.throws(
      () => newCategory({ name, [member]: value }),
      new RegExp(`^CatalogError: ${member} is ${count} characters long`),
    );
  const half = 'name ("a\u{FFFD}") holds half of a surrogate pair; send whole Unicode characters';
  assert.throws(() => newCategory({ name: 'a\uD83D' }), { code: 'validation_failed', message: half });
});

test('an unknown member is refused with the known ones, or with the one that is meant', () => {
  const check = validator({
    type: 'object',
    additionalProperties: false,
    properties: { plan: { type: 'string' }, limits: { type: 'object', additionalProperties: false, properties: {} } },
  });
  for (const [body, message] of [
    [{ x: 1 }, '"x" is no member of the body; it has plan, limits'],
    [{ plans: 1 }, '"plans" is no member of the body; did you mean plan?'],
    [{ limits: { x: 1 } }, '"x" is no member of limits; it has '],
    [{ plan: 7 }, 'plan is 7; send a string'],
    [{ limits: 'x' }, 'limits is "x"; send an object'],
  ] as const)
    assert.throws(() => check(body), { code: 'validation_failed', message });
});

test('what is wrong within an object or a list is named by its place, and a list by its length', () => {
  const minute = { type: 'integer', minimum: 1 } as const;
  const check = validator({
    type: 'object',
    properties: {
      limits: { type: 'object', required: ['minute'], properties: { minute } },
      ids: { type: 'array', minItems: 1, maxItems: 2, items: minute },
      code: { type: 'string', pattern: '^a$' },
    },
  });
  for (const [body, message] of [
    [{ limits: {} }, 'limits.minute is missing; add it to the body'],
    [{ limits: { minute: 0 } }, 'limits.minute is 0; send a whole number from 1'],
    [{ ids: [1, 0] }, 'ids.1 is 0; send a whole number from 1'],
    [{ ids: [] }, 'ids has 0 items; send at least 1'],
    [{ ids: [1, 2, 3] }, 'ids has 3 items; send at most 2'],
    [{ code: 'b' }, 'code is "b"; it must match ^a$'],
  ] as const)
    assert.throws(() => check(body), { code: 'validation_failed', message });
});

test('a long text is quoted up to a whole character', () => {
  assert.equal(quote(`${'x'.repeat(39)}😀`), `"${'x'.repeat(39)}\u{FFFD}…"`);
  assert.deepEqual(
    [40, 41].map((count) => shortened('x'.repeat(count))),
    ['x'.repeat(40), `${'x'.repeat(40)}…`],
  );
  assert.deepEqual([null, true, 1.5, [], {}].map(quote), ['null', 'true', '1.5', 'an array', 'an object']);
});
