import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { systemTime } from '../../src/stdx/time.ts';
import { manualClock } from '../kit/clock.ts';
import { startCaddy } from '../kit/deploy/caddy.ts';
import { startNginx } from '../kit/deploy/nginx.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { testService } from '../kit/service.ts';
import { judge, type Place } from './judge.ts';
import { ROWS, type Row } from './rows.ts';

/** The published interface, sentence by sentence, on everything that the service may stand on or behind. */

const REAL_TIME = { ...manualClock(), ...systemTime() };

/** Judges each row by itself, so that a failure names its sentence. */
async function judgeAll(t: TestContext, rows: readonly Row[], place: Place): Promise<void> {
  assert.ok(rows.length >= 38, `only ${rows.length} rows`);
  for (const row of rows) await t.test(`${row.sentence} (${row.about})`, () => judge(row, place));
}

const TIMELESS = ROWS.filter(({ needsClock }) => !needsClock);

describe('every sentence of the published interface holds', () => {
  test('on the embedded database', async (t) => {
    await using service = await testService();
    await judgeAll(t, ROWS, { service });
  });

  test('on PostgreSQL', { skip: noPostgres }, async (t) => {
    await using database = await temporaryDatabase();
    await using service = await testService({ DATABASE_URL: database.url });
    await judgeAll(t, ROWS, { service });
  });

  test('behind the nginx of deploy/nginx', { skip: missingPrograms('nginx', 'openssl') }, async (t) => {
    await using service = await testService({}, REAL_TIME);
    await using nginx = await startNginx(new URL(service.url).port);
    const url = `https://127.0.0.1:${nginx.port}/v1`;
    await judgeAll(t, TIMELESS, { service, url, ca: nginx.ca });
  });

  test('behind the Caddyfile', { skip: missingPrograms('caddy') }, async (t) => {
    await using service = await testService({}, REAL_TIME);
    await using caddy = await startCaddy(new URL(service.url).port);
    const rows = TIMELESS.filter(({ isAnsweredByCaddy }) => !isAnsweredByCaddy);
    await judgeAll(t, rows, { service, url: `${caddy.url}/v1` });
  });
});
