import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { manualClock } from '../kit/clock.ts';
import { noPostgres } from '../kit/postgres.ts';
import { run, runProcess } from '../kit/process.ts';
import { inMilliseconds } from '../kit/rehearsal/service.ts';
import { ENGINES, LIVES, type Release, readRecorded, restored, VERSIONS } from '../kit/releases/database.ts';
import {
  assertCreates,
  assertGraceEnds,
  assertKeys,
  assertLimits,
  assertOperators,
  assertPrinted,
  assertRead,
  assertStill,
} from '../kit/releases/meaning.ts';
import { called, operated, printedBy, type Recorded, SETTINGS } from '../kit/releases/recorded.ts';
import { REHEARSAL_SETTINGS, type RecordedRehearsal, reportOf } from '../kit/releases/rehearsed-life.ts';
import { testService } from '../kit/service.ts';

/** The database of each release, upgraded to the present code: everything in it still means what it meant. */

const BYTES_MAX = 200_000;
/** The files of the package of a release, without the version. */
const PACKAGE: readonly string[] = ['pet-catalog-.tgz', 'SHA256SUMS'];

test('the databases of every release are kept, and small', () => {
  assert.ok(VERSIONS.length > 0);
  for (const version of VERSIONS) {
    const folder = new URL(version, import.meta.url);
    const files = readdirSync(folder).filter((file) => !PACKAGE.includes(file.replace(version, '')));
    assert.equal(files.length, 2 * ENGINES.length * LIVES.length, version);
    assert.equal(
      readdirSync(folder).length,
      files.length + PACKAGE.length,
      `the package of ${version}, and its digest`,
    );
    for (const file of files) {
      const { size } = statSync(new URL(`${version}/${file}`, import.meta.url));
      assert.ok(size < BYTES_MAX, `${version}/${file} has ${size} bytes`);
    }
  }
});

for (const version of VERSIONS) {
  test(`what ${version} left has rows in every table`, async () => {
    const rows = new Map<string, number>();
    for (const life of LIVES) {
      await using kept = await restored({ version, engine: 'sqlite', life });
      using database = new DatabaseSync(kept.file);
      for (const { name } of database.prepare("select name from sqlite_master where type = 'table'").all()) {
        const count = database.prepare(`select count(*) as count from "${name}"`).get()?.count;
        rows.set(String(name), (rows.get(String(name)) ?? 0) + Number(count));
      }
    }
    assert.ok(rows.size > 20);
    assert.deepEqual(
      [...rows].filter(([, count]) => count === 0),
      [],
    );
  });

  test(`a backup of ${version} is restored, to be opened by this release`, async () => {
    await using kept = await restored({ version, engine: 'sqlite', life: 'production' });
    const options = { cwd: kept.folder, env: { DATABASE_URL: 'sqlite:new.db' } };
    const { code, stderr } = await run(['restore', kept.file], options);
    assert.deepEqual([code, stderr], [0, 'Restored the database new.db\n']);
    assert.equal((await run(['migrate'], options)).code, 0);
  });

  for (const engine of ENGINES) {
    const skip = engine === 'postgres' && noPostgres;
    test(`what ${version} left on ${engine} means the same`, { skip }, (t) =>
      upgradeProduction(t, { version, engine, life: 'production' }),
    );
    test(`what ${version} left of a rehearsal on ${engine} means the same`, { skip }, () =>
      upgradeRehearsal({ version, engine, life: 'rehearsal' }),
    );
  }
}

async function upgradeProduction(t: TestContext, release: Release): Promise<void> {
  await using database = await restored(release);
  const recorded = readRecorded<Recorded>(release);
  const time = manualClock(recorded.leftAt);
  const beside = { cwd: database.folder, env: { DATABASE_URL: database.url }, invocation: { time } };
  await printedBy('migrate', beside);
  await t.test('to the commands', () => assertPrinted(recorded, beside));
  const settings = { DATABASE_URL: database.url, ...SETTINGS };
  await using service = await testService(settings, time);
  await t.test('to readers', () => assertRead(service, recorded));
  await t.test('to each key', () => assertKeys(service, recorded));
  await t.test('to clients that retry', () => assertCreates(service, recorded));
  await t.test('to keys with a limit or a ban', () => assertLimits(service, recorded));
  await t.test('to operators', () => assertOperators(service, recorded, beside));
  await t.test('to a secret with a grace', () => assertGraceEnds(service, recorded));
  assert.deepEqual(service.events.failures, []);
  const { code, stdout } = await run(['doctor'], beside);
  assert.equal(code, 0, stdout);
}

async function upgradeRehearsal(release: Release): Promise<void> {
  await using database = await restored(release);
  const { leftAt, turnedBy, admin, scripted, report } = readRecorded<RecordedRehearsal>(release);
  const settings = { DATABASE_URL: database.url, ...REHEARSAL_SETTINGS };
  const clock = manualClock(leftAt);
  const beside = { cwd: database.folder, env: settings, invocation: { time: clock } };
  const refused = await runProcess(['serve'], { cwd: database.folder, env: { DATABASE_URL: database.url } });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /The database was used in rehearsal/);
  await printedBy('migrate', beside);
  assert.equal(((await printedBy('clock show --json', beside)) as { turnedBy: number }).turnedBy, turnedBy);
  assertStill(await reportOf(scripted.id, beside), report, 'the report');

  await using service = await testService(settings, inMilliseconds(clock));
  assert.equal(((await operated(service, admin, '/clock')) as { turnedBy: number }).turnedBy, turnedBy);
  const { headers } = await called(service, scripted.secret, '/rate_limit');
  assert.equal(Date.parse(headers.get('date') ?? '') / 1_000, leftAt + turnedBy);
  clock.advance(600);
  const { body } = await called(service, scripted.secret, '/categories');
  assert.equal((body as unknown[]).length, 1);
  await called(service, scripted.secret, '/categories', { status: 500 });
}
