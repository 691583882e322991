import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('how full catalog, database, disk and certificate are is in the metrics, the log and doctor', {
  skip: missingPrograms('openssl'),
}, async () => {
  using folder = temporaryFolder();
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-days', '5', '-newkey', 'rsa:2048', '-nodes'];
  spawnSync('openssl', ['req', '-x509', ...subject, '-keyout', TLS_KEY_FILE, '-out', TLS_CERT_FILE]);
  const operatorPort = `${await freePort()}`;
  const env = {
    OPERATOR_PORT: operatorPort,
    TLS_CERT_FILE,
    TLS_KEY_FILE,
    CATEGORIES_MAX: '10',
    CATEGORIES_BYTES_MAX: '2048',
  };
  const options = { cwd: folder.path, env };
  const file = join(folder.path, 'names.ndjson');
  writeFileSync(file, Array.from({ length: 9 }, (_, index) => `{"name":"c${index}"}\n`).join(''));
  await run(['migrate'], options);
  assert.equal((await run(['categories', 'import', file], options)).code, 0);
  await using service = await serveProcess([], options);
  const metrics = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
  const sample = (name: string) => Number(new RegExp(`^pet_catalog_${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  assert.deepEqual([sample('categories'), sample('categories_max'), sample('list_bytes_max')], [9, 10, 2_048]);
  // Each is {"id":1,"name":"c0"} with a comma or bracket, and the list has one bracket more.
  assert.equal(sample('list_bytes'), 9 * '{"id":1,"name":"c0"},'.length + 1);
  assert.ok(sample('database_bytes') > 4_096 && sample('disk_free_bytes') > 0 && sample('database_log_bytes') >= 0);
  const days = (sample('certificate_expires_timestamp_seconds') - Date.now() / 1_000) / 86_400;
  assert.ok(days > 4 && days <= 5, `${days}`);
  await untilTrue(() => service.output.stderr.includes('"event":"certificate_expires"'), 'the warning');

  const { stdout } = await run(['doctor', '--json'], options);
  const findings = JSON.parse(stdout) as { check: string; status: string; finding: string }[];
  const found = (check: string) => findings.find((each) => each.check === check);
  assert.deepEqual(
    [found('catalog')?.status, found('catalog')?.finding],
    ['warning', '9 of 10 categories, in 1 of 1 MiB'],
  );
  assert.equal(found('certificate')?.status, 'warning');
  const swapped = { ...options, env: { ...env, TLS_KEY_FILE: TLS_CERT_FILE } };
  assert.match((await run(['doctor'], swapped)).stdout, /PROBLEM certificate: /);
});
