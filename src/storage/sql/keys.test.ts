import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { manualClock } from '../../../test/kit/clock.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { issue, NOW, onSqlite } from '../../../test/kit/storage/bench.ts';
import { keysContract } from '../../../test/kit/storage/keys.ts';
import { newApiKey, secretRecord } from '../../catalog/api-key.ts';
import { openEngine } from '../open.ts';
import { SqlStorage } from './storage.ts';

keysContract(onSqlite);

async function openInMemory() {
  const engine = await openEngine({ engine: 'sqlite', file: ':memory:' });
  const options = { time: manualClock(), categoriesMax: 10, categoriesBytesMax: 1_000 };
  return { db: engine.db, storage: new SqlStorage(engine, options) };
}

test('a key opens nothing if its row or that of its secret is damaged, also after a rotation', async () => {
  const { db, storage: opened } = await openInMemory();
  await using storage = opened;
  const opens = async (secret: string) => (await storage.keys.findBySecret(secretRecord(secret).hash)) !== undefined;
  const { key, secret } = await issue(storage);
  assert.equal(await opens(secret), true);
  await db.run(sql`update api_keys set per_minute = 1000000 where id = ${key.id}`);
  assert.equal(await opens(secret), false);
  await db.run(sql`update api_keys set per_minute = ${key.limits.minute} where id = ${key.id}`);
  assert.equal(await opens(secret), true);
  await db.run(sql`update api_key_secrets set prefix = 'other' where key_id = ${key.id}`);
  assert.equal(await opens(secret), false);
  const rotation = { now: NOW, oldEndAt: NOW + 100, by: OPERATOR };
  await storage.keys.rotate(key.id, secretRecord('petcat_live_second'), rotation);
  assert.equal(await opens('petcat_live_second'), true);
  assert.equal(await opens(secret), false, 'ending a damaged secret does not make it look intact');
});

test('a plan and a scope of a later release are kept as they are', async () => {
  const { storage: opened } = await openInMemory();
  await using storage = opened;
  const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'free' }, NOW);
  const later = { ...key, plan: 'later' as never, scopes: ['pets:read', 'later:read'] as never[] };
  await storage.keys.insert(later, secretRecord(secret), OPERATOR);
  assert.deepEqual(await storage.keys.find(key.id), later);
});
