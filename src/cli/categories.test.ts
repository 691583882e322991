import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

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
        'stdin:2: record 2: name is empty',
        'stdin:3: record 3: name is missing',
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
