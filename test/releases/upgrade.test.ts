import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { manualClock } from '../kit/clock.ts';
import { noPostgres } from '../kit/postgres.ts';
import { run, runProcess } from '../kit/process.ts';
import { ENGINES, livesOf, type Release, readRecorded, restored, VERSIONS } from '../kit/releases/database.ts';
import {
  assertCreates,
  assertGraceEnds,
  assertKeys,
  assertLimits,
  assertOperators,
  assertPrinted,
  assertRead,
} from '../kit/releases/meaning.ts';
import { ALONE, called, printedBy, type Recorded, type RecordedKey, SETTINGS } from '../kit/releases/recorded.ts';
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
    assert.equal(files.length, 2 * ENGINES.length * livesOf(version).length, version);
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
    for (const life of livesOf(version)) {
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
    if (!livesOf(version).includes('rehearsal')) continue;
    test(`what ${version} left of a rehearsal on ${engine} is refused, and its copy is not`, { skip }, () =>
      refuseRehearsed({ version, engine, life: 'rehearsal' }),
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

async function refuseRehearsed(release: Release): Promise<void> {
  await using database = await restored(release);
  const { leftAt, scripted } = readRecorded<{ leftAt: number; scripted: RecordedKey }>(release);
  const beside = { cwd: database.folder, env: { DATABASE_URL: database.url, ENVIRONMENT: 'staging' } };
  const refused = await runProcess(['serve'], beside);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /The database was used in rehearsal.*`pet-catalog transfer`/);
  assert.match((await run(['doctor'], beside)).stdout, /^PROBLEM rehearsal: /m);
  const copied = await run(['transfer', '--from', database.url, '--to', 'sqlite:copy.db'], beside);
  assert.equal(copied.code, 0, copied.stderr);
  const settings = { DATABASE_URL: `sqlite:${join(database.folder, 'copy.db')}`, ENVIRONMENT: 'staging', ...ALONE };
  await using service = await testService(settings, manualClock(leftAt));
  const { body } = await called(service, scripted.secret, '/categories');
  assert.deepEqual(
    (body as { name: string }[]).map(({ name }) => name),
    ['Dog'],
  );
}
