import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseNotOpened } from '../../src/storage/engine.ts';
import { backUp, restore } from '../../src/storage/sqlite/backup.ts';
import { openSqlite } from '../../src/storage/sqlite/engine.ts';
import { DatabaseDamaged } from '../../src/storage/sqlite/failure.ts';
import { manualClock } from '../kit/clock.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { OPERATOR } from '../kit/operator.ts';
import { add, databasePlace, leaveKilled, namesIn, overwrite } from '../kit/storage/files.ts';
import { noStopping, stopper } from './stop-at.ts';

/** A restore that is killed before each call that changes a file, or whose call fails: nothing is lost. */

const NOW = 1_800_000_000;
const [OLD, NEW] = ['Cat', 'Restored'];

/** The database, with a log, is sound, damaged, or missing; the backup holds another name. */
const STATES = {
  'a sound database': () => {},
  'a damaged database': (file: string) => overwrite(file),
  'no database': (file: string) => {
    for (const part of ['', '-wal', '-shm']) rmSync(file + part);
  },
} as const;

const by = (now: number) => ({ isOther: false, time: manualClock(now), by: OPERATOR });

const text = (from: string, file: string) => `
  const { restore } = await import('${new URL('../../src/storage/sqlite/backup.ts', import.meta.url)}');
  const { systemTime } = await import('${new URL('../../src/stdx/time.ts', import.meta.url)}');
  const time = { ...systemTime(), now: () => ({ unix: ${NOW}, steady: 0 }) };
  await restore('${from}', '${file}', { isOther: false, time, by: { actor: 'test', via: 'cli' } });
`;

for (const [state, prepare] of Object.entries(STATES)) {
  for (const how of ['KILL', 'EIO'] as const) {
    test(`over ${state} a restore may be stopped anywhere by ${how}`, { skip: noStopping }, async (t) => {
      using place = await databasePlace();
      using tools = temporaryFolder();
      const { run, calls } = stopper(tools.path);
      const from = place.in('backup.db');
      await add(place.file, 'second');
      {
        await using renamed = await renamedCopy(place.file, place.in('other.db'));
        await backUp(renamed.file, from, { force: false, now: NOW });
      }
      const model = place.in('model');
      mkdirSync(model);
      leaveKilled(place.file, join(model, 'x.db'));
      prepare(join(model, 'x.db'));
      const folder = place.in('data');
      const file = join(folder, 'x.db');
      const begin = () => {
        rmSync(folder, { recursive: true, force: true });
        cpSync(model, folder, { recursive: true });
      };
      begin();
      const total = calls(text(from, file), folder);
      assert.ok(total > 8, `${total} calls`);
      assert.deepEqual(namesIn(file), [NEW, 'second']);
      for (let at = 1; at <= total; at += 1) {
        begin();
        const { status, signal, stderr } = run(text(from, file), folder, { at, how });
        const where = `call ${at} of ${total}: ${stderr}`;
        if (how === 'KILL') assert.equal(signal, 'SIGKILL', where);
        else assert.ok(status === 0 || /DatabaseNotOpened|LogNotSynced/.test(stderr), where);
        await assertNothingLost(file, { from, state, where });
      }
      t.diagnostic(`${total} calls`);
    });
  }
}

/** What a start finds: the old database or the new one, or a refusal that names the command that ends the restore. */
async function assertNothingLost(file: string, stopped: { from: string; state: string; where: string }): Promise<void> {
  const { from, state, where } = stopped;
  const found = await openSqlite(file, 'serve').then(
    async ({ db }) => {
      await db.close();
      return namesIn(file)[0];
    },
    (error: unknown) => error,
  );
  if (found instanceof DatabaseDamaged) assert.equal(state, 'a damaged database', `${found.message}; ${where}`);
  else if (found instanceof DatabaseNotOpened) {
    const [, named] = /`pet-catalog restore (\S+)`/.exec(found.message) ?? [];
    assert.ok(named !== undefined && /moved aside/.test(found.message), `${found.message}; ${where}`);
    await restore(named === 'BACKUP' ? from : named, file, by(NOW + 1));
    assert.equal(namesIn(file)[0], NEW, where);
  } else if (state === 'no database') {
    // A start makes a new one, as it would have without the restore.
    assert.ok(found === NEW || found === undefined, `${found}; ${where}`);
  } else {
    assert.ok(found === NEW || (state === 'a sound database' && found === OLD), `${found}; ${where}`);
  }
  // A new database that a start made is another one.
  await restore(from, file, { ...by(NOW + 2), isOther: state === 'no database' });
  assert.deepEqual(namesIn(file), [NEW, 'second'], where);
  if (state !== 'a sound database') return;
  const kept = readdirSync(join(file, '..')).filter((name) => /\.replaced-\d+$/.test(name));
  assert.ok(kept.length > 0, where);
  const names = kept.map((name) => namesIn(join(file, '..', name))[0]);
  assert.ok(names.includes(OLD), `${names}; ${where}`);
}

/** A copy of a database with another name for its first category. */
async function renamedCopy(file: string, to: string) {
  await backUp(file, to, { force: false, now: NOW });
  const { DatabaseSync } = await import('node:sqlite');
  {
    using database = new DatabaseSync(to);
    database.exec(`UPDATE categories SET name = '${NEW}', checksum = null WHERE id = 1`);
  }
  return { file: to, [Symbol.asyncDispose]: async () => rmSync(to) };
}
