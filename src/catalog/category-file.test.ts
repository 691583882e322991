import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type NewCategory, newCategory } from './category.ts';
import { FILE_FORMATS, type FileFormat, formatOf, readCategories, writeCategories } from './category-file.ts';
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

function readText(text: string, format: FileFormat) {
  return readCategories(Buffer.from(text), format);
}

for (const format of FILE_FORMATS) {
  test(`categories written as ${format} read back unchanged`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyCategory, { minLength: 1 }), async (categories) => {
        const numbered = categories.map((category, index) => ({ id: index + 1, ...category }));
        const read = await readText(writeCategories(numbered, format), format);
        assert.deepEqual(read, { categories, mistakes: [] });
      }),
      { numRuns: 60 },
    );
  });
}

test('a spreadsheet finds no formula in CSV, and a round trip changes nothing', async () => {
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
  ];
  const categories = descriptions.map((description) => ({ name, description }));
  const numbered = categories.map((category, index) => ({ id: index + 1, ...category }));
  const csv = writeCategories(numbered, 'csv');
  assert.doesNotMatch(csv, /[\n,]"?(?:[\t\r]|\s*[=+\-@＝＋－＠])/);
  assert.deepEqual(await readText(csv, 'csv'), { categories, mistakes: [] });
  assert.deepEqual((await readText("name\n'tis\n", 'csv')).categories, [{ name: 'tis' }]);
  for (const format of ['json', 'ndjson'] as const) {
    assert.ok(writeCategories(numbered, format).includes('"description":"=1+1"'));
  }
  assert.equal((await readText(`[{"name":"'tis"}]`, 'json')).categories[0]?.name, "'tis");
});

test('a mistyped column is refused before its texts are lost, any other one is ignored', async () => {
  for (const column of ['descripton', 'Description', 'desciption ']) {
    const { categories, mistakes } = await readText(`name,${column}\nDog,Loyal\n`, 'csv');
    const message = `The header has the column ${JSON.stringify(column)}; did you mean description?`;
    assert.deepEqual([categories, mistakes], [[], [{ line: 1, message }]]);
  }
  const others = await readText('id,name,colour\n7,Dog,brown\n', 'csv');
  assert.deepEqual(others, { categories: [{ name: 'Dog' }], mistakes: [] });
});

test('a header that names a column twice, exactly or nearly, is refused with both names', async () => {
  for (const [header, one, other] of [
    ['name,description,name', 'name', 'name'],
    ['name,Name', 'name', 'Name'],
    ['Name,name', 'Name', 'name'],
    ['name,description,nmae', 'name', 'nmae'],
    ['name,description," Description"', 'description', ' Description'],
    ['name,descripton,Description', 'descripton', 'Description'],
    ['id,name,id', 'id', 'id'],
  ] as const) {
    const { categories, mistakes } = await readText(`\r\n${header}\r\na,b,c\r\n`, 'csv');
    const [first, second] = [JSON.stringify(one), JSON.stringify(other)];
    const message = `The header has the columns ${first} and ${second}, which may mean the same; keep one of them`;
    assert.deepEqual([categories, mistakes], [[], [{ line: 2, message }]], header);
  }
  const empty = await readText('name,,\nDog,,\n', 'csv');
  assert.deepEqual(empty, { categories: [{ name: 'Dog' }], mistakes: [] });
});

test('a mistyped member is refused before its text is lost, any other one is ignored', async () => {
  for (const format of ['json', 'ndjson'] as const) {
    const read = (...records: object[]) =>
      readText(
        format === 'json' ? JSON.stringify(records) : records.map((each) => `${JSON.stringify(each)}\n`).join(''),
        format,
      );
    for (const member of ['descripton', 'Description', 'desciption ']) {
      const { categories, mistakes } = await read({ id: 7, name: 'Dog', [member]: 'Loyal' }, { name: 'Cat', n: 1 });
      const message = `${JSON.stringify(member)} is no member of the record, did you mean description?`;
      assert.deepEqual([categories, mistakes], [[{ name: 'Cat' }], [{ line: 1, message }]], format);
    }
    const both = await read({ name: 'Dog', Description: 'x', description: 'Loyal' });
    assert.deepEqual(both, { categories: [{ name: 'Dog', description: 'Loyal' }], mistakes: [] });
  }
});

