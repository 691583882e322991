import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { failingSync, noFailingSync } from '../kit/faults/failing-sync.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const UNKNOWN = 'of unknown outcome';

test('after a failed sync the outcome is unknown, and nothing is written until a sync succeeds', {
  skip: noFailingSync,
}, async () => {
  using folder = temporaryFolder();
  const sync = failingSync(folder.path, UNKNOWN);
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], { cwd: folder.path, env: sync.env });
  const agent = new Agent({ keepAlive: true });
  const create = async (name: string) => {
    const { status, body } = await send(agent, `${service.url}/categories`, secret, { name });
    return { status, code: JSON.parse(body).code as string | undefined };
  };
  const names = async () => namesIn((await send(agent, `${service.url}/categories`, secret)).body);
  assert.equal((await create('before')).status, 201);

  sync.fail();
  assert.deepEqual(await create(UNKNOWN), { status: 503, code: 'outcome_unknown' });
  const file = join(folder.path, 'data', 'pet-catalog.db');
  const log = readFileSync(`${file}-wal`);
  assert.ok(log.includes(UNKNOWN), 'the transaction is in the log, so that it may be there after a crash');
  const failed = sync.failed();
  await untilTrue(async () => {
    assert.deepEqual(await create('refused'), { status: 503, code: 'unavailable' });
    return sync.failed() >= failed + 2;
  });
  assert.deepEqual(await names(), ['before'], 'reads are served');
  assert.deepEqual(readFileSync(`${file}-wal`), log, 'nothing was written to the log');

  // As a crash at this moment would leave the files.
  const crashed = join(folder.path, 'crashed', 'data');
  mkdirSync(crashed, { recursive: true });
  for (const part of ['', '-wal']) copyFileSync(file + part, join(crashed, `pet-catalog.db${part}`));

  sync.work();
  await untilEqual(async () => (await create('after')).status, 201);
  const kept = await names();
  assert.equal(kept[0], 'before');
  assert.equal(kept.at(-1), 'after');
  assert.match(service.output.stderr, /"event":"storage_failing","work":"write".*could not be synced/);
  await untilTrue(async () => service.output.stderr.includes('"event":"storage_recovered","work":"write"'));
  await service.end('SIGKILL');
  await using restarted = await serveProcess([], { cwd: folder.path });
  assert.deepEqual(namesIn((await send(agent, `${restarted.url}/categories`, secret)).body), kept);
  await restarted.end();

  await using afterCrash = await serveProcess([], { cwd: join(folder.path, 'crashed') });
  const found = namesIn((await send(agent, `${afterCrash.url}/categories`, secret)).body);
  assert.deepEqual(found, ['before', UNKNOWN], '`unavailable` would have said that nothing was stored');
  agent.destroy();
});

function namesIn(body: string): string[] {
  return (JSON.parse(body) as { name: string }[]).map(({ name }) => name);
}
