import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { run } from '../../test/kit/process.ts';
import type { Config } from '../config.ts';
import { runInThread } from '../shipped.ts';

test('checks that fail in their thread fail with its error', async () => {
  await assert.rejects(runInThread('examine', {} as Config), /^TypeError: Cannot read properties of undefined/);
});

test('an operator listener beyond loopback is a notice, unless its names or its proxies are set', async () => {
  using folder = temporaryFolder();
  const warned = async (host: string, env = {}) => {
    const { code, stdout } = await run(['doctor', '--host', host, '--operator-host', host], { cwd: folder.path, env });
    assert.equal(code, 0);
    return stdout.includes(`warning settings: OPERATOR_HOST is ${host}: `);
  };
  for (const host of ['127.0.0.1', '127.255.0.9', '::1', 'localhost']) assert.equal(await warned(host), false, host);
  for (const host of ['0.0.0.0', '::', '::1f', '1127.0.0.1', '10.127.0.1', 'localhost.example', 'my.localhost'])
    assert.equal(await warned(host), true, host);
  const proxied = {
    OPERATOR_IDENTITY_HEADER: 'X-Forwarded-User',
    OPERATOR_IDENTITY_PROXIES: '10.0.0.2',
    OPERATOR_ROLES: '*=viewer',
  };
  for (const env of [{ OPERATOR_HOSTS: 'console.example.com' }, proxied])
    assert.equal(await warned('10.0.0.1', env), false);
});