test('a foreign file is read only as far as needed to reject it', async () => {
  const many = 20_000;
  const files = {
    json: `[${Array.from({ length: many }, () => '0').join(',\n')}]`,
    ndjson: 'no\n'.repeat(many),
    csv: `name\n${'" "\n'.repeat(many)}`,
  };
  for (const format of FILE_FORMATS) {
    const { mistakes } = await readText(files[format], format);
    assert.equal(mistakes.length, 1_001, format);
    assert.match(mistakes.at(-1)?.message ?? '', /The rest of the file was not read/);
    assert.deepEqual(
      mistakes.slice(0, -1).map(({ line }) => line),
      Array.from({ length: 1_000 }, (_, index) => index + (format === 'csv' ? 2 : 1)),
    );
  }
});

test('the format follows the extension of the name', () => {
  assert.deepEqual(['./v1.2/a.csv.JSON', 'b.jsonl', 'c.ndjson', 'd.csv', 'e.txt', 'json'].map(formatOf), [
    'json',
    'ndjson',
    'ndjson',
    'csv',
    undefined,
    'json',
  ]);
});

test('a hostile file is read up to the first bound that it breaks, however long it is', async () => {
  const megabytes = (text: string, head = '') => head + text.repeat((2 * 1024 * 1024) / text.length);
  const longest = { name: '"'.repeat(255), description: '🐕'.repeat(2_000) };
  const escaped = JSON.stringify(longest).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
  );
  for (const [format, text, line, message] of [
    ['json', megabytes('['), 1, /deeper than 64 levels; the rest of the file was not read/],
    ['json', megabytes('{},'), 1, /not a JSON array/],
    [
      'json',
      megabytes('a', `[${escaped},\n{"name":"`),
      2,
      /longer than 65536 bytes; the rest of the file was not read/,
    ],
    ['json', megabytes(' ', '[{"name":"a"},\n{"name":"b"}'), 2, /not valid JSON from here on/],
    ['json', '[{"name":"a"}] x', 1, /not valid JSON from here on/],
    ['json', '[{"name":"a"},\n]', 2, /not valid JSON; the rest of the file was not read/],
    ['json', '[\n{"name":"a\n"}]', 2, /not valid JSON; the rest of the file was not read/],
    ['ndjson', megabytes('[', '\n'), 2, /longer than 65536 bytes/],
    ['csv', megabytes(',', 'name'), 1, /more than 1000 columns; the rest of the file was not read/],
    ['csv', megabytes(',', 'name\n'), 2, /more than 1000 columns; the rest of the file was not read/],
    ['csv', megabytes('a', 'name\n"'), 2, /longer than 65536 bytes; close its quotes/],
  ] as const) {
    const { mistakes } = await readText(text, format);
    assert.equal(mistakes.length, 1, `${format} ${text.slice(0, 20)}`);
    assert.match(mistakes[0]?.message ?? '', message);
    assert.equal(mistakes[0]?.line, line, `${format} ${text.slice(0, 20)}`);
  }
  assert.deepEqual(await readText(`[${escaped}]`, 'json'), { categories: [longest], mistakes: [] });
  await assert.rejects(readCategories(Buffer.from([0x5b, 0xff]), 'json'), /not UTF-8 text/);
  assert.deepEqual((await readText('\u{FEFF}[{"name":"a"}]', 'json')).categories, [{ name: 'a' }]);
});

