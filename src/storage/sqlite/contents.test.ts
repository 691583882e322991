import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { wasReplaced } from './contents.ts';
import { openSqlite } from './engine.ts';

test('a database that lost its categories or its keys became empty, and one whose categories were deleted did not', async () => {
  using folder = temporaryFolder();
  const made = async (name: string, ...statements: string[]) => {
    const file = join(folder.path, name);
    const { db } = await openSqlite(file);
    await db.close();
    using database = new DatabaseSync(file);
    for (const statement of statements) database.exec(statement);
    return file;
  };
  const categories = 'UPDATE category_counter SET last_id = 3, count = 3';
  const keys = `INSERT INTO api_keys (id, name, environment, plan, per_minute, per_day, scopes, created_at)
    VALUES ('key_1', 'k', 'staging', 'free', 1, 1, '', 0)`;
  const empty = await made('empty.db');
  const deleted = await made('deleted.db', categories, 'UPDATE category_counter SET count = 0');
  const withCategories = await made('categories.db', categories);
  const withKeys = await made('keys.db', keys);
  const both = await made('both.db', categories, keys);
  for (const [earlier, later, isEmpty] of [
    [both, both, false],
    [both, withKeys, true],
    [both, withCategories, true],
    [withCategories, empty, true],
    [withCategories, deleted, false],
    [deleted, empty, true],
    [empty, both, false],
  ] as const) {
    assert.equal(wasReplaced(earlier, later), isEmpty, `${earlier} ${later}`);
  }
});
