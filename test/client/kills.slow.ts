import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetCatalog } from '../../client/src/pet-catalog.ts';
import { untilTrue } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { serveProcess } from '../kit/process.ts';

const CREATES = 1_000;
const KILL_AFTER = [150, 500];

test('killing and restarting the service during 1,000 creates leaves exactly 1,000 categories', async () => {
  using folder = temporaryFolder();
  const apiKey = await issueKey(folder.path);
  const env = { PORT: `${await freePort()}`, OPERATOR_PORT: '0' };
  let service = await serveProcess([], { cwd: folder.path, env });
  try {
    let [created, repeated] = [0, 0];
    const catalog = new PetCatalog({
      ...{ baseUrl: service.url, apiKey, timeoutMs: 100_000, maxRetries: 99 },
      onResponse: ({ attempt }) => {
        if (attempt > 1) repeated += 1;
      },
    });
    const name = (index: number) => `category ${index}`;
    const creates = Array.from({ length: CREATES }, async (_, index) => {
      await catalog.categories.create({ name: name(index) });
      created += 1;
    });
    const all = Promise.all(creates);
    all.catch(() => {});
    for (const enough of KILL_AFTER) {
      await Promise.race([untilTrue(() => created >= enough, 'creates'), all]);
      assert.ok(created < CREATES, 'all were created before the kill');
      await service.end('SIGKILL');
      service = await serveProcess([], { cwd: folder.path, env });
    }
    await all;
    assert.ok(repeated > 0, 'no create was interrupted');
    const list = await catalog.categories.list();
    assert.equal(list.length, CREATES);
    assert.deepEqual(
      new Set(list.map((category) => category.name)),
      new Set(Array.from({ length: CREATES }, (_, index) => name(index))),
    );
  } finally {
    await service[Symbol.asyncDispose]();
  }
});
