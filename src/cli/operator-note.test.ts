import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/service.ts';
import type { DatabaseAddress } from '../config.ts';
import { claimFile, isClaimed } from '../storage/sqlite/claim.ts';
import { findOperator, noteOperator } from './operator-note.ts';

const NOTED = { url: 'http://127.0.0.1:4', loginSecret: 'hidden' };

test('the note of a service stands in its lock, for its user alone, until the service ends', () => {
  using folder = temporaryFolder();
  const database = { engine: 'sqlite', file: join(folder.path, 'x.db') } as const;
  assert.deepEqual(findOperator(database), {});
  {
    using _claim = claimFile(database.file);
    {
      using _note = noteOperator(database, { ...NOTED, loginSecret: 'a longer one' });
    }
    using _note = noteOperator(database, NOTED);
    assert.equal(statSync(`${database.file}.lock`).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder.path), ['x.db.lock']);
    // In this process: a read of the file that closes it would end the claim.
    assert.throws(() => claimFile(database.file), /Another service runs/);
  }
  assert.deepEqual(findOperator(database), {});
  using _nowhere = noteOperator({ engine: 'sqlite', file: join(folder.path, 'none/x.db') }, NOTED);
  using _inMemory = noteOperator({ engine: 'sqlite', file: ':memory:' }, NOTED);
  assert.deepEqual([readdirSync(folder.path), existsSync(':memory:.lock')], [['x.db.lock'], false]);
});

test('a note that a killed service left is found, and is in the way of no claim', () => {
  using folder = temporaryFolder();
  const database = { engine: 'sqlite', file: join(folder.path, 'x.db') } as const;
  {
    using _claim = claimFile(database.file);
  }
  appendFileSync(`${database.file}.lock`, `${NOTED.url}\n${NOTED.loginSecret}\n`);
  assert.deepEqual(findOperator(database), NOTED);
  // As the release before this one claims.
  using before = new DatabaseSync(`${database.file}.lock`);
  before.exec('BEGIN EXCLUSIVE');
  assert.throws(() => claimFile(database.file), /Another service runs/);
  before.exec('ROLLBACK');
  using _claim = claimFile(database.file);
  assert.equal(isClaimed(database.file), true);
});

test('the note on a server lies in the working folder, or in its data, for its user alone, whatever the password is', () => {
  using folder = temporaryFolder();
  const before = process.cwd();
  process.chdir(folder.path);
  try {
    const at = (password: string): DatabaseAddress => ({ engine: 'postgres', url: `postgres://u:${password}@h/d` });
    const names = (path: string) => readdirSync(path).filter((name) => /^postgres-[0-9a-f]{16}\.operator$/.test(name));
    {
      using _note = noteOperator(at('old'), NOTED);
      const [noted = ''] = names('.');
      assert.deepEqual([statSync(noted).mode & 0o777, findOperator(at('new'))], [0o600, NOTED]);
      assert.deepEqual(findOperator({ engine: 'postgres', url: 'postgres://u:old@h/other' }), {});
    }
    mkdirSync('data');
    using _note = noteOperator(at('old'), NOTED);
    assert.deepEqual([names('.').length, names('data').length, findOperator(at('new'))], [0, 1, NOTED]);
  } finally {
    process.chdir(before);
  }
});
