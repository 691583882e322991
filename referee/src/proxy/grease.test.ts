import assert from 'node:assert/strict';
import { test } from 'node:test';
import { greasedJson } from './grease.ts';

const PETS_TEXT = '[{"id":1,"name":"Rex","status":"sold"},{"id":2,"name":"Tom","status":"available"}]';

test('every object has an unknown member, in lists and objects too, and the known ones keep their values', () => {
  const { tag, kinds } = JSON.parse(greasedJson('{"tag":{"id":1},"kinds":[{"id":2}]}', 'seed'));
  assert.deepEqual([tag.id, kinds[0].id], [1, 2]);
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
  assert.ok(orders.size >= 3, [...orders].join(' '));
  assert.deepEqual([...kinds].sort(), ['array', 'boolean', 'null', 'number', 'object', 'string']);
});

test('the same seed gives the same, another seed something else', () => {
  assert.equal(greasedJson(PETS_TEXT, 'one'), greasedJson(PETS_TEXT, 'one'));
  assert.notEqual(greasedJson(PETS_TEXT, 'one'), greasedJson(PETS_TEXT, 'two'));
});
