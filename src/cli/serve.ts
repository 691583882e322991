import { once } from 'node:events';
import type { Command } from 'commander';
import type { Storage } from '../catalog/storage.ts';
import { type Config, ConfigMistakes, findConfig, SETTINGS, type SettingName, withoutPassword } from '../config.ts';
import { openLimiter } from '../limits/open.ts';
import type { ShownSetting } from '../operator/frame/context.ts';
import { type Service, startService } from '../service.ts';
import { systemClock } from '../stdx/clock.ts';
import type { BackupOptions, ScheduledBackups } from '../storage/backups.ts';
import { awaitDatabase, claimForService, openStorage } from '../storage/open.ts';
import { createEvents } from '../telemetry/events.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { asksForTraces, NO_TRACING, startTracing } from '../telemetry/tracing.ts';
import { VERSION } from '../version.ts';
import { type Invocation, settings, sources, systemOperator, withSettings } from './invocation.ts';
import { openLog } from './log.ts';
import { noteOperatorUrl } from './running.ts';

const BOOTSTRAP_KEY_NAME = 'bootstrap';

/** Adds `serve`. */
export function addServeCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command('serve')
    .description('Run the service until it is stopped')
    .option('--bootstrap', 'issue a first API key if there is none, and print it once')
    .option('--demo', 'fill an empty catalog with a small sample')
    .action(async (_options: unknown, self: Command) => {
      const { bootstrap, demo } = self.opts<{ bootstrap?: true; demo?: true }>();
      const config = settings(self, invocation);
      const shown = findConfig(sources(self, invocation)).map((setting) => ({
        ...setting,
        value: withoutPassword(setting.value),
        about: SETTINGS[setting.name].about,
      }));
      await serve(config, invocation, { bootstrap: bootstrap === true, demo: demo === true, shown });
    });
  withSettings(command, Object.keys(SETTINGS) as SettingName[]);
}

async function serve(
  config: Config,
  invocation: Invocation,
  options: { bootstrap: boolean; demo: boolean; shown: readonly ShownSetting[] },
): Promise<void> {
  // Commands may be given the address of a PostgreSQL beside the settings of a service that has none.
  if (config.backups && config.database.engine !== 'sqlite') {
    throw new ConfigMistakes(['BACKUP_DIR: it must be empty with PostgreSQL, which has its own tools for backups']);
  }
  invocation.stopsGracefully = true;
  const { stop } = invocation;
  const clock = systemClock();
  const { log, write, close } = openLog(config.logLevel);
  const metrics = createMetrics();
  const events = createEvents({ log, write, accessLog: config.accessLog, metrics });
  await using tracing = asksForTraces(invocation.env) ? await startTracing(VERSION) : NO_TRACING;
  await awaitDatabase(config.database, { stop, onWait: events.databaseAwaited });
  if (stop.aborted) return close();
  await using _claim = await claimForService(config.database, { together: config.redis !== undefined });
  await using storage = await openStorage(config.database, {
    clock,
    categoriesMax: config.categoriesMax,
    categoriesBytesMax: config.categoriesBytesMax,
    events,
  });
  await using limiter = await openLimiter(config, { storage, clock, events });
  if (options.demo) {
    const { fillWithDemo } = await import('./demo.ts');
    await fillWithDemo(storage, clock().unix);
  }
  {
    await using service = await startService(config, {
      storage,
      limiter,
      clock,
      events,
      metrics,
      tracing,
      settings: options.shown,
    });
    await using _backups = await startBackups(config, { clock, events });
    using _note = noteOperatorUrl(config.database, service.operatorUrl);
    if (options.bootstrap) await issueFirstKey(storage, { config, service, now: clock().unix, invocation });
    if (config.tls) invocation.onReload(() => service.reloadCertificate());
    invocation.tell(`listening on ${service.url}`);
    if (!stop.aborted) await once(stop, 'abort');
  }
  await close();
}

/** Starts the scheduled backups, if there are to be any. */
async function startBackups(
  { backups, database }: Config,
  context: Pick<BackupOptions, 'clock' | 'events'>,
): Promise<ScheduledBackups | undefined> {
  if (!backups || database.engine !== 'sqlite') return undefined;
  const { ScheduledBackups } = await import('../storage/backups.ts');
  return new ScheduledBackups({ ...backups, databaseFile: database.file, ...context });
}

interface FirstKey {
  readonly config: Config;
  readonly service: Service;
  readonly now: number;
  readonly invocation: Invocation;
}

async function issueFirstKey(storage: Storage, { config, service, now, invocation }: FirstKey): Promise<void> {
  if ((await storage.keys.list()).length > 0) {
    invocation.print(
      'There is an API key already. To issue another:\n\n  npx pet-catalog keys create --name NAME\n\nTo see how it is used:\n\n  npx pet-catalog console login\n',
    );
    return;
  }
  const by = systemOperator();
  const context = { storage, environment: config.environment, now, by };
  const { issueKey } = await import('../catalog/operator/key-changes.ts');
  const { secret } = await issueKey(context, { name: BOOTSTRAP_KEY_NAME, plan: 'business' });
  const { offerLogin } = await import('../operator/session/session.ts');
  const link = await offerLogin(storage, { actor: by.actor, role: 'admin', now, url: service.operatorUrl });
  invocation.print(
    `Your first API key (business plan), shown only this once:\n\n  ${secret}\n\nTry it:\n\n  curl -H 'Authorization: Bearer ${secret}' ${service.url}/categories\n\nSee the request in the console (the link works once, for ten minutes):\n\n  ${link}\n`,
  );
}
