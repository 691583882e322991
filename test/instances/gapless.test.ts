import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Category } from '../../src/catalog/category.ts';
import { send } from '../kit/faults/creating.ts';
import { UNLIMITED_OPTIONS } from '../kit/faults/kills.ts';
import { startInstances } from '../kit/instances.ts';
import { noPostgres } from '../kit/postgres.ts';
import { redisServerMissing } from '../kit/redis-server.ts';

const CREATES = 20;

const options = { skip: noPostgres || redisServerMissing() };

test('readers that remember the highest id miss no concurrent create of two instances', options, async (t) => {
  await using instances = await startInstances(2);
  const secret = await instances.command('keys', 'create', '--name', 'test', ...UNLIMITED_OPTIONS);
  const agent = new Agent({ keepAlive: true });
  const list = async (url: string) => JSON.parse((await send(agent, `${url}/categories`, secret)).body) as Category[];
  let isOver = false;
  let reads = 0;
  const readNew = async (url: string) => {
    const met: number[] = [];
    for (let isLast = false; !isLast; reads += 1) {
      isLast = isOver;
      const highest = met.at(-1) ?? 0;
      for (const { id } of await list(url)) if (id > highest) met.push(id);
      await nextTurn();
    }
    return met;
  };
  const createSome = async (url: string) => {
    for (let i = 0; i < CREATES; i += 1) {
      const { status, body } = await send(agent, `${url}/categories`, secret, { name: `${i}` });
      assert.equal(status, 201);
      const { id } = JSON.parse(body) as Category;
      assert.ok(
        (await list(url)).some((category) => category.id === id),
        'its instance lists it at once',
      );
    }
  };
  const urls = instances.services.map(({ url }) => url);
  const reading = Promise.all(urls.map(readNew));
  await Promise.all(urls.flatMap((url) => [createSome(url), createSome(url)]));
  isOver = true;
  const all = Array.from({ length: 4 * CREATES }, (_, index) => index + 1);
  const behind = async () => (await Promise.all(urls.map(list))).some(({ length }) => length < all.length);
  while (await behind()) await nextTurn();
  for (const met of await reading) assert.deepEqual(met, all.slice(0, met.length), 'one was skipped');
  t.diagnostic(`${reads} lists were read beside ${all.length} creates`);
  agent.destroy();
});
