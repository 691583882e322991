import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { untilEqual, untilTrue } from '../../test/kit/clock.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { issueMany, openSome } from '../../test/kit/storage/bench.ts';
import { followAudit, storeEvents } from './audit-log.ts';

test('each change by an operator from now on is told once, in order, within a second', async (t) => {
  using folder = temporaryFolder();
  await using storage = await openSome(join(folder.path, 'test.db'));
  await issueMany(storage, 2);
  t.mock.timers.enable({ apis: ['setInterval'] });
  const told: (string | null)[] = [];
  await using _following = await followAudit(storage.audit, ({ target }) => told.push(target));
  const keys = await issueMany(storage, 101);
  t.mock.timers.tick(999);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.deepEqual(told, []);
  t.mock.timers.tick(1);
  await untilTrue(() => told.length >= 101);
  t.mock.timers.tick(1_000);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.deepEqual(
    told,
    keys.map(({ key }) => key.id),
  );
});

test('service events are stored as soon as that can be done, apart from changes', async (t) => {
  using folder = temporaryFolder();
  await using storage = await openSome(join(folder.path, 'test.db'));
  await issueMany(storage, 1);
  const event = (number: number) => ({ at: number, event: 'backup_failed', members: { reason: 'no' } }) as const;
  const waiting = [event(2)];
  t.mock.timers.enable({ apis: ['setInterval'] });
  let isFull = true;
  const audit = {
    list: storage.audit.list.bind(storage.audit),
    addEvent: (...args: Parameters<typeof storage.audit.addEvent>) =>
      isFull ? Promise.reject(new Error('full')) : storage.audit.addEvent(...args),
  };
  {
    await using _storing = await storeEvents(audit, waiting);
    t.mock.timers.tick(1_000);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    isFull = false;
    waiting.push(event(3));
    t.mock.timers.tick(1_000);
    await untilEqual(() => waiting.length, 0);
    waiting.push(event(4));
  }
  waiting.push(event(5));
  t.mock.timers.tick(1_000);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  const entries = await storage.audit.list({ since: 0, limit: 9, target: 'service' });
  assert.deepEqual(
    entries.map(({ at, operator, after }) => [at, operator, after]),
    [4, 3, 2].map((at) => [at, { actor: hostname(), via: 'service' }, { reason: 'no' }]),
  );
  assert.deepEqual(
    (await storage.audit.list({ since: 0, limit: 9 })).map(({ action }) => action),
    ['key.create'],
  );
});

test('what waits is stored at once, and an event that is dropped meanwhile takes no other along', async () => {
  const waiting = [1, 2, 3].map((at) => ({ at, event: 'backup_failed', members: {} }) as const);
  const stored: number[] = [];
  const audit = {
    list: () => assert.fail(),
    async addEvent({ at }: { at: number }) {
      stored.push(at);
      if (at === 1) waiting.shift();
    },
  };
  await using _storing = await storeEvents(audit, waiting);
  assert.deepEqual(stored, [1, 2, 3]);
});