test('a record is read up to each bound, and refused in words beyond', async () => {
  const bytes = 64 * 1024;
  const padded = (size: number) => `{"name":"a"${' '.repeat(size - '{"name":"a"}'.length)}}`;
  const deep = (levels: number) => `{"name":"a","x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  const columns = (count: number) => `name${','.repeat(count - 1)}\na${','.repeat(count - 1)}`;
  const cell = (size: number) => `name,x\na,"${'x'.repeat(size)}"`;
  const rest = 'the rest of the file was not read';
  const long = `The row is longer than 65536 bytes; close its quotes, and write a quote within a cell twice; ${rest}`;
  for (const [format, good, bad, line, message] of [
    ['ndjson', padded(bytes), padded(bytes + 1), 1, 'The line is longer than 65536 bytes'],
    ['json', `[${deep(64)}]`, `[${deep(65)}]`, 1, `The record is nested deeper than 64 levels; ${rest}`],
    ['json', `[${padded(bytes)}]`, `[${padded(bytes + 1)}]`, 1, `The record is longer than 65536 bytes; ${rest}`],
    ['csv', columns(1_000), columns(1_001), 1, `The row has more than 1000 columns; ${rest}`],
    ['csv', cell(bytes - 1), cell(bytes + 1), 2, long],
    ['ndjson', '{"name":"a"}', '{"name":"a"', 1, 'The line is not valid JSON'],
    ['ndjson', '{"name":"a"}', '[1]', 1, 'The record is an array; send an object'],
    ['json', '[{"name":"a"}]', '[null]', 1, 'The record is null; send an object'],
    ['csv', 'name\na', 'Name\na', 1, 'The header has no column `name`; write `name,description`'],
    ['json', '[{"name":"a"}]', '{"name":"a"}', 1, 'The file is not a JSON array; write [ … ], or import it as ndjson'],
  ] as const) {
    assert.deepEqual(await readText(good, format), { categories: [{ name: 'a' }], mistakes: [] }, message);
    assert.deepEqual(await readText(bad, format), { categories: [], mistakes: [{ line, message }] });
  }
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

test('every bad row is reported with its line, up to the first broken quote', async () => {
  const rows = ['name,description', 'Dog,good', ',second', 'Cow,third,more', 'Hen', '', 'Ant,"two\r\nlines"', '"",x'];
  const cells = 'The row has another number of cells';
  const mistakes = [
    { line: 3, message: 'name is missing; add it to the record' },
    { line: 4, message: `${cells} (3) than the header (2)` },
    { line: 5, message: `${cells} (1) than the header (2)` },
    { line: 9, message: 'name is empty; send a string of 1 to 255 characters' },
  ];
  const categories = [
    { name: 'Dog', description: 'good' },
    { name: 'Ant', description: 'two\r\nlines' },
  ];
  for (const end of ['\n', '\r\n', '\r']) {
    assert.deepEqual(await readText(rows.join(end), 'csv'), { categories, mistakes });
    for (const [broken, message] of [
      ['"Cat"s,first', 'Text follows the quote that ends a cell of the row; write a quote within a cell twice'],
      ['Pig 5",fifth', 'A cell of the row holds a quote; put the cell into quotes, and write that quote twice'],
      ['"Elk,seventh', 'A quote of the row is not closed; close it, and write a quote within a cell twice'],
    ]) {
      const last = { line: 10, message: `${message}; the rest of the file was not read` };
      const read = await readText([...rows, broken, ',unread'].join(end), 'csv');
      assert.deepEqual(read, { categories, mistakes: [...mistakes, last] });
    }
  }
});

test('a broken record does not end the reading of JSON', async () => {
  const json = '[\n  {"name":"a"},\n  {"name":},\n  {\n    "name" "b"\n  },\n  {"name":"c},\n  {"name":"d"}\n]';
  const read = await readText(json, 'json');
  assert.deepEqual(
    read.categories.map(({ name }) => name),
    ['a', 'd'],
  );
  assert.deepEqual(
    read.mistakes,
    [3, 5, 7].map((line) => ({ line, message: 'The record is not valid JSON' })),
  );
  const many = 6_000;
  const cut = await readText(`[{"name":"a\n},\n${'{"name":"b"},\n'.repeat(many)}{"name":"b"}]`, 'json');
  const message = 'The record is not valid JSON';
  assert.deepEqual([cut.categories.length, cut.mistakes], [many + 1, [{ line: 1, message }]]);
  for (const [format, text] of [
    ['json', '[]'],
    ['ndjson', '\n'],
    ['csv', ''],
    ['csv', 'name,description\n\n'],
  ] as const)
    assert.deepEqual(await readText(text, format), {
      categories: [],
      mistakes: [{ line: 1, message: 'The file contains no categories' }],
    });
});

test('the event loop turns once for every 64 KiB of a long file', async () => {
  const many = 9_000;
  for (const [format, text, count] of [
    ['json', `[${'{"name":"a"},'.repeat(many)}{"name":"a"}]`, many + 1],
    ['json', `[${' '.repeat(100 * many)}]`, 0],
    ['json', `[{]\n${'xx\n'.repeat(10 * many)}`, 0],
    ['ndjson', '{"name":"a"}\n'.repeat(many), many],
    ['ndjson', '\n'.repeat(100 * many), 0],
    ['csv', `name\n${'a\n'.repeat(4 * many)}`, 4 * many],
  ] as const) {
    let turns = 0;
    let isRead = false;
    const turn = () => {
      turns += 1;
      if (!isRead) setImmediate(turn);
    };
    setImmediate(turn);
    const { categories } = await readText(text, format);
    isRead = true;
    assert.equal(categories.length, count);
    const slices = Math.floor(text.length / (64 * 1024));
    assert.ok(slices >= 1 && turns >= slices, `${turns} turns for ${slices} slices of ${format}`);
  }
});
