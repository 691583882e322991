import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { manualClock } from '../kit/clock.ts';
import { ENGINES, type EngineName, emptyDatabase, keep } from '../kit/releases/database.ts';
import { LIFE_SECONDS, liveThrough } from '../kit/releases/life.ts';
import { COMMANDS, printedBy, SETTINGS } from '../kit/releases/recorded.ts';
import { testService } from '../kit/service.ts';

/**
 * Makes the databases of the release that is checked out, in `test/releases/VERSION/`: one for each engine, with what
 * clients hold and what the service answered them; and the packages of service and client. Needs PostgreSQL.
 */

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const folder = fileURLToPath(new URL(`${version}/`, import.meta.url));
mkdirSync(folder, { recursive: true });
for (const more of [[], ['--workspace', 'client']])
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, ...more], { stdio: 'inherit' });
const sums = [`pet-catalog-${version}.tgz`, `pet-catalog-client-${version}.tgz`].map((packed) => {
  const digest = createHash('sha256').update(readFileSync(folder + packed));
  return `${digest.digest('hex')}  ${packed}\n`;
});
writeFileSync(`${folder}SHA256SUMS`, sums.join(''));
for (const engine of ENGINES) await makeProduction(engine);

async function makeProduction(engine: EngineName): Promise<void> {
  await using database = await emptyDatabase(engine);
  const clock = manualClock(Math.floor(Date.now() / 1_000) - LIFE_SECONDS);
  const beside = { cwd: database.folder, env: { DATABASE_URL: database.url }, invocation: { time: clock } };
  const lived = await (async () => {
    await using service = await testService({ DATABASE_URL: database.url, ...SETTINGS }, clock);
    return await liveThrough(service, beside);
  })();
  const printed: Record<string, unknown> = {};
  for (const command of COMMANDS) printed[command] = await printedBy(command, beside);
  await keep(database, { version, engine }, { ...lived, printed });
}
