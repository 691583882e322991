import { once } from 'node:events';
import type { Command } from 'commander';
import type { Storage } from '../catalog/storage.ts';
import {
  type Config,
  ConfigMistakes,
  type FoundSetting,
  findConfig,
  readServiceConfig,
  SETTINGS,
  type SettingName,
  withoutPassword,
} from '../config.ts';
import { openLimiter } from '../limits/open.ts';
import type { ShownSetting } from '../operator/frame/context.ts';
import type { Rehearsal } from '../rehearsal/rehearsal.ts';
import type { TurnedTime } from '../rehearsal/turned-time.ts';
import { type Service, ServiceNotStarted, startService } from '../service.ts';
import { systemTime, type Time } from '../stdx/time.ts';
import type { BackupOptions, ScheduledBackups } from '../storage/backups.ts';
import { DatabaseNotOpened } from '../storage/engine.ts';
import { awaitDatabase, claimForService, openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import type { EphemeralDatabase } from '../storage/sqlite/ephemeral.ts';
import { createEvents } from '../telemetry/events.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { asksForTraces, NO_TRACING, startTracing, type Tracing } from '../telemetry/tracing.ts';
import { COMMAND, TRACING_PACKAGES, VERSION } from '../version.ts';
import { findIneffective } from './ineffective.ts';
import { type Invocation, sources, systemOperator, UsageError, withSettings } from './invocation.ts';
import { openLog } from './log.ts';
import { noteOperatorUrl } from './running.ts';

const BOOTSTRAP_KEY_NAME = 'bootstrap';
const EPHEMERAL_WITHOUT: ReadonlySet<SettingName> = new Set(['DATABASE_URL', 'REDIS_URL']);

interface ServeFlags {
  readonly bootstrap?: true;
  readonly demo?: true;
  readonly ephemeral?: true;
  readonly grease?: string;
}

/** Adds `serve`. */
export function addServeCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command('serve')
    .description('Run the service until it is stopped')
    .option('--bootstrap', 'issue a first API key if there is none, and print it once')
    .option('--demo', 'fill an empty catalog with a small sample')
    .option('--ephemeral', 'keep the database in a temporary folder that is removed at the end')
    .option('--grease <seed>', 'add unknown members and headers to every answer; with REHEARSAL=on')
    .action(async (_options: unknown, self: Command) => {
      const flags = self.opts<ServeFlags>();
      const config = readServiceConfig(sources(self, invocation));
      if (flags.grease !== undefined && !config.rehearsal) throw new UsageError('--grease needs REHEARSAL=on');
      const given = sources(self, invocation);
      const found = findConfig(given);
      for (const { finding } of findIneffective(given)) invocation.tell(`pet-catalog: ${finding}`);
      invocation.stopsGracefully = true;
      await using ephemeral = flags.ephemeral ? await openEphemeral(found) : undefined;
      const database = ephemeral?.database ?? config.database;
      await serve({ ...config, database }, invocation, { flags, shown: shownSettings(found, ephemeral) });
    });
  withSettings(command, Object.keys(SETTINGS) as SettingName[]);
}

/** Makes the database of `--ephemeral`, and claims it. Throws `ConfigMistakes` if the settings name another one. */
async function openEphemeral(found: readonly FoundSetting[]): Promise<EphemeralDatabase> {
  const mistakes = found
    .filter(({ name, value, from }) => EPHEMERAL_WITHOUT.has(name) && value !== '' && from !== 'default')
    .map(
      ({ name, from }) => `${name}: it must not be set with --ephemeral, whose database is a new one (from ${from})`,
    );
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  const { claimEphemeral } = await import('../storage/sqlite/ephemeral.ts');
  return claimEphemeral();
}

/** The settings as the console shows them. */
function shownSettings(found: readonly FoundSetting[], ephemeral: EphemeralDatabase | undefined): ShownSetting[] {
  return found.map(({ name, value, from }) => {
    const { about, default: usual } = SETTINGS[name];
    if (!ephemeral || name !== 'DATABASE_URL')
      return { name, value: withoutPassword(value), from, isDefault: value === usual, about };
    return { name, value: `sqlite:${ephemeral.database.file}`, from: '--ephemeral', isDefault: false, about };
  });
}

