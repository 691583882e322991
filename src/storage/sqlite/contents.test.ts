import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { databasePlace } from '../../../test/kit/storage/files.ts';
import { findDamagedRows } from './contents.ts';

test('each damaged row is named, also one with a number beyond those of JavaScript', async () => {
  using place = await databasePlace();
  const { file, key } = place;
  using database = new DatabaseSync(file);
  assert.deepEqual(findDamagedRows(database), []);
  database.exec("INSERT INTO pets VALUES (7, 'Rex', 1, 'sold', 0, 0, 'k', null)");
  assert.deepEqual(findDamagedRows(database), [], 'a row without a checksum was written before there were any');
  database.exec('UPDATE pets SET checksum = 9007199254740993');
  database.exec("UPDATE api_keys SET per_day = 9223372036854775807; UPDATE api_key_secrets SET prefix = ''");
  assert.deepEqual(findDamagedRows(database), ['pets 7', `api_keys ${key.id}`, `api_key_secrets ${key.id}`]);
});
