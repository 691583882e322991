import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { test } from 'node:test';
import { issueToken } from '../../src/catalog/operator/access.ts';
import { loginLink, send, signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { BESIDE_SQLITE, commandsOn, noteForCommands } from '../kit/process.ts';
import { testService } from '../kit/service.ts';

/** Who operators are: their names, their sessions, and how one of them is out. */

test('a deep link survives the login, and leads nowhere but into the console', async () => {
  await using service = await testService();
  const { key } = await service.issue();
  const asked = await send(service, `/keys/${key.id}?since=24h`);
  assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/console/login']);
  const cookie = asked.headers.get('set-cookie')?.split(';')[0] ?? '';
  const login = async (sent: string) => {
    const { token } = await loginLink(service);
    const opened = await send(service, '/login', { body: new URLSearchParams({ token }), headers: { cookie: sent } });
    return opened.headers.get('location');
  };
  assert.equal(await login(cookie), `/console/keys/${key.id}?since=24h`);
  for (const wanted of ['//evil.example', '/console//evil.example:80\\', '/console%0d%0aX: y', '%', '/consoles'])
    assert.equal(await login(`pet_catalog_wanted=${wanted}`), '/console', wanted);
});

test('a link of another site leads to its page: the browser asks anew from a page of ours, with its cookie', async () => {
  await using service = await testService();
  const path = '/keys?q=%22shop%22&limit=5';
  const from = (headers: Record<string, string>) => send(service, path, { headers });
  const again = /<meta http-equiv="refresh" content="0; url=\/console\/keys\?q=%22shop%22&amp;limit=5">/;
  const wiki = { referer: 'http://wiki.example/page' };
  for (const elsewhere of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, wiki])
    assert.match(await (await from(elsewhere)).text(), again);
  const ours = { referer: `${service.operatorUrl}/x` };
  for (const own of [{}, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-origin' }, ours])
    assert.equal((await from(own as Record<string, string>)).headers.get('location'), '/console/login');
  const { cookie } = await signIn(service);
  assert.match(await (await from({ cookie, 'sec-fetch-site': 'cross-site' })).text(), /<h1>Keys/);
});

test(
  'an employee is out in one action: sessions, links, tokens and the tokens that they issued',
  BESIDE_SQLITE,
  async () => {
    await using service = await testService();
    const { storage, clock } = service;
    const command = commandsOn(service);
    noteForCommands(service);
    const link = async () => {
      const { stdout } = await command('console login --as dana');
      return { body: new URLSearchParams({ token: new URL(stdout.trim()).searchParams.get('token') ?? '' }) };
    };
    const [unused, opened] = [await link(), await send(service, '/login', await link())];
    const [claim, ...more] = await storage.audit.list({ since: 0, limit: 9 });
    assert.deepEqual([claim?.action, claim?.operator.actor, more], ['console.open', 'dana', []]);
    assert.ok(claim?.operator.user, 'the user of the system who says that it is dana');
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    const other = await signIn(service);
    const context = { storage, now: clock.now().unix, by: OPERATOR };
    for (const name of ['dana', 'dana', 'billing']) await issueToken(context, { name, role: 'keys' });
    const byDana = { ...context, by: { actor: 'dana', via: 'console' } } as const;
    await issueToken(byDana, { name: 'reports', role: 'keys' });
    const status = async () => (await send(service, '/keys', { headers: { cookie } })).status;
    assert.equal(await status(), 200);
    const ended = await command('sessions end --actor dana --as erin');
    assert.deepEqual([ended.code, ended.stderr.startsWith('1 of dana: session_')], [0, true], ended.stderr);
    assert.deepEqual([await status(), (await other.get('/keys')).status], [303, 200]);
    assert.equal((await send(service, '/login', unused)).status, 403, 'a link that was printed and not used');
    const unclear = await command('operators revoke op_1 --actor dana');
    assert.deepEqual([unclear.code, unclear.stderr], [2, 'pet-catalog: Name either an id or --actor, not both\n']);
    const revoked = await command('operators revoke --actor dana --as erin');
    assert.match(revoked.stderr, /^3 of dana: op_/);
    const active = (await storage.tokens.list()).filter(({ revokedAt }) => revokedAt === null);
    assert.deepEqual(
      active.map(({ name }) => name),
      ['billing'],
    );
    const { username } = userInfo();
    const [latest] = await storage.audit.list({ since: 0, limit: 1 });
    assert.deepEqual(latest?.operator, { actor: 'erin', via: 'cli', user: username });
    const told = (await command('audit --limit 1')).stdout;
    assert.ok(told.includes(` erin (${username}) `), told);
    const says = `<bdi>erin</bdi></a> <span class="soft">cli, as the system’s user <bdi>${username}</bdi> says</span>`;
    assert.ok((await other.page('/audit')).includes(says));
  },
);
