import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type NewCategory, newCategory } from './category.ts';
import { FILE_FORMATS, formatOf, readCategories, writeCategories } from './category-file.ts';
import { CatalogError } from './error.ts';

const text = fc.string({ unit: 'binary', maxLength: 30 });
const members: { readonly [Name in keyof Required<NewCategory>]: fc.Arbitrary<unknown> } = {
  name: text,
  description: fc.option(text, { nil: undefined }),
};
const anyCategory = fc
  .record(members)
  .filter((value) => {
    try {
      return newCategory(value) !== undefined;
    } catch (error) {
      if (error instanceof CatalogError) return false;
      throw error;
    }
  })
  .map(newCategory);

for (const format of FILE_FORMATS) {
  test(`categories written as ${format} read back unchanged`, () => {
    fc.assert(
      fc.property(fc.array(anyCategory), (categories) => {
        const numbered = categories.map((category, index) => ({ id: index + 1, ...category }));
        const read = readCategories(writeCategories(numbered, format), format);
        assert.deepEqual(read, { categories, mistakes: [] });
      }),
      { numRuns: 200 },
    );
  });
}

test('a spreadsheet finds no formula in CSV, and a round trip changes nothing', () => {
  const name = '=HYPERLINK("http://evil.example")';
  const descriptions = ['=1+1', '+1', '-1', '@A1', '\t=1', '\r=1', "'=1", "'", "''quoted'", '', ' =1', 'a=1'];
  const categories = descriptions.map((description) => ({ name, description }));
  const numbered = categories.map((category, index) => ({ id: index + 1, ...category }));
  const csv = writeCategories(numbered, 'csv');
  assert.doesNotMatch(csv, /[\n,]"?[=+\-@\t\r]/);
  assert.deepEqual(readCategories(csv, 'csv'), { categories, mistakes: [] });
  assert.deepEqual(readCategories("name\n'tis\n", 'csv').categories, [{ name: 'tis' }]);
  for (const format of ['json', 'ndjson'] as const) {
    assert.ok(writeCategories(numbered, format).includes('"description":"=1+1"'));
  }
  assert.equal(readCategories(`[{"name":"'tis"}]`, 'json').categories[0]?.name, "'tis");
});

test('every bad record of a file is reported with its line', () => {
  const linesOf = (file: string, format: (typeof FILE_FORMATS)[number]) =>
    readCategories(file, format).mistakes.map(({ line }) => line);
  assert.deepEqual(
    linesOf('[\n {"name":"a"},\n {"nam":"b"}, {"name":"[,{"},\n\n {"name":\n  ""}, 7,\n null]', 'json'),
    [3, 5, 6, 7],
  );
  assert.deepEqual(linesOf('{"name":"a"}\n\n{"name":1}\nnot json\n', 'ndjson'), [3, 4]);
  assert.deepEqual(linesOf('name,description\nDog,"two\nlines"\n   ,x\nCat,\n"",y\n', 'csv'), [4, 6]);
});

test('a file that cannot be parsed is reported with the line of the error', () => {
  assert.deepEqual(readCategories('[\n{"name":"a"},\n{]', 'json').mistakes[0]?.line, 3);
  assert.match(readCategories('{"name":"a"}', 'json').mistakes[0]?.message ?? '', /not a JSON array/);
  assert.match(readCategories('title\nDog\n', 'csv').mistakes[0]?.message ?? '', /no column `name`/);
  assert.match(readCategories('name\n"Dog\n', 'csv').mistakes[0]?.message ?? '', /not valid CSV/);
  assert.deepEqual(readCategories('[]', 'json'), { categories: [], mistakes: [] });
});

test('a foreign file is read only as far as needed to reject it', () => {
  const many = 20_000;
  const files = {
    json: `[${Array.from({ length: many }, () => '0').join(',\n')}]`,
    ndjson: 'no\n'.repeat(many),
    csv: `name\n${'" "\n'.repeat(many)}`,
  };
  for (const format of FILE_FORMATS) {
    const { mistakes } = readCategories(files[format], format);
    assert.equal(mistakes.length, 1_001, format);
    assert.match(mistakes.at(-1)?.message ?? '', /The rest of the file was not read/);
    assert.deepEqual(
      mistakes.slice(0, -1).map(({ line }) => line),
      Array.from({ length: 1_000 }, (_, index) => index + (format === 'csv' ? 2 : 1)),
    );
  }
});

test('a description that is missing and one that is empty stay apart in CSV', () => {
  assert.deepEqual(readCategories('name,description\na,\nb,""\n', 'csv').categories, [
    { name: 'a' },
    { name: 'b', description: '' },
  ]);
});

test('the format follows the extension of the name', () => {
  assert.deepEqual(['a.JSON', 'b.jsonl', 'c.ndjson', 'd.csv', 'e.txt', 'json'].map(formatOf), [
    'json',
    'ndjson',
    'ndjson',
    'csv',
    undefined,
    'json',
  ]);
});
