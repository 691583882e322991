import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

/** Tokens of the operator API on the command line, beside a service that runs. */

test('a token that is printed once works at once, is listed without its secret, and ends when it is revoked', async () => {
  using folder = temporaryFolder();
  await using _service = await serveProcess([], { cwd: folder.path, env: { OPERATOR_PORT: '0' } });
  const command = (...args: string[]) => run(args, { cwd: folder.path });
  const [, operatorUrl = ''] = /^(http:.*)\/console/.exec((await command('console', 'login')).stdout) ?? [];
  const made = await command('operators', 'create', '--name', 'billing', '--role', 'viewer', '--expires', '90d');
  assert.match(made.stdout, /^petcat_op_[0-9A-Za-z]{36}\n$/);
  const secret = made.stdout.trim();
  const status = async () => {
    const headers = { authorization: `Bearer ${secret}`, connection: 'close' };
    return (await fetch(`${operatorUrl}/api/v1/keys`, { headers })).status;
  };
  assert.equal(await status(), 200);
  const [listed] = JSON.parse((await command('operators', 'list', '--json')).stdout);
  const { id, createdAt, expiresAt, ...rest } = listed;
  assert.deepEqual(rest, { name: 'billing', prefix: secret.slice(0, 16), role: 'viewer', revokedAt: null });
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 90 * 86_400_000);
  assert.match((await command('operators', 'list')).stdout, /billing +petcat_op_.{6}… +viewer .* active until /);
  assert.ok(JSON.parse((await command('operators', 'revoke', id, '--json')).stdout).revokedAt);
  assert.equal(await status(), 401);
  assert.match((await command('operators', 'list')).stdout, / revoked 2/);
  assert.match((await command('audit')).stdout, /operator\.revoke +op_/);
  const wrong = [
    ['create', '--name', 'x', '--role', 'root'],
    ['create', '--name', ' ', '--role', 'keys'],
    ['create', '--role', 'keys'],
    ['create', '--name', 'x'],
    ['create', '--name', 'x', '--role', 'keys', '--expires', 'soon'],
  ];
  for (const args of wrong) assert.equal((await command('operators', ...args)).code, 2, args.join(' '));
  assert.equal((await command('operators', 'revoke', 'op_none')).code, 1);
});

test('a key keeps the owner that it is issued with', async () => {
  using folder = temporaryFolder();
  const command = (...args: string[]) => run(args, { cwd: folder.path });
  const made = JSON.parse((await command('keys', 'create', '--name', 'shop', '--owner', 'cus_1', '--json')).stdout);
  assert.deepEqual([made.owner, made.lastUsedAt], ['cus_1', null]);
  assert.equal(JSON.parse((await command('keys', 'show', made.id)).stdout).owner, 'cus_1');
  assert.equal((await command('keys', 'create', '--name', 'shop', '--owner', ' ')).code, 2);
});
