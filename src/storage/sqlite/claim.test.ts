import assert from 'node:assert/strict';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { databasePlace, says } from '../../../test/kit/storage/files.ts';
import { claimFile, isAtRest, isClaimed } from './claim.ts';

test('a database is claimed by one at a time, until that one is done', async () => {
  using place = await databasePlace();
  const { file } = place;
  assert.deepEqual([isClaimed(file), isAtRest(file)], [false, false]);
  assert.ok(!existsSync(`${file}.lock`), 'asking makes no file');
  {
    using _claim = claimFile(file);
    assert.deepEqual([isClaimed(file), isAtRest(file)], [true, false]);
    const refusal = `Another service runs on the database ${file}: stop it, or set DATABASE_URL to another file`;
    assert.throws(() => claimFile(file), says(refusal));
    assert.equal(statSync(`${file}.lock`).mode & 0o777, 0o600);
  }
  assert.deepEqual([isClaimed(file), isAtRest(file)], [false, true]);
  using _again = claimFile(file);
  assert.equal(isClaimed(':memory:'), false);
  using _memory = claimFile(':memory:');
  using _another = claimFile(':memory:');
  const isLocked = existsSync(':memory:.lock');
  rmSync(':memory:.lock', { force: true });
  assert.ok(!isLocked);
});

test('a lock that a power cut left without its bytes keeps no service from starting', async () => {
  using place = await databasePlace();
  const { file } = place;
  for (const left of ['\0'.repeat(512), `${'\0'.repeat(512)}http://127.0.0.1:8081\nsecret\n`]) {
    writeFileSync(`${file}.lock`, left);
    using _claim = claimFile(file);
    assert.deepEqual([isClaimed(file), statSync(`${file}.lock`).size], [true, 0]);
  }
});

test('a folder or a lock that cannot be used is named', async () => {
  using place = await databasePlace();
  const { file } = place;
  writeFileSync(place.in('no-folder'), '');
  assert.throws(
    () => claimFile(place.in('no-folder/x.db')),
    says(/^Cannot use the folder of the database .*no-folder\/x\.db: .*, or set DATABASE_URL to a writable place$/),
  );
  writeFileSync(`${file}.lock`, 'no database, but long enough to be read as the header of one'.repeat(100));
  assert.throws(() => isClaimed(file), says(/^Cannot read .*x\.db\.lock: file is not a database$/));
  assert.equal(isAtRest(file), false);
  using _claim = claimFile(file);
  assert.equal(isClaimed(file), true, 'a lock has no content: whatever is in it goes');
});
