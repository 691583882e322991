import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greased, greasedJson, holdsObject, unknownHeaders } from './grease.ts';

const PETS = [
  { id: 1, name: 'Rex', status: 'sold' },
  { id: 2, name: 'Tom', status: 'available' },
];
const ANSWER = { status: 200, headers: ['ETag', '"a"', 'Link', 'next'], body: JSON.stringify(PETS) };

test('every object has an unknown member, and the known ones keep their values', () => {
  const pets: Record<string, unknown>[] = JSON.parse(String(greased(ANSWER, 'seed').body));
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

for (const [text, holds] of [
  ['{}', true],
  ['[1,{}]', true],
  ['[[{}]]', false],
  ['[null]', false],
  ['null', false],
  ['"{}"', false],
  ['<!doctype html>', false],
  ['', false],
] as const) {
  test(`${text} ${holds ? 'has' : 'has not'} an object to grease`, () => assert.equal(holdsObject(text), holds));
}

test('members change their order, and the unknown ones are objects, arrays and null among others', () => {
  const orders = new Set<string>();
  const kinds = new Set<string>();
  for (let seed = 0; seed < 200; seed += 1) {
    const [pet = {}] = JSON.parse(String(greased(ANSWER, `${seed}`).body));
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

test('there are unknown headers, and no ETag', () => {
  const { headers = [], cacheControl } = greased({ ...ANSWER, cacheControl: 'private, no-cache' }, 'seed');
  const names = headers.filter((_, index) => index % 2 === 0);
  assert.ok(!names.includes('ETag') && names.includes('Link'));
  assert.ok(names.some((name) => name.startsWith('Grease-')));
  assert.equal(cacheControl, undefined);
  const counts = Array.from({ length: 50 }, (_, seed) => unknownHeaders(`${seed}`).length / 2);
  assert.deepEqual([...new Set(counts)].sort(), [1, 2, 3]);
});

test('the same seed gives the same, another seed something else', () => {
  const bytes = { ...ANSWER, body: [Buffer.from(ANSWER.body.slice(0, 9)), Buffer.from(ANSWER.body.slice(9))] };
  assert.deepEqual(greased(ANSWER, 'one'), greased(bytes, 'one'));
  assert.notDeepEqual(greased(ANSWER, 'one'), greased(ANSWER, 'two'));
});

test('an error body keeps its three members, and an answer without a body has none', () => {
  const error = { code: 'not_found', message: 'No', status: 404 } as const;
  const { body, code, headers } = greased({ status: 404, code: 'not_found', body: JSON.stringify(error) }, 'seed');
  assert.deepEqual(JSON.parse(String(body)), error);
  assert.equal(code, 'not_found');
  const none = greased({ status: 204 }, 'seed');
  assert.equal(none.body, undefined);
  assert.deepEqual([headers, none.headers], [unknownHeaders('seed'), unknownHeaders('seed')]);
});
