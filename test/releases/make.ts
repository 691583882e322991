import { mkdirSync, readFileSync } from 'node:fs';
import { manualClock } from '../kit/clock.ts';
import { ENGINES, type EngineName, emptyDatabase, keep } from '../kit/releases/database.ts';
import { LIFE_SECONDS, liveThrough } from '../kit/releases/life.ts';
import { COMMANDS, printedBy, SETTINGS } from '../kit/releases/recorded.ts';
import { REHEARSAL_SETTINGS, rehearse } from '../kit/releases/rehearsed-life.ts';
import { testService } from '../kit/service.ts';

/**
 * Makes the databases of the release that is checked out, in `test/releases/VERSION/`: for each engine one of a service
 * in production and one in rehearsal, with what their clients hold and what it answered them. Needs PostgreSQL.
 */

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
mkdirSync(new URL(`${version}/`, import.meta.url), { recursive: true });
for (const engine of ENGINES) {
  await makeProduction(engine);
  await makeRehearsal(engine);
}

async function makeProduction(engine: EngineName): Promise<void> {
  await using database = await emptyDatabase(engine);
  const beside = { cwd: database.folder, env: { DATABASE_URL: database.url } };
  const clock = manualClock(Math.floor(Date.now() / 1_000) - LIFE_SECONDS);
  const lived = await (async () => {
    await using service = await testService({ DATABASE_URL: database.url, ...SETTINGS }, clock);
    return await liveThrough(service, beside);
  })();
  const printed: Record<string, unknown> = {};
  for (const command of COMMANDS) printed[command] = await printedBy(command, beside);
  await keep(database, { version, engine, life: 'production' }, { ...lived, printed });
}

async function makeRehearsal(engine: EngineName): Promise<void> {
  await using database = await emptyDatabase(engine);
  const settings = { DATABASE_URL: database.url, ...REHEARSAL_SETTINGS };
  const clock = manualClock(Math.floor(Date.now() / 1_000));
  const recorded = await (async () => {
    await using service = await testService(settings, clock, { machineMs: () => clock.now().unix * 1_000 });
    return await rehearse(service, { cwd: database.folder, env: settings });
  })();
  await keep(database, { version, engine, life: 'rehearsal' }, recorded);
}
