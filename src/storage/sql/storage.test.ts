import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { issue, NOW, onSqlite, openSome } from '../../../test/kit/storage/bench.ts';
import { storageContract } from '../../../test/storage/contract.ts';
import { newApiKey, secretRecord } from '../../catalog/api-key.ts';
import { SERVICE_TARGET } from '../../catalog/audit.ts';
import { NO_COUNTS } from '../../catalog/window-counts.ts';
import { rowsInsert } from './statement.ts';
import type { SqlStorage } from './storage.ts';
import type { Tables } from './tables.ts';

storageContract(onSqlite);

onSqlite('more keys than are read at once are counted once each', async ({ storage }) => {
  const { key } = await issue(storage);
  const { transactions, limits } = storage as SqlStorage;
  const ids = Array.from({ length: 4_000 }, (_, number) => `${key.id}${number}`);
  await transactions.transact(async (trx) => {
    const [row] = await trx.all<Tables['api_keys']>(sql`select * from api_keys`);
    await rowsInsert('api_keys')(
      trx,
      ids.map((id) => ({ ...row, id }) as Tables['api_keys']),
    );
  });
  const [day, dayUsed] = [Math.floor(NOW / 86_400), key.limits.day];
  await limits.saveCounts(ids.map((keyId) => ({ ...NO_COUNTS, keyId, day, dayUsed })));
  assert.equal((await limits.findNearDayLimit()).length, 4_000);
});

test('a plan and a scope of a later release are kept as they are', async () => {
  await using storage = await openSome();
  const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'free' }, NOW);
  const later = { ...key, plan: 'later' as never, scopes: ['pets:read', 'later:read'] as never[] };
  await storage.keys.insert(later, secretRecord(secret), OPERATOR);
  assert.deepEqual(await storage.keys.find(key.id), later);
});

test('of events of the service the last thousand are kept, and every change by an operator', async () => {
  await using storage = await openSome();
  await issue(storage, { name: 'Dog' });
  for (let at = 0; at <= 1_000; at += 1) await storage.audit.addEvent({ at, event: 'started', members: {} }, OPERATOR);
  const listed = await storage.audit.list({ since: 0, limit: 2_000, target: SERVICE_TARGET });
  assert.deepEqual([listed.length, listed[0]?.at, listed.at(-1)?.at], [1_000, 1_000, 1]);
  for (const [text, count] of [
    ['dog', 1],
    ['do', 0],
  ] as const)
    assert.equal((await storage.audit.list({ since: 0, limit: 10, text })).length, count, text);
});

test('the clock by which counts are merged is read once no other instance can store any', async () => {
  using folder = temporaryFolder();
  await using storage = await openSome(`${folder.path}/x.db`);
  using other = new DatabaseSync(`${folder.path}/x.db`);
  other.exec('begin immediate');
  let readings = 0;
  const raised = storage.limits.raiseCounts([{ ...NO_COUNTS, keyId: 'key_1' }], () => {
    readings += 1;
    return NOW;
  });
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.equal(readings, 0);
  other.exec('rollback');
  await raised;
  assert.equal(readings, 1);
});
