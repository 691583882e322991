import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../kit/deploy/port.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('how full catalog, database and disk are is in the metrics and doctor', async () => {
  using folder = temporaryFolder();
  const operatorPort = `${await freePort()}`;
  const env = {
    OPERATOR_PORT: operatorPort,
    CATEGORIES_MAX: '10',
    CATEGORIES_BYTES_MAX: '2048',
  };
  const options = { cwd: folder.path, env };
  const file = join(folder.path, 'names.ndjson');
  writeFileSync(file, Array.from({ length: 9 }, (_, index) => `{"name":"c${index}"}\n`).join(''));
  await run(['migrate'], options);
  assert.equal((await run(['categories', 'import', file], options)).code, 0);
  await using _service = await serveProcess([], options);
  const metrics = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
  const sample = (name: string) => Number(new RegExp(`^pet_catalog_${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  assert.deepEqual([sample('categories'), sample('categories_max'), sample('list_bytes_max')], [9, 10, 2_048]);
  // Each is {"id":1,"name":"c0"} with a comma or bracket, and the list has one bracket more.
  assert.equal(sample('list_bytes'), 9 * '{"id":1,"name":"c0"},'.length + 1);
  assert.ok(sample('database_bytes') > 4_096 && sample('disk_free_bytes') > 0 && sample('database_log_bytes') >= 0);

  const { stdout } = await run(['doctor', '--json'], options);
  const findings = JSON.parse(stdout) as { check: string; status: string; finding: string }[];
  const found = (check: string) => findings.find((each) => each.check === check);
  assert.deepEqual(
    [found('catalog')?.status, found('catalog')?.finding],
    ['warning', '9 of 10 categories, in 1 of 1 MiB'],
  );
});
