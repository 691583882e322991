import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openStorage } from '../../src/storage/open.ts';
import { ScheduledBackups } from '../../src/storage/scheduled-backups.ts';
import { manualClock } from '../kit/clock.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run } from '../kit/process.ts';
import { smallDisk } from './small-disk.ts';

/** Backups on a schedule. */

const DAY = 86_400;
const OWNER = 'production-db_0a';

/** Unless `restores`, nothing is restored on trial. Commands are processes only where those matter. */
function bench({ everySeconds = DAY, restores = false, hasProcesses = false } = {}) {
  const folder = temporaryFolder();
  const clock = manualClock();
  const databaseFile = join(folder.path, 'x.db');
  const backups = join(folder.path, 'deep/backups');
  const made: { file: string; at: number; bytes: number }[] = [];
  const restored: { backup: string; at: number }[] = [];
  const failures: string[] = [];
  const [scheduled, others] = [[] as unknown[], [] as unknown[]];
  const events = {
    backupsScheduled: (...args: unknown[]) => scheduled.push(args),
    backupsOfOthers: (...args: unknown[]) => others.push(args),
    backupMade: (one: (typeof made)[number]) => made.push(one),
    backupRestored: (one: (typeof restored)[number]) => restored.push(one),
    backupFailed: (reason: string) => failures.push(reason),
  };
  const runHere = async (args: readonly string[]) => {
    if (args[0] === 'restore' && !restores) return;
    const { code, stderr } = await run(args, { cwd: folder.path });
    if (code !== 0) throw new Error(stderr);
  };
  const runner = hasProcesses ? {} : { run: runHere };
  const options = {
    folder: backups,
    everySeconds,
    keep: 2,
    databaseFile,
    owner: OWNER,
    time: clock,
    events,
    ...runner,
  };
  const open = () => openStorage({ engine: 'sqlite', file: databaseFile }, { time: clock, ...BOUNDS });
  const start = () => new ScheduledBackups(options);
  const names = () => readdirSync(backups).sort();
  return { folder, clock, databaseFile, backups, made, restored, failures, scheduled, others, open, start, names };
}

const BOUNDS = { categoriesMax: 10, categoriesBytesMax: 10_000 };

test('a backup is made at the start and when one is due, each sound and private, and the newest stay', async () => {
  const { folder, clock, backups, made, failures, scheduled, open, start, names } = bench();
  using _folder = folder;
  await using storage = await open();
  const origin = { keyId: 'key_1' };
  await storage.categories.insert({ name: 'first' }, origin);
  {
    await using schedule = start();
    await schedule.look();
    assert.deepEqual(names(), [`pet-catalog-${OWNER}-2026-01-01T120000Z.db`]);
    await schedule.look();
    clock.advance(DAY - 1);
    await schedule.look();
    assert.equal(made.length, 1);
    await storage.categories.insert({ name: 'second' }, origin);
    clock.advance(1);
    await schedule.look();
    clock.advance(DAY);
    await schedule.look();
    assert.deepEqual(names(), [
      `pet-catalog-${OWNER}-2026-01-02T120000Z.db`,
      `pet-catalog-${OWNER}-2026-01-03T120000Z.db`,
    ]);
  }
  assert.deepEqual([made.length, failures, scheduled], [3, [], [[DAY, undefined]]]);
  const newest = join(backups, names().at(-1) ?? '');
  assert.equal(statSync(newest).mode & 0o777, 0o600);
  assert.equal(made[2]?.bytes, statSync(newest).size);
  const copy = await openStorage({ engine: 'sqlite', file: newest }, { time: clock, ...BOUNDS }, 'read');
  assert.deepEqual(
    (await copy.categories.list()).map(({ name }) => name),
    ['first', 'second'],
  );
  await copy[Symbol.asyncDispose]();

  // A restart goes on from what is there, and leaves other files alone.
  writeFileSync(join(backups, 'mine.db'), '');
  writeFileSync(join(backups, `pet-catalog-${OWNER}-2026-01-03T120001Z.db.unfinished`), '');
  await using again = start();
  await again.look();
  assert.equal(made.length, 3);
  assert.deepEqual(scheduled[1], [DAY, { at: made[2]?.at, bytes: made[2]?.bytes }]);
  clock.advance(DAY);
  await again.look();
  assert.deepEqual(names(), [
    'mine.db',
    `pet-catalog-${OWNER}-2026-01-03T120000Z.db`,
    `pet-catalog-${OWNER}-2026-01-04T120000Z.db`,
  ]);
});

