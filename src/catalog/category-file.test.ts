import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type NewCategory, newCategory } from './category.ts';
import { FILE_FORMATS, type FileFormat, formatOf, readCategories, writeCategories } from './category-file.ts';
import { CatalogError } from './error.ts';

// Not the unit "binary", for which fast-check lists all characters of Unicode first.
const text = fc.string({ unit: fc.oneof(fc.nat(0x7f), fc.nat(0x10_ffff)).map(String.fromCodePoint), maxLength: 30 });
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

function readText(text: string, format: FileFormat) {
  return readCategories(Buffer.from(text), format);
}

for (const format of FILE_FORMATS) {
  test(`categories written as ${format} read back unchanged`, () => {
    fc.assert(
      fc.property(fc.array(anyCategory, { minLength: 1 }), (categories) => {
        const numbered = categories.map((category, index) => ({ id: index + 1, ...category }));
        const read = readText(writeCategories(numbered, format), format);
        assert.deepEqual(read, { categories: numbered, mistakes: [] });
      }),
      { numRuns: 60 },
    );
  });
}

test('a spreadsheet finds no formula in CSV, and a round trip changes nothing', () => {
  const name = '=HYPERLINK("http://evil.example")';
  const descriptions = [
    '=1+1',
    '+1',
    '-1',
    '@A1',
    '\t=1',
    '\r=1',
    "'=1",
    "'",
    "''quoted'",
    '',
    ' =1',
    '\u3000＝1',
    '＋1',
    '－1',
    '＠A1',
    'a=1',
    'a ＝1',
    'a;=1+1;b',
    "a;''=1",
    'x\t=1+1',
    'a\n"=1"',
    'a|\u00A0@A1',
    'a\r\n-1',
    "a;'b",
  ];
  const categories = descriptions.map((description) => ({ name, description }));
  const numbered = categories.map((category, index) => ({ id: index + 1, ...category }));
  const csv = writeCategories(numbered, 'csv');
  assert.doesNotMatch(csv, /[\n,;|\t\r]["\p{Zs}]*[=+\-@＝＋－＠]/u, 'whatever separates the cells');
  assert.doesNotMatch(csv, /[\n,]"?(?:[\t\r]|\s*[=+\-@＝＋－＠])/);
  assert.deepEqual(readText(csv, 'csv'), { categories: numbered, mistakes: [] });
  assert.deepEqual(readText("name\n'tis\n", 'csv').categories, [{ name: 'tis' }]);
  for (const format of ['json', 'ndjson'] as const) {
    assert.ok(writeCategories(numbered, format).includes('"description":"=1+1"'));
  }
  assert.equal(readText(`[{"name":"'tis"}]`, 'json').categories[0]?.name, "'tis");
});

test('CSV of bare line ends is refused by its first thousand, not read', () => {
  assert.deepEqual(readText(`name\n${'\n'.repeat(1_000)}Dog`, 'csv').categories, [{ name: 'Dog' }]);
  for (const end of ['\n', '\r', '\r\n'])
    assert.throws(() => readText(`name\nDog${end.repeat(100_000)}"`, 'csv'), /more than 1000 empty lines/);
});

test('a mistyped column is refused before its texts are lost, any other one is ignored', () => {
  for (const column of ['descripton', 'Description', 'desciption ']) {
    const { categories, mistakes } = readText(`name,${column}\nDog,Loyal\n`, 'csv');
    const message = `The header has the column ${JSON.stringify(column)}; did you mean description?`;
    assert.deepEqual([categories, mistakes], [[], [{ line: 1, message }]]);
  }
  const others = readText('id,name,colour\n7,Dog,brown\n', 'csv');
  assert.deepEqual(others, { categories: [{ id: 7, name: 'Dog' }], mistakes: [] });
});

test('a header that names a column twice, exactly or nearly, is refused with both names', () => {
  for (const [header, one, other] of [
    ['name,description,name', 'name', 'name'],
    ['name,Name', 'name', 'Name'],
    ['Name,name', 'Name', 'name'],
    ['name,description,nmae', 'name', 'nmae'],
    ['name,description," Description"', 'description', ' Description'],
    ['name,descripton,Description', 'descripton', 'Description'],
    ['id,name,id', 'id', 'id'],
  ] as const) {
    const { categories, mistakes } = readText(`\r\n${header}\r\na,b,c\r\n`, 'csv');
    const [first, second] = [JSON.stringify(one), JSON.stringify(other)];
    const message = `The header has the columns ${first} and ${second}, which may mean the same; keep one of them`;
    assert.deepEqual([categories, mistakes], [[], [{ line: 2, message }]], header);
  }
  assert.deepEqual(readText('name,,\nDog,,\n', 'csv'), { categories: [{ name: 'Dog' }], mistakes: [] });
});

test('a mistyped member is refused before its text is lost, any other one is ignored', () => {
  for (const format of ['json', 'ndjson'] as const) {
    const read = (...records: object[]) =>
      readText(
        format === 'json' ? JSON.stringify(records) : records.map((each) => `${JSON.stringify(each)}\n`).join(''),
        format,
      );
    for (const member of ['descripton', 'Description', 'desciption ']) {
      const { categories, mistakes } = read({ id: 7, name: 'Dog', [member]: 'Loyal' }, { name: 'Cat', n: 1 });
      const message = `${JSON.stringify(member)} is no member of the record, did you mean description?`;
      const place = { record: 1, ...(format === 'ndjson' && { line: 1 }) };
      assert.deepEqual([categories, mistakes], [[{ name: 'Cat' }], [{ ...place, message }]], format);
    }
    const both = read({ name: 'Dog', Description: 'x', description: 'Loyal' });
    assert.deepEqual(both, { categories: [{ name: 'Dog', description: 'Loyal' }], mistakes: [] });
  }
});

test('a foreign file is read only as far as needed to reject it', () => {
  const many = 20_000;
  const files = {
    json: `[${Array.from({ length: many }, () => '0').join(',\n')}]`,
    ndjson: 'no\n'.repeat(many),
    csv: `name\n${'" "\n'.repeat(many)}`,
  };
  for (const format of FILE_FORMATS) {
    const { mistakes } = readText(files[format], format);
    assert.equal(mistakes.length, 1_001, format);
    assert.match(mistakes.at(-1)?.message ?? '', /The rest of the file was not read/);
    const places = mistakes.map(({ record, line }) => [record, line]);
    const line = (record: number) => ({ json: undefined, ndjson: record, csv: record + 1 })[format];
    assert.deepEqual(
      places,
      Array.from({ length: 1_001 }, (_, index) => [index + 1, line(index + 1)]),
    );
  }
});

test('the format follows the extension of the name', () => {
  const names = ['./v1.2/a.csv.JSON', 'b.jsonl', 'c.ndjson', 'd.csv', 'e.txt', 'json'];
  assert.deepEqual(names.map(formatOf), ['json', 'ndjson', 'ndjson', 'csv', undefined, 'json']);
});

test('a file is written as people and other programs expect it', () => {
  const categories = [
    { id: 1, name: 'a', description: '' },
    { id: 2, name: 'b,"c"' },
  ];
  const [one, other] = categories.map((category) => JSON.stringify(category));
  assert.equal(writeCategories(categories, 'json'), `[\n  ${one},\n  ${other}\n]\n`);
  assert.equal(writeCategories(categories, 'ndjson'), `${one}\n${other}\n`);
  assert.equal(writeCategories(categories, 'csv'), 'id,name,description\n1,a,""\n2,"b,""c""",\n');
});

test('every bad row is reported with its line, up to the first broken quote', () => {
  const rows = ['name,description', 'Dog,good', ',second', 'Cow,third,more', 'Hen', '', 'Ant,"two\r\nlines"', '"",x'];
  const cells = 'The row has another number of cells';
  const mistakes = [
    { record: 2, line: 3, message: 'name is missing; add it to the record' },
    { record: 3, line: 4, message: `${cells} (3) than the header (2)` },
    { record: 4, line: 5, message: `${cells} (1) than the header (2)` },
    { record: 6, line: 9, message: 'name is empty; send a string of 1 to 255 characters' },
  ];
  const categories = [
    { name: 'Dog', description: 'good' },
    { name: 'Ant', description: 'two\r\nlines' },
  ];
  for (const end of ['\n', '\r\n', '\r']) {
    assert.deepEqual(readText(rows.join(end), 'csv'), { categories, mistakes });
    for (const [broken, message] of [
      ['"Cat"s,first', 'Text follows the quote that ends a cell of the row; write a quote within a cell twice'],
      ['Pig 5",fifth', 'A cell of the row holds a quote; put the cell into quotes, and write that quote twice'],
      ['"Elk,seventh', 'A quote of the row is not closed; close it, and write a quote within a cell twice'],
    ]) {
      const last = { record: 7, line: 10, message: `${message}; the rest of the file was not read` };
      const read = readText([...rows, broken, ',unread'].join(end), 'csv');
      assert.deepEqual(read, { categories, mistakes: [...mistakes, last] });
    }
  }
});

test('a broken record ends the reading of JSON, and no other of NDJSON', () => {
  const json = readText('[\n  {"name":"a"},\n  {"name":},\n  {"name":"d"}\n]', 'json');
  assert.match(json.mistakes[0]?.message ?? '', /^The file is not valid JSON: Unexpected token '}', .*$/s);
  assert.deepEqual([json.categories, json.mistakes.length, json.mistakes[0]?.record], [[], 1, undefined]);
  const lines = readText('{"name":"a"}\r\n\n{"name":}\n \n{"name":"d"}', 'ndjson');
  assert.deepEqual(lines, {
    categories: [{ name: 'a' }, { name: 'd' }],
    mistakes: [{ record: 2, line: 3, message: 'The line is not valid JSON' }],
  });
});

test('what holds no categories, or is no text, is refused as a whole', () => {
  const longest = { name: '"'.repeat(255), description: '🐕'.repeat(2_000) };
  assert.deepEqual(readText(JSON.stringify([longest]), 'json'), { categories: [longest], mistakes: [] });
  assert.deepEqual(readText('\u{FEFF}[{"name":"a"}]', 'json').categories, [{ name: 'a' }]);
  assert.deepEqual(readText('\u{FEFF}name\na', 'csv').categories, [{ name: 'a' }]);
  for (const [format, text, mistake] of [
    ['json', '{"name":"a"}', { message: 'The file is not a JSON array; write [ … ], or import it as ndjson' }],
    ['json', '[]', { message: 'The file contains no categories' }],
    ['ndjson', '\n', { message: 'The file contains no categories' }],
    ['csv', '', { message: 'The file contains no categories' }],
    ['csv', 'name,description\n\n', { message: 'The file contains no categories' }],
    ['csv', 'Name\na', { line: 1, message: 'The header has no column `name`; write `name,description`' }],
    ['json', '[null]', { record: 1, message: 'The record is null; send an object' }],
    ['ndjson', '[1]', { record: 1, line: 1, message: 'The record is an array; send an object' }],
  ] as const) {
    assert.deepEqual(readText(text, format), { categories: [], mistakes: [mistake] });
  }
  assert.throws(() => readCategories(Buffer.from([0x5b, 0xff]), 'json'), /not UTF-8 text/);
});

test('a row takes 64 KiB, so that a lost quote is reported where it is', () => {
  const bytes = 64 * 1024;
  const cell = (size: number) => `name,x\na,"${'x'.repeat(size)}"`;
  assert.deepEqual(readText(cell(bytes - 1), 'csv'), { categories: [{ name: 'a' }], mistakes: [] });
  const message = `The row is longer than ${bytes} bytes; close its quotes, and write a quote within a cell twice; the rest of the file was not read`;
  assert.deepEqual(readText(cell(bytes + 1), 'csv').mistakes, [{ record: 1, line: 2, message }]);
});
