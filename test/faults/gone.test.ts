import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/folder.ts';

/** The files of a database that go away under a running service. */

for (const [what, takeAway] of [
  ['its folder is removed', (data: string) => rmSync(data, { recursive: true })],
  ['its folder is moved', (data: string) => renameSync(data, `${data}.moved`)],
  [
    'its folder cannot be looked at',
    (data: string) => {
      renameSync(data, `${data}.moved`);
      symlinkSync('data', data);
    },
  ],
  [
    'its file is replaced',
    (data: string) => {
      copyFileSync(join(data, 'pet-catalog.db'), join(data, 'copy'));
      renameSync(join(data, 'copy'), join(data, 'pet-catalog.db'));
    },
  ],
  ['its log is removed', (data: string) => rmSync(join(data, 'pet-catalog.db-wal'))],
  ['its lock is removed', (data: string) => rmSync(join(data, 'pet-catalog.db.lock'))],
] as const) {
  test(`no create is acknowledged that would be lost when ${what}`, async () => {
    using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const secret = await issueKey(folder.path);
    await using service = await serveHere({ DATABASE_URL: `sqlite:${join(data, 'pet-catalog.db')}` });
    const agent = new Agent({ keepAlive: true });
    const create = (name: string) => send(agent, `${service.url}/categories`, secret, { name });
    assert.equal((await create('before')).status, 201);
    takeAway(data);
    for (let i = 0; i < 20; i += 1) {
      const { status, headers, body } = await create(`${i}`);
      assert.deepEqual([status, headers['retry-after']], [503, '1'], body);
    }
    assert.equal((await send(agent, `${service.url}/categories`, secret)).status, 200, 'readers are served');
    const ready = async () =>
      (await fetch(`${service.operatorUrl}/readyz`, { headers: { connection: 'close' } })).status;
    await untilEqual(() => ready(), 503);
    const errors = service
      .log()
      .split('\n')
      .filter((line) => line.includes('storage_failing'));
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? '', /"level":50.*was removed or replaced while the service runs/);
    agent.destroy();
  });
}

test('a service at rest notices that its database is gone, and recovers when it is back', async () => {
  using folder = temporaryFolder();
  const [data, aside] = [join(folder.path, 'data'), join(folder.path, 'aside')];
  const secret = await issueKey(folder.path);
  await using service = await serveHere({ DATABASE_URL: `sqlite:${join(data, 'pet-catalog.db')}` });
  renameSync(data, aside);
  mkdirSync(data);
  await untilTrue(() => service.log().includes('storage_failing'));
  assert.deepEqual(readdirSync(data), [], 'nothing is made anew');
  rmSync(data, { recursive: true });
  renameSync(aside, data);
  const agent = new Agent({ keepAlive: true });
  await untilTrue(
    async () => (await send(agent, `${service.url}/categories`, secret, { name: 'after' })).status === 201,
  );
  await untilTrue(() => service.log().includes('storage_recovered'));
  agent.destroy();
});
