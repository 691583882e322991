import { once } from 'node:events';
import type { Command } from 'commander';
import { newApiKey, secretRecord } from '../catalog/api-key.ts';
import { systemClock } from '../catalog/clock.ts';
import type { Storage } from '../catalog/storage.ts';
import { type Config, SETTINGS, type SettingName } from '../config.ts';
import { createEvents } from '../events.ts';
import { openLimiter } from '../limits/open.ts';
import { createMetrics } from '../metrics.ts';
import { startService } from '../service.ts';
import { claimForService, openStorage } from '../storage/open.ts';
import { fillWithDemo } from './demo.ts';
import { openLog } from './log.ts';
import { type Invocation, settings, systemOperator, withSettings } from './program.ts';

const BOOTSTRAP_KEY_NAME = 'bootstrap';

/** `serve`: the service itself. */
export function addServeCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command('serve')
    .description('Run the service until it is told to stop')
    .option('--bootstrap', 'issue a first API key if there is none, and print it once')
    .option('--demo', 'fill an empty catalog with a small sample')
    .action(async (_options: unknown, self: Command) => {
      const { bootstrap, demo } = self.opts<{ bootstrap?: true; demo?: true }>();
      await serve(settings(self, invocation), invocation, { bootstrap: bootstrap === true, demo: demo === true });
    });
  withSettings(command, Object.keys(SETTINGS) as SettingName[]);
}

async function serve(
  config: Config,
  invocation: Invocation,
  first: { bootstrap: boolean; demo: boolean },
): Promise<void> {
  invocation.stopsGracefully = true;
  const { stop } = invocation;
  const clock = systemClock();
  const { log, close } = openLog(config.logLevel);
  const metrics = createMetrics();
  const events = createEvents({ log, accessLog: config.accessLog, metrics });
  await using _claim = await claimForService(config.database, { together: config.redis !== undefined });
  await using storage = await openStorage(config.database, { clock, categoriesMax: config.categoriesMax, events });
  await using limiter = await openLimiter(config, { storage, clock, events });
  if (first.demo) await fillWithDemo(storage, clock().unix);
  {
    await using service = await startService(config, { storage, limiter, clock, events, metrics });
    if (first.bootstrap) await issueFirstKey(storage, { config, url: service.url, now: clock().unix, invocation });
    invocation.tell(`listening on ${service.url}`);
    if (!stop.aborted) await once(stop, 'abort');
  }
  await close();
}

interface FirstKey {
  readonly config: Config;
  readonly url: string;
  readonly now: number;
  readonly invocation: Invocation;
}

async function issueFirstKey(storage: Storage, { config, url, now, invocation }: FirstKey): Promise<void> {
  if ((await storage.keys.list()).length > 0) {
    invocation.print('There is an API key already. To issue another:\n\n  npx pet-catalog keys create --name NAME\n');
    return;
  }
  const { key, secret } = newApiKey(
    { name: BOOTSTRAP_KEY_NAME, environment: config.environment, plan: 'business' },
    now,
  );
  await storage.keys.insert(key, secretRecord(secret), systemOperator());
  invocation.print(
    `Your first API key (business plan), shown only this once:\n\n  ${secret}\n\nTry it:\n\n  curl -H 'Authorization: Bearer ${secret}' ${url}/categories\n`,
  );
}