test('at the start and once a day the newest backup is restored and compared, and a broken one is told', async () => {
  const bed = bench({ everySeconds: 9 * DAY, restores: true });
  const { folder, clock, backups, restored, failures, open, start, names } = bed;
  using _folder = folder;
  const { unix } = clock.now();
  const name = `pet-catalog-${OWNER}-2026-01-01T120000Z.db`;
  {
    await using storage = await open();
    await storage.categories.insert({ name: 'first' }, { keyId: 'key_1' });
    for (let starts = 0; starts < 2; starts += 1) {
      await using schedule = start();
      for (const seconds of [0, DAY - 1, 1]) {
        clock.advance(seconds);
        await schedule.look();
      }
    }
    assert.deepEqual(
      restored,
      [0, DAY, DAY, 2 * DAY].map((seconds) => ({ backup: name, at: unix + seconds })),
    );
    assert.deepEqual([names(), failures], [[name], []]);
    assert.equal(statSync(backups).mode & 0o777, 0o700);
  }
  await using schedule = start();
  await schedule.look();
  const page = openSync(join(backups, name), 'r+');
  writeSync(page, Buffer.alloc(4_096, 1), 0, 4_096, 8_192);
  closeSync(page);
  clock.advance(DAY);
  await schedule.look();
  assert.match(failures[0] ?? '', /The backup .* is damaged/);
  assert.equal(existsSync(join(backups, '.restoring')), false);
});

test('a clock that was ahead stops no backup, and its files count as none', async () => {
  const { folder, clock, made, failures, start, names, open } = bench();
  using _folder = folder;
  await using storage = await open();
  await storage.categories.insert({ name: 'first' }, { keyId: 'key_1' });
  const HOUR = 3_600;
  {
    await using schedule = start();
    await schedule.look();
    clock.step(10 * DAY);
    clock.advance(DAY);
    await schedule.look();
    assert.deepEqual(names(), [
      `pet-catalog-${OWNER}-2026-01-01T120000Z.db`,
      `pet-catalog-${OWNER}-2026-01-12T120000Z.db`,
    ]);
    clock.advance(HOUR);
    clock.step(-10 * DAY);
    await schedule.look();
    clock.advance(DAY - HOUR);
    await schedule.look();
    clock.advance(DAY);
    await schedule.look();
    assert.equal(made.length, 4);
  }
  assert.deepEqual(names(), [
    `pet-catalog-${OWNER}-2026-01-03T120000Z.db`,
    `pet-catalog-${OWNER}-2026-01-04T120000Z.db`,
    `pet-catalog-${OWNER}-2026-01-12T120000Z.db`,
  ]);
  // A start goes by those of the past.
  clock.advance(DAY);
  await using again = start();
  await again.look();
  assert.deepEqual([made.length, failures], [5, []]);
  assert.deepEqual(names(), [
    `pet-catalog-${OWNER}-2026-01-04T120000Z.db`,
    `pet-catalog-${OWNER}-2026-01-05T120000Z.db`,
    `pet-catalog-${OWNER}-2026-01-12T120000Z.db`,
  ]);
});

