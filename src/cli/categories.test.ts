import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

test('an export ends with one line feed, in each format, and the usual one is JSON', async () => {
  using folder = temporaryFolder();
  const categories = (...args: string[]) => run(['categories', ...args], { cwd: folder.path });
  writeFileSync(join(folder.path, 'two.csv'), 'name,description\nDog,Loyal\nCat,\n');
  await categories('import', 'two.csv');
  const json = '[\n  {"id":1,"name":"Dog","description":"Loyal"},\n  {"id":2,"name":"Cat"}\n]\n';
  for (const [args, text] of [
    [[], json],
    [['--format', 'json'], json],
    [['--format', 'ndjson'], '{"id":1,"name":"Dog","description":"Loyal"}\n{"id":2,"name":"Cat"}\n'],
    [['--format', 'csv'], 'id,name,description\n1,Dog,Loyal\n2,Cat,\n'],
  ] as const)
    assert.equal((await categories('export', ...args)).stdout, text);
});

test('an empty list is told on stderr, and is an array for programs', async () => {
  using folder = temporaryFolder();
  const categories = (...args: string[]) => run(['categories', ...args], { cwd: folder.path });
  await run(['migrate'], { cwd: folder.path });
  const none = 'No categories yet; `pet-catalog categories import FILE`\n';
  assert.deepEqual(await categories('list'), { code: 0, stdout: '', stderr: none });
  assert.deepEqual(await categories('list', '--json'), { code: 0, stdout: '[]\n', stderr: '' });
});

test('a file that cannot be read or told ends an import, each with its code', async () => {
  using folder = temporaryFolder();
  const load = (...args: string[]) => run(['categories', 'import', ...args], { cwd: folder.path });
  for (const [args, code, told] of [
    [['none.csv'], 1, /^pet-catalog: Cannot read none\.csv: ENOENT/],
    [['some.txt'], 2, /^pet-catalog: Cannot tell the format of some\.txt by its extension; add --format\n$/],
    [['-'], 2, /^pet-catalog: stdin has no file name that shows the format; add --format\n$/],
    [['some.txt', '--format', 'xml'], 2, /^pet-catalog: There is no format xml; the formats are json, ndjson, csv\n$/],
  ] as const) {
    const { stderr, ...ended } = await load(...args);
    assert.deepEqual(ended, { code, stdout: '' });
    assert.match(stderr, told);
  }
});
