import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

test('an export ends with one line feed, in each format, and the usual one is JSON', async () => {
  using folder = temporaryFolder();
  const categories = (...args: string[]) => run(['categories', ...args], { cwd: folder.path });
  // The spaces of the last one are its own.
  writeFileSync(join(folder.path, 'three.csv'), 'name,description\nDog,Loyal\nCat,\nFox,red  \n');
  await categories('import', 'three.csv');
  const json =
    '[\n  {"id":1,"name":"Dog","description":"Loyal"},\n  {"id":2,"name":"Cat"},\n  {"id":3,"name":"Fox","description":"red  "}\n]\n';
  for (const [args, text] of [
    [[], json],
    [['--format', 'json'], json],
    [
      ['--format', 'ndjson'],
      '{"id":1,"name":"Dog","description":"Loyal"}\n{"id":2,"name":"Cat"}\n{"id":3,"name":"Fox","description":"red  "}\n',
    ],
    [['--format', 'csv'], 'id,name,description\n1,Dog,Loyal\n2,Cat,\n3,Fox,red  \n'],
  ] as const)
    assert.equal((await categories('export', ...args)).stdout, text);
});

test('what is listed, renamed and deleted is printed as it is then, and that there is none is told', async () => {
  using folder = temporaryFolder();
  const categories = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['categories', ...args], { cwd: folder.path });
    return [code, stdout, stderr];
  };
  await run(['migrate'], { cwd: folder.path });
  assert.deepEqual(await categories('list'), [0, '', 'No categories yet; `pet-catalog categories import FILE`\n']);
  assert.deepEqual(await categories('list', '--json'), [0, '[]\n', '']);
  writeFileSync(join(folder.path, 'two.csv'), 'name,description\nDog,Loyal\nCat,\n');
  await categories('import', 'two.csv');
  assert.deepEqual(await categories('list'), [0, 'ID  NAME  DESCRIPTION\n1   Dog   Loyal\n2   Cat\n', '']);
  const listed = [
    { id: 1, name: 'Dog', description: 'Loyal' },
    { id: 2, name: 'Cat' },
  ];
  assert.deepEqual(await categories('list', '--json'), [0, `${JSON.stringify(listed)}\n`, '']);
  const renamed = [0, '{"id":1,"name":"Hound","description":"Loyal"}\n', ''];
  assert.deepEqual(await categories('rename', '1', 'Hound', '--json'), renamed);
  assert.deepEqual(await categories('delete', '2'), [0, '', 'Deleted the category 2\n']);
  assert.deepEqual(await categories('import', 'two.csv', '--categories-max', '2'), [
    1,
    '',
    'pet-catalog: The catalog holds 2 categories, which is its bound (CATEGORIES_MAX); of the 2 categories the first 1 would fit\n',
  ]);
  writeFileSync(join(folder.path, 'bad.csv'), 'name\n""\n');
  const [, , told] = await categories('import', 'bad.csv');
  assert.match(`${told}`, /\npet-catalog: Nothing was imported: bad\.csv has 1 invalid record\n$/);
  assert.deepEqual(await categories('export', '--format', 'xml'), [
    2,
    '',
    'pet-catalog: There is no format xml; the formats are json, ndjson, csv\n',
  ]);
});

test('an import reads what it is told to, as it is told to, within the bounds, and says how far it is', async () => {
  using folder = temporaryFolder();
  const shown: unknown[] = [];
  let sent = Buffer.from('{"name":"Dog"}\n{"name":""}\n{}\n');
  const invocation = {
    input: async () => sent,
    progress: (...one: unknown[]) => void shown.push(one),
  };
  const categories = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['categories', ...args], { cwd: folder.path, invocation });
    return [code, stdout, ...stderr.trim().split('\n')];
  };
  writeFileSync(join(folder.path, 'lines.csv'), '{"name":"Dog"}\n{"name":"Cat"}\n');
  writeFileSync(join(folder.path, 'long.json'), JSON.stringify([{ name: 'long', description: 'x'.repeat(1_000) }]));
  assert.deepEqual(await categories('import', 'lines.csv', '--format', 'ndjson'), [0, '', 'Imported 2 categories']);
  assert.deepEqual(shown, [['Importing', 2, 2]]);
  const [code, stdout, ...told] = await categories('import', '-', '--format', 'ndjson');
  assert.deepEqual(
    [code, stdout, told.map((line) => `${line}`.split(';')[0])],
    [
      1,
      '',
      [
        'stdin:2: name is empty',
        'stdin:3: name is missing',
        'pet-catalog: Nothing was imported: stdin has 2 invalid records',
      ],
    ],
  );
  sent = Buffer.from([0xff]);
  assert.deepEqual(await categories('import', '-', '--format', 'csv'), [
    1,
    '',
    'pet-catalog: Cannot read stdin: The file is not UTF-8 text; save it as UTF-8',
  ]);
  assert.deepEqual(await categories('import', '-'), [
    2,
    '',
    'pet-catalog: stdin has no file name that shows the format; add --format',
  ]);
  assert.deepEqual(await categories('import', 'none.csv'), [
    1,
    '',
    "pet-catalog: Cannot read none.csv: ENOENT: no such file or directory, open 'none.csv'",
  ]);
  const [full, , why] = await categories('import', 'long.json', '--categories-bytes-max', '1024');
  assert.deepEqual([full, `${why}`.includes('CATEGORIES_BYTES_MAX')], [1, true], `${why}`);
  for (const id of ['12345678', `${Number.MAX_SAFE_INTEGER}`])
    assert.deepEqual(await categories('delete', id), [
      1,
      '',
      `pet-catalog: There is no category ${id}; the list of categories shows them all`,
    ]);
  for (const id of ['0', '-1', '1.0', `${Number.MAX_SAFE_INTEGER + 1}`])
    assert.deepEqual(await categories('rename', '--', id, 'x'), [
      1,
      '',
      `pet-catalog: There is no category ${id}; the list of categories shows them all`,
    ]);
  assert.deepEqual(readdirSync(join(folder.path, 'data')), ['pet-catalog.db'], 'its log is folded in');
  const { stdout: audit } = await run(['audit'], { cwd: folder.path });
  assert.match(audit, new RegExp(` ${userInfo().username} +cli +categories.import +categories +null → .*"count":2`));
});
