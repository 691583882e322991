import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isInt64, type Listing, ListReader, parseJson } from './list-reader.ts';

const read = (...chunks: (string | Buffer)[]): Listing => {
  const reader = new ListReader((name) => name === 'own');
  for (const chunk of chunks) if (!reader.write(Buffer.from(chunk))) break;
  return reader.end();
};
const named = (length: number) => `{"id":1,"name":"${'x'.repeat(length - 18)}"}`;
const MIB = 1024 * 1024;

describe('a list is read the same in one chunk and byte by byte:', () => {
  for (const [text, fault, count] of [
    ['[]', undefined, 0],
    ['\t\r\n [ \t\r\n ] \t\r\n', undefined, 0],
    ['[{"id":1,"name":"a"},\t{"id":2,"name":"b"}]', undefined, 2],
    ['[{"id":1,"name":"],[}{\\"","more":[{"a":[1,2]}]}]', undefined, 1],
    ['[{"id":1,"name":"a\\\\"}]', undefined, 1],
    ['', 'the body is no whole JSON array', 0],
    ['[{"id":1,"name":"a"}', 'the body is no whole JSON array', 0],
    ['[{"id":1,"name":"a"},', 'the body is no whole JSON array', 1],
    ['{"items":[]}', 'the body is no JSON array', 0],
    ['"[]"', 'the body is no JSON array', 0],
    ['[] x', 'something follows the array', 0],
    ['[][]', 'something follows the array', 0],
    ['[,]', 'item 0 is no JSON', 0],
    ['[{"id":1,"name":"a"},]', 'item 1 is no JSON', 1],
    ['[{"id":1,"name":"a"}{}]', 'item 0 is no JSON', 0],
    ['[{"id":1,"name":"a"},null]', 'item 1 is no object', 1],
    ['[[1]]', 'item 0 is no object', 0],
    ['["a"]', 'item 0 is no object', 0],
    ['[{"name":"a"}]', 'item 0 has no id of a category', 0],
    ['[{"id":1}]', 'item 0 has no name of a category', 0],
    ['[{"id":1,"name":2}]', 'item 0 has no name of a category', 0],
    [`[${named(MIB)}]`, undefined, 1],
  ] as const) {
    test(text.length > 80 ? `${text.length} characters` : JSON.stringify(text), () => {
      const bytes = text.length > 80 ? [text.slice(0, 9), text.slice(9)] : [...text];
      for (const listing of [read(text), read(...bytes)]) {
        assert.deepEqual([listing.fault, listing.count], [fault, count]);
      }
    });
  }

  test('an item of more than 1 MiB', () => {
    const text = `[${named(MIB + 1)}`;
    assert.deepEqual(read(text).fault, `item 0 is larger than ${MIB} bytes`);
    assert.deepEqual(read(`[${named(MIB)}`).fault, 'the body is no whole JSON array');
  });
});

test('the first category of each kind that a rule forbids is kept', () => {
  const odd = (...items: string[]) => read(`[${items.join()}]`).odd;
  const [a, b, c] = [1, 2, 3].map((id) => `{"id":${id},"name":"a","description":"b"}`);
  assert.deepEqual(odd(`${a}`, `${b}`, `${c}`), {});
  assert.deepEqual(odd(`${c}`, `${a}`, `${b}`, `${a}`), {
    'not-ascending': { id: 1, name: 'a', description: 'b' },
    'id-twice': { id: 1, name: 'a', description: 'b' },
  });
  assert.deepEqual(odd(`${b}`, `${b}`), { 'id-twice': { id: 2, name: 'a', description: 'b' } });
  for (const [item, kind] of [
    ['{"id":"1","name":"a"}', 'id-no-int64'],
    ['{"id":1.5,"name":"a"}', 'id-no-int64'],
    ['{"id":1,"name":"a","description":null}', 'description-no-string'],
    ['{"id":1,"name":"a","slug":"a"}', 'further-member'],
  ] as const) {
    assert.deepEqual(odd(item), { [kind]: JSON.parse(item) });
  }
});

test('ids are kept as they were written, and of 10,001 categories those of the run', () => {
  const { ids } = read('[{"id":9007199254740993,"name":"a"},{"id":"x","name":"a"},{"id":0,"name":"a"}]');
  assert.deepEqual([...ids], [9_007_199_254_740_993n, 'x', 0]);
  const many = Array.from({ length: 10_000 }, (_, id) => `{"id":${id},"name":"a"}`);
  const own = '{"id":10001,"name":"own"}';
  const { items, count } = read(`[${[...many, '{"id":10000,"name":"a"}', own].join()}]`);
  assert.deepEqual([count, items.length, items.at(-2)?.id, items.at(-1)?.id], [10_002, 10_001, 9_999, 10_001]);
});

test('an integer of 64 bits is one to its ends, and keeps its digits from 16 on', () => {
  for (const [text, is64] of [
    ['9223372036854775807', true],
    ['9223372036854775808', false],
    ['-9223372036854775808', true],
    ['-9223372036854775809', false],
    ['9007199254740993', true],
    ['0', true],
    ['1.5', false],
    ['1e3', true],
    ['1e300', false],
    ['"1"', false],
    ['null', false],
  ] as const) {
    assert.equal(isInt64(parseJson(text)), is64, text);
  }
  assert.equal(parseJson('9007199254740993'), 9_007_199_254_740_993n);
  assert.equal(parseJson('-1000000000000000'), -1_000_000_000_000_000n);
  assert.equal(parseJson('999999999999999'), 999_999_999_999_999);
  assert.equal(parseJson('{'), undefined);
});
