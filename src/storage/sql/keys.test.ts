import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { NOW, onSqlite } from '../../../test/kit/storage/bench.ts';
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

test('a plan and a scope of a later release are kept as they are', async () => {
  const { storage: opened } = await openInMemory();
  await using storage = opened;
  const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'free' }, NOW);
  const later = { ...key, plan: 'later' as never, scopes: ['pets:read', 'later:read'] as never[] };
  await storage.keys.insert(later, secretRecord(secret), OPERATOR);
  assert.deepEqual(await storage.keys.find(key.id), later);
});
