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