test('backups of another database count for nothing, and are named at the start and by doctor', async () => {
  const { folder, clock, databaseFile, backups, made, failures, scheduled, others, start, names, open } = bench();
  using _folder = folder;
  mkdirSync(backups, { recursive: true });
  const theirs = [
    'pet-catalog-production-db_1b-2026-01-01T110000Z.db',
    'pet-catalog-staging-db_0a-2026-01-01T110000Z.db',
  ];
  // Of a release up to 0.3.0: taken for its own.
  const former = 'pet-catalog-2025-12-30T120000Z.db';
  for (const name of [...theirs, `${theirs[0]}.unfinished`, former]) writeFileSync(join(backups, name), '');
  await using storage = await open();
  await storage.categories.insert({ name: 'first' }, { keyId: 'key_1' });
  await using schedule = start();
  await schedule.look();
  assert.equal(made.length, 1, 'those of others are not the newest');
  assert.deepEqual(others, [[backups, ['production-db_1b', 'staging-db_0a']]]);
  assert.deepEqual(scheduled, [[DAY, { at: clock.now().unix - 2 * DAY, bytes: 0 }]]);
  // The database that doctor finds has another id than this schedule.
  const env = { DATABASE_URL: `sqlite:${databaseFile}`, BACKUP_DIR: backups };
  const { stdout } = await run(['doctor'], { cwd: folder.path, env });
  const named = [OWNER, ...(others as [string, string[]][]).flatMap(([, owners]) => owners)].sort().join(', ');
  assert.match(stdout, new RegExp(`^warning backups: .* other databases, which count for nothing: ${named}$`, 'm'));
  for (let day = 0; day < 3; day += 1) {
    clock.advance(DAY);
    await schedule.look();
  }
  const own = ['03', '04'].map((day) => `pet-catalog-${OWNER}-2026-01-${day}T120000Z.db`);
  assert.deepEqual(names(), [...own, ...theirs, `${theirs[0]}.unfinished`].sort());
  assert.deepEqual([failures, made.length], [[], 4]);
});

test('a backup that fails is reported, keeps the earlier ones and is tried again', async () => {
  const { folder, clock, databaseFile, made, failures, start, names, open } = bench({ hasProcesses: true });
  using _folder = folder;
  await (await open())[Symbol.asyncDispose]();
  await using schedule = start();
  await schedule.look();
  renameSync(databaseFile, `${databaseFile}.away`);
  clock.advance(DAY);
  await schedule.look();
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /^There is no database/);
  await schedule.look();
  assert.equal(failures.length, 1, 'not at once');
  renameSync(`${databaseFile}.away`, databaseFile);
  clock.advance(600);
  await schedule.look();
  assert.deepEqual([made.length, names().length, failures.length], [2, 2, 1]);
});

test('a service that stops ends the backup that it makes, begins no other, and reports none as failed', async () => {
  const ended: string[] = [];
  const { folder, clock, made, failures, start, names, open } = bench({ hasProcesses: true });
  using _folder = folder;
  await (await open())[Symbol.asyncDispose]();
  {
    await using schedule = start();
    await schedule.look();
    clock.advance(DAY);
    void schedule.look().then(() => ended.push('the backup'));
    // By then its process is started.
    await nextTurn();
  }
  assert.deepEqual(ended, ['the backup'], 'the stop waited for it');
  {
    await using _schedule = start();
  }
  assert.deepEqual([made.length, names(), failures], [1, [`pet-catalog-${OWNER}-2026-01-01T120000Z.db`], []]);
});

test('neither a backup nor its trial takes the room that the log of the database needs', async (t) => {
  const { folder, backups, restored, made, failures, start, names, open, clock } = bench({ restores: true });
  using _folder = folder;
  using disk = smallDisk(t, folder.path, { name: 'deep/backups', mebibytes: 66 });
  if (!disk) return;
  await using storage = await open();
  await storage.categories.insert({ name: 'first' }, { keyId: 'key_1' });
  await using schedule = start();
  await schedule.look();
  assert.deepEqual([made.length, restored.length, failures], [1, 1, []]);
  const before = names();
  const filler = join(disk.path, 'filler');
  writeFileSync(filler, Buffer.alloc(2_000_000));
  clock.advance(DAY);
  await schedule.look();
  const told = `${backups} has no room: 65 MiB must be free, and 64 are; make room, or set BACKUP_DIR to a folder of another disk`;
  assert.deepEqual(failures, [told, told]);
  rmSync(filler);
  assert.deepEqual(names(), before);
});
