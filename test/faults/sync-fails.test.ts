import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run, runProcess, serveProcess } from '../kit/process.ts';
import { failingSync, noFailingSync } from './failing-sync.ts';

const UNKNOWN = 'of unknown outcome';

test('a failed sync makes the outcome unknown and ends the service with 1; the next start has what was acknowledged', {
  skip: noFailingSync,
}, async () => {
  using folder = temporaryFolder();
  const sync = failingSync(folder.path, UNKNOWN);
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], { cwd: folder.path, env: sync.env });
  const agent = new Agent({ keepAlive: true });
  const create = (name: string) => send(agent, `${service.url}/categories`, secret, { name });
  assert.equal((await create('before')).status, 201);

  sync.fail();
  const lost = await create(UNKNOWN);
  assert.deepEqual([lost.status, JSON.parse(lost.body).code], [503, 'outcome_unknown']);
  assert.equal(await service.ended, 1);
  assert.ok(sync.failed() > 0);
  const told = service.output.stderr.split('\n').filter((line) => line.startsWith('pet-catalog: '));
  assert.deepEqual(told, [
    'pet-catalog: The log of the database ./data/pet-catalog.db could not be synced to the disk: the last writes may or may not be stored; see dmesg, and move the database to another disk',
  ]);
  assert.match(service.output.stderr, /"event":"storage_failing","work":"write"/);
  agent.destroy();

  sync.work();
  await using restarted = await serveHere({ DATABASE_URL: `sqlite:${join(folder.path, 'data/pet-catalog.db')}` });
  const again = new Agent({ keepAlive: true });
  assert.equal((await send(again, `${restarted.url}/categories`, secret, { name: 'after' })).status, 201);
  const { body } = await send(again, `${restarted.url}/categories`, secret);
  const names = (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
  assert.deepEqual([names[0], names.at(-1)], ['before', 'after']);
  again.destroy();
});

test('counts are synced within a second of their requests: where that fails, the service ends', {
  skip: noFailingSync,
}, async () => {
  using folder = temporaryFolder();
  const sync = failingSync(folder.path, 'key_');
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], { cwd: folder.path, env: sync.env });
  const agent = new Agent({ keepAlive: true });
  sync.fail();
  assert.equal((await send(agent, `${service.url}/categories`, secret)).status, 200);
  assert.equal(await service.ended, 1);
  assert.match(service.output.stderr, /could not be synced to the disk/);
  agent.destroy();
});

test('an import whose log cannot be synced ahead of its commit is not acknowledged', {
  skip: noFailingSync,
}, async () => {
  using folder = temporaryFolder();
  const sync = failingSync(folder.path, UNKNOWN);
  const many = Array.from({ length: 5_000 }, (_, index) => ({ name: `${index}`, description: UNKNOWN.repeat(60) }));
  writeFileSync(join(folder.path, 'many.json'), JSON.stringify(many));
  sync.fail();
  // The sync of the commit itself succeeds, as it may once the system gave the pages of the first one up.
  const options = { cwd: folder.path, env: { ...sync.env, FAIL_SYNC_ONCE: 'yes' } };
  const { code, stderr } = await runProcess(['categories', 'import', 'many.json'], options);
  assert.deepEqual(
    [code, /^pet-catalog: .*(could not be synced|did not say whether)/m.test(stderr)],
    [1, true],
    stderr,
  );
  assert.ok(!existsSync(sync.flag));
  assert.deepEqual((await run(['categories', 'list', '--json'], { cwd: folder.path })).stdout, '[]\n');
});
