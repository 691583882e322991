import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { manualClock } from '../kit/clock.ts';
import { noPostgres } from '../kit/postgres.ts';
import { run } from '../kit/process.ts';
import { ENGINES, type Release, readRecorded, restored, VERSIONS } from '../kit/releases/database.ts';
import { printedBy, type Recorded, SETTINGS } from '../kit/releases/recorded.ts';
import { testService } from '../kit/service.ts';
import {
  assertCreates,
  assertGraceEnds,
  assertKeys,
  assertLimits,
  assertOperators,
  assertPrinted,
  assertRead,
} from './meaning.ts';
import { presentRelease } from './programs.ts';

/** The database of each release, upgraded to the present code: everything in it still means what it meant. */

const PRESENT = presentRelease().version;
/** Its databases go by way of 0.3.0. */
const UPGRADED_BY_ANOTHER = '0.1.0';
const CHANGELOG = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');

test('the databases of every release that this one upgrades are kept', () => {
  const released = [...CHANGELOG.matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, version]) => version);
  const before = released.toReversed().filter((version) => version !== PRESENT && version !== UPGRADED_BY_ANOTHER);
  // Those of a release are kept in the first commit after it.
  assert.deepEqual(
    VERSIONS.filter((version) => version !== PRESENT),
    before,
    'npm run databases, in a checkout of the release',
  );
});

for (const version of VERSIONS) {
  test(`what ${version} left has rows in every table`, async () => {
    const rows = new Map<string, number>();
    await using kept = await restored({ version, engine: 'sqlite' });
    using database = new DatabaseSync(kept.file);
    // Of a rehearsal nothing but its mark is read; since 0.4.0 nothing writes the other two.
    const tables = `select name from sqlite_master where type = 'table' and name not like 'rehears%'
      and name not in ('route_usage', 'console_logins')`;
    for (const { name } of database.prepare(tables).all())
      rows.set(`${name}`, Number(database.prepare(`select count(*) as count from "${name}"`).get()?.count));
    assert.ok(rows.size > 15);
    const empty = [...rows].filter(([, count]) => count === 0);
    assert.deepEqual(empty, []);
  });

  for (const engine of ENGINES) {
    const skip = engine === 'postgres' && noPostgres;
    test(`what ${version} left on ${engine} means the same`, { skip }, (t) =>
      upgradeProduction(t, { version, engine }),
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
  // On a busy machine a ban is stored later than it is waited for.
  const failures = service.events.failures.filter((error) => (error as { code?: string }).code !== 'unavailable');
  assert.deepEqual(failures, []);
  const { code, stdout } = await run(['doctor'], beside);
  assert.equal(code, 0, stdout);
}
