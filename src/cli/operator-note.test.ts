import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/service.ts';
import type { DatabaseAddress } from '../config.ts';
import { findOperator, noteOperator } from './operator-note.ts';

const NOTED = { url: 'http://127.0.0.1:4', loginSecret: 'hidden' };

test('the note of a service lies beside its file, for its user alone, until the service ends', () => {
  using folder = temporaryFolder();
  const database: DatabaseAddress = { engine: 'sqlite', file: join(folder.path, 'x.db') };
  assert.deepEqual(findOperator(database), {});
  {
    using _note = noteOperator(database, NOTED);
    assert.equal(statSync(`${database.file}.operator`).mode & 0o777, 0o600);
    assert.deepEqual(findOperator(database), NOTED);
  }
  assert.deepEqual([readdirSync(folder.path), findOperator(database)], [[], {}]);
  using _nowhere = noteOperator({ engine: 'sqlite', file: join(folder.path, 'none/x.db') }, NOTED);
  using _inMemory = noteOperator({ engine: 'sqlite', file: ':memory:' }, NOTED);
  assert.deepEqual([readdirSync(folder.path), existsSync(':memory:.operator')], [[], false]);
});

test('a note that the disk does not take leaves none', {
  skip: existsSync('/dev/full') ? false : 'no /dev/full',
}, () => {
  using folder = temporaryFolder();
  const database: DatabaseAddress = { engine: 'sqlite', file: join(folder.path, 'x.db') };
  symlinkSync('/dev/full', `${database.file}.operator`);
  using _note = noteOperator(database, NOTED);
  assert.deepEqual(readdirSync(folder.path), []);
});

test('the note on a server lies in the working folder, or in its data, whatever the password is', () => {
  using folder = temporaryFolder();
  const before = process.cwd();
  process.chdir(folder.path);
  try {
    const at = (password: string): DatabaseAddress => ({ engine: 'postgres', url: `postgres://u:${password}@h/d` });
    const names = (path: string) => readdirSync(path).filter((name) => /^postgres-[0-9a-f]{16}\.operator$/.test(name));
    {
      using _note = noteOperator(at('old'), NOTED);
      assert.deepEqual([names('.').length, findOperator(at('new'))], [1, NOTED]);
      assert.deepEqual(findOperator({ engine: 'postgres', url: 'postgres://u:old@h/other' }), {});
    }
    mkdirSync('data');
    using _note = noteOperator(at('old'), NOTED);
    assert.deepEqual([names('.').length, names('data').length, findOperator(at('new'))], [0, 1, NOTED]);
  } finally {
    process.chdir(before);
  }
});
