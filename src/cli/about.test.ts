import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { parse } from 'yaml';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { run } from '../../test/kit/process.ts';
import { SETTINGS } from '../config.ts';

test('config has a line for each setting, with its value and where that came from', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, env: { LOG_LEVEL: 'error', DATABASE_URL: 'postgres://u:hidden@h/d' } };
  const { code, stdout, stderr } = await run(['config', '--port', '9000'], options);
  assert.equal(code, 0);
  const lines = stdout.trim().split('\n');
  assert.deepEqual(
    lines.map((line) => line.split('=')[0]),
    Object.keys(SETTINGS),
  );
  for (const line of [
    'HOST=127.0.0.1  (default)',
    'PORT=9000  (--port)',
    'LOG_LEVEL=error  (the environment)',
    'DATABASE_URL=postgres://u:***@h/d  (the environment)',
  ])
    assert.ok(lines.includes(line), `${line} is not in ${stdout}`);
  assert.equal(stderr, '');
  const { stdout: json } = await run(['config', '--port', '9000', '--json'], options);
  assert.ok(json.includes('{"name":"PORT","value":"9000","from":"--port"}'), json);
});

test('version names the interface and Node beside the service, for programs', async () => {
  const { stdout } = await run(['version', '--json'], { cwd: tmpdir() });
  const { version: service } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const { info } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  assert.deepEqual(JSON.parse(stdout), { version: service, interface: info.version, node: process.versions.node });
});

test('openapi prints the contracts as they are kept, and the same as YAML', async () => {
  using folder = temporaryFolder();
  const openapi = async (...args: string[]) => (await run(['openapi', ...args], { cwd: folder.path })).stdout;
  for (const [file, ...args] of [['openapi.json'], ['operator-openapi.json', '--operator']] as const) {
    const kept = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    assert.equal(await openapi(...args), kept, file);
    const yaml = await openapi('--yaml', ...args);
    assert.deepEqual([parse(yaml), yaml.endsWith('\n\n')], [JSON.parse(kept), false], file);
  }
  assert.deepEqual(await run(['licenses'], { cwd: folder.path }), {
    code: 1,
    stdout: '',
    stderr: 'pet-catalog: A checkout has no list of licences; run `npm run build`, or `npm sbom`\n',
  });
});
