import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { run } from '../../test/kit/process.ts';

const NOTHING = 'pet-catalog: Nothing was imported: stdin has 2 invalid records';
const noCategory = (id: string) => `There is no category ${id}; the list of categories shows them all`;

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
  assert.deepEqual(await categories('import', 'lines.csv', '--format', 'ndjson', '--as', 'ann'), [
    0,
    '',
    'Imported 2 categories',
  ]);
  assert.deepEqual(shown, [['Importing', 2, 2]]);
  const told = await categories('import', '-', '--format', 'ndjson');
  assert.deepEqual(
    told.map((line) => `${line}`.split(';')[0]),
    ['1', '', 'stdin:2: record 2: name is empty', 'stdin:3: record 3: name is missing', NOTHING],
  );
  sent = Buffer.from([0xff]);
  for (const [code, args, message] of [
    [1, 'import - --format csv', 'Cannot read stdin: The file is not UTF-8 text; save it as UTF-8'],
    [2, 'import -', 'stdin has no file name that shows the format; add --format'],
    [1, 'import none.csv', "Cannot read none.csv: ENOENT: no such file or directory, open 'none.csv'"],
    ...['12345678', `${Number.MAX_SAFE_INTEGER}`].map((id) => [1, `delete ${id}`, noCategory(id)] as const),
    ...['0', '-1', '1.0', `${2 ** 53}`].map((id) => [1, `rename -- ${id} x`, noCategory(id)] as const),
  ] as const)
    assert.deepEqual(await categories(...args.split(' ')), [code, '', `pet-catalog: ${message}`], args);
  const [full, , why] = await categories('import', 'long.json', '--categories-bytes-max', '1024');
  assert.deepEqual([full, `${why}`.includes('CATEGORIES_BYTES_MAX')], [1, true], `${why}`);
  assert.deepEqual(readdirSync(join(folder.path, 'data')), ['pet-catalog.db'], 'its log is folded in');
  const { stdout: audit } = await run(['audit'], { cwd: folder.path });
  const said = ` ann .${userInfo().username}. +cli +categories.import +categories +null → 2 categories, 1–2 from "lines.csv" .entry 1.\n`;
  assert.match(audit, new RegExp(said));
});

test('an import is refused if names, and ids where the file has them, are there, and undone by its entry', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  writeFileSync(join(cwd, 'a.csv'), 'name\nEel\nCat\nDog\n');
  writeFileSync(join(cwd, 'b.json'), '[{"id":1,"name":"Dog"},{"id":2,"name":"Cat"},{"id":"x","name":"Eel"}]');
  const refused = (there: string) => `pet-catalog: Nothing was imported: ${there}; see --again`;
  for (const [line, said] of [
    ['import a.csv', 'Imported 3 categories'],
    ['import a.csv', refused('3 of 3 are there already, the first is record 1')],
    ['import b.json', refused('2 of 3 are there already, the first is record 2')],
    ['import b.json --again', 'Imported 3 categories'],
    ['delete 4', 'Deleted the category 4'],
    ['delete --imported 2', 'Deleted 2 of the 3 categories of the import; the others were deleted before'],
    ['delete --imported 2', 'pet-catalog: Every category of the import is deleted already'],
  ] as const)
    assert.equal((await run(['categories', ...line.split(' ')], { cwd })).stderr, `${said}\n`, line);
});

test('what a terminal would act upon or turn around is printed as an escape, in tables and JSON', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  writeFileSync(join(folder.path, 'names.json'), JSON.stringify([{ name: 'a\u202Eb\u2066c\u2028d\u00E9' }]));
  assert.equal((await run(['categories', 'import', 'names.json'], options)).code, 0);
  for (const args of [
    ['list', '--json'],
    ['show', '1'],
    ['show', '1', '--json'],
  ]) {
    const { stdout, stderr } = await run(['categories', ...args], options);
    assert.ok(stdout.includes('a\\u202eb\\u2066c\\u2028dé'), `${stdout}${stderr}`);
  }
});