async function serve(
  config: Config,
  invocation: Invocation,
  { flags, shown }: { flags: ServeFlags; shown: readonly ShownSetting[] },
): Promise<void> {
  const { stop } = invocation;
  const machine = systemTime();
  const turned = config.rehearsal ? new (await import('../rehearsal/turned-time.ts')).TurnedTime(machine) : undefined;
  const time = turned ?? machine;
  const { log, write, close } = openLog(config.logLevel, invocation.hasColours('stderr'));
  const metrics = createMetrics();
  const events = createEvents({
    log,
    write,
    accessLog: config.accessLog,
    metrics,
    redis: config.redis && withoutPassword(config.redis.url),
  });
  await using tracing = asksForTraces(invocation.env) ? await sendTraces() : NO_TRACING;
  await awaitDatabase(config.database, { stop, onWait: events.databaseAwaited });
  if (stop.aborted) return close();
  const together = config.redis !== undefined;
  await using _claim = flags.ephemeral ? undefined : await claimForService(config.database, { together });
  await using storage = await openStorage(
    config.database,
    {
      time,
      categoriesMax: config.categoriesMax,
      categoriesBytesMax: config.categoriesBytesMax,
      events,
    },
    'serve',
  );
  const rehearsal = turned
    ? await openRehearsal(storage, turned, { defects: config.defects, greaseSeed: flags.grease })
    : await refuseRehearsed(storage);
  await using limiter = await openLimiter(config, { storage, time, events });
  if (flags.demo) {
    const { fillWithDemo } = await import('./demo.ts');
    await fillWithDemo(storage, time.now().unix);
  }
  {
    await using service = await startService(config, {
      storage,
      limiter,
      time,
      rehearsal,
      events,
      metrics,
      tracing,
      settings: shown,
      examine: async () => (await import('./doctor.ts')).examineInThread(config),
    });
    await using _backups = await startBackups(config, { time: machine, events });
    using _note = noteOperatorUrl(config.database, service.operatorUrl);
    if (flags.bootstrap) await issueFirstKey(storage, { config, service, time, invocation });
    // Without TLS there is nothing to read again; unhandled, the signal would end the service.
    invocation.onReload(() => config.tls && service.reloadCertificate());
    // At once, so that the reader of the one line has the other as well.
    const commands = flags.ephemeral ? `\ncommands: ${settingsForCommands(config)}` : '';
    invocation.tell(`listening on ${service.url}${commands}`);
    if (!stop.aborted) await once(stop, 'abort');
  }
  await close();
}

/** What commands need to find a database that no setting names, as assignments before the command. */
function settingsForCommands({ database, environment, rehearsal }: Config): string {
  const file = database.engine === 'sqlite' ? database.file : '';
  return `DATABASE_URL=sqlite:${file} ENVIRONMENT=${environment} REHEARSAL=${rehearsal ? 'on' : 'off'}`;
}

interface RehearsedFlags {
  readonly defects: readonly string[];
  readonly greaseSeed: string | undefined;
}

async function openRehearsal(
  storage: SqlStorage,
  time: TurnedTime,
  { defects, greaseSeed }: RehearsedFlags,
): Promise<Rehearsal> {
  const { openRehearsal } = await import('../rehearsal/rehearsal.ts');
  const { defectsNamed } = await import('../rehearsal/defects/defects.ts');
  return openRehearsal(storage, time, { greaseSeed, defects: defectsNamed(defects) });
}

/** Refuses a database that was used in rehearsal: its time may be turned, and its keys may follow scripts. */
async function refuseRehearsed(storage: SqlStorage): Promise<undefined> {
  const turnedBy = await storage.turnedBy();
  if (turnedBy === undefined) return;
  throw new DatabaseNotOpened(
    `The database was used in rehearsal, so keys in it may follow scripts, and its time is turned by ${turnedBy} s: start it with ENVIRONMENT=staging and REHEARSAL=on, or set DATABASE_URL to another one`,
  );
}

/** Starts sending traces. Throws `ServiceNotStarted` if OpenTelemetry is not installed. */
async function sendTraces(): Promise<Tracing> {
  try {
    return await startTracing(VERSION);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const packages = TRACING_PACKAGES.map((name) => `"${name}"`).join(' ');
    throw new ServiceNotStarted(
      `The OTEL_… variables ask for traces, and OpenTelemetry is not installed; unset them, or install it beside pet-catalog:\n\n  npm install ${packages}\n`,
    );
  }
}

/** Starts the scheduled backups, if there are to be any. */
async function startBackups(
  { backups, database }: Config,
  context: Pick<BackupOptions, 'time' | 'events'>,
): Promise<ScheduledBackups | undefined> {
  if (!backups || database.engine !== 'sqlite') return undefined;
  const { ScheduledBackups } = await import('../storage/backups.ts');
  return new ScheduledBackups({ ...backups, databaseFile: database.file, ...context });
}

interface FirstKey {
  readonly config: Config;
  readonly service: Service;
  readonly time: Time;
  readonly invocation: Invocation;
}

async function issueFirstKey(storage: Storage, first: FirstKey): Promise<void> {
  const { config, service, time, invocation } = first;
  if ((await storage.keys.list()).length > 0) {
    invocation.print(
      `There is an API key already. To issue another:\n\n  ${COMMAND} keys create --name NAME\n\nTo see how it is used:\n\n  ${COMMAND} console login\n`,
    );
    return;
  }
  const by = systemOperator();
  const context = { storage, environment: config.environment, now: time.now().unix, by };
  const { issueKey } = await import('../catalog/operator/key-changes.ts');
  const { secret } = await issueKey(context, { name: BOOTSTRAP_KEY_NAME, plan: 'business' });
  const { offerLogin } = await import('../operator/session/session.ts');
  const login = { actor: by.actor, role: 'admin', now: time.machine.now().unix, url: service.operatorUrl } as const;
  const link = await offerLogin(storage, login);
  invocation.print(
    `Your first API key (business plan), shown only this once:\n\n  ${secret}\n\nTry it:\n\n  curl -H 'Authorization: Bearer ${secret}' ${service.url}/categories\n\nSee the request in the console (the link works once, for ten minutes):\n\n  ${link}\n`,
  );
}
