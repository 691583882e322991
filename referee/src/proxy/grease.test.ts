import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greasedJson, unknownHeaders } from './grease.ts';

const PETS = [
  { id: 1, name: 'Rex', status: 'sold' },
  { id: 2, name: 'Tom', status: 'available' },
];
const PETS_TEXT = JSON.stringify(PETS);

test('every object has an unknown member, and the known ones keep their values', () => {
  const pets: Record<string, unknown>[] = JSON.parse(greasedJson(PETS_TEXT, 'seed'));
  assert.equal(pets.length, 2);
  for (const [index, pet] of pets.entries()) {
    const known = Object.entries(pet).filter(([name]) => !name.startsWith('grease_'));
    assert.deepEqual(Object.fromEntries(known), PETS[index]);
    assert.equal(Object.keys(pet).length, 4);
  }
});

test('so has an object in an object, and one in a list', () => {
  const { tag, kinds } = JSON.parse(greasedJson('{"tag":{"id":1},"kinds":[{"id":2}]}', 'seed'));
  for (const each of [tag, kinds[0]]) assert.match(Object.keys(each).sort().join(), /^grease_[a-z]{6},id$/);
});

test('members change their order, and the unknown ones are objects, arrays and null among others', () => {
  const orders = new Set<string>();
  const kinds = new Set<string>();
  for (let seed = 0; seed < 200; seed += 1) {
    const [pet = {}] = JSON.parse(greasedJson(PETS_TEXT, `${seed}`));
    orders.add(
      Object.keys(pet)
        .filter((name) => !name.startsWith('grease_'))
        .join(),
    );
    for (const [name, value] of Object.entries(pet)) {
      if (name.startsWith('grease_'))
        kinds.add(Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value);
    }
  }
  assert.ok(orders.size >= 4, [...orders].join(' '));
  assert.deepEqual([...kinds].sort(), ['array', 'boolean', 'null', 'number', 'object', 'string']);
});

test('there are one to three unknown headers', () => {
  const counts = Array.from({ length: 50 }, (_, seed) => unknownHeaders(`${seed}`).length / 2);
  assert.deepEqual([...new Set(counts)].sort(), [1, 2, 3]);
});

test('the same seed gives the same, another seed something else', () => {
  assert.equal(greasedJson(PETS_TEXT, 'one'), greasedJson(PETS_TEXT, 'one'));
  assert.notEqual(greasedJson(PETS_TEXT, 'one'), greasedJson(PETS_TEXT, 'two'));
});
