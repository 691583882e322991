import { once } from 'node:events';
import type { Command } from 'commander';
import { couldBeSecret, newApiKey, secretRecord } from '../catalog/api-key.ts';
import type { Operator } from '../catalog/audit.ts';
import {
  type Config,
  ConfigMistakes,
  type FoundSetting,
  findConfig,
  readConfig,
  SETTING_NAMES,
  type SettingName,
} from '../config.ts';
import { type OpenedService, openService, type Service, ServiceNotStarted } from '../service.ts';
import { runInThread } from '../shipped.ts';
import type { DatabaseNotOpened } from '../storage/engine.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { notifySystemd } from '../systemd/notify.ts';
import type { Finding } from '../telemetry/finding.ts';
import { openLog } from '../telemetry/log.ts';
import { asksForTraces } from '../telemetry/tracing.ts';
import { COMMAND } from '../version.ts';
import { type Invocation, operatorOf, sources, tellIneffective, UsageError, withSettings } from './invocation.ts';
import { noteOperator } from './operator-note.ts';

const BOOTSTRAP_KEY_NAME = 'bootstrap';
const NEVER_BESIDE_EPHEMERAL: ReadonlySet<SettingName> = new Set(['DATABASE_URL', 'REDIS_URL']);

interface ServeFlags {
  readonly bootstrap?: true;
  readonly demo?: true;
  readonly ephemeral?: true;
  readonly bootstrapKey?: string;
}

/** Adds `serve`. */
export function addServeCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command('serve')
    .description('Run the service until it is stopped')
    .option('--bootstrap', 'issue a first API key if there is none, and print it once')
    .option('--demo', 'fill an empty catalog with a small sample')
    .option('--ephemeral', 'keep the database in a temporary folder that is removed at the end')
    .option('--bootstrap-key <key>', 'issue this very key; with --ephemeral')
    .action(async (_options: unknown, self: Command) => {
      const flags = self.opts<ServeFlags>();
      const given = sources(self, invocation);
      tellIneffective(given, invocation);
      const config = readConfig(given, { forService: true });
      checkBootstrapKey(flags, config);
      invocation.stopsGracefully = true;
      await using ephemeral = flags.ephemeral ? await openEphemeral(findConfig(given)) : undefined;
      const database = ephemeral?.database ?? config.database;
      await serve({ ...config, database }, invocation, flags);
    });
  withSettings(command, SETTING_NAMES);
}

/** Makes the database of `--ephemeral`, and claims it. Throws `ConfigMistakes` if the settings name another one. */
async function openEphemeral(found: readonly FoundSetting[]) {
  const mistakes = found
    .filter(({ name, value, from }) => NEVER_BESIDE_EPHEMERAL.has(name) && value !== '' && from !== 'default')
    .map(
      ({ name, from }) => `${name}: it must not be set with --ephemeral, whose database is a new one (from ${from})`,
    );
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  const { claimEphemeral } = await import('../storage/sqlite/ephemeral.ts');
  return claimEphemeral();
}

async function serve(config: Config, invocation: Invocation, flags: ServeFlags): Promise<void> {
  const { stop } = invocation;
  const { close, ...log } = openLog(config.logLevel);
  let failed: DatabaseNotOpened | undefined;
  {
    await using opened = await openService(config, {
      log,
      isClaimed: flags.ephemeral === true,
      isTraced: asksForTraces(invocation.env),
      examine: () => runInThread<Finding[]>('examine', config),
      async prepare(storage, now) {
        if (flags.demo) await (await import('./demo.ts')).fillWithDemo(storage, now);
        const { bootstrapKey: secret } = flags;
        if (secret !== undefined)
          await insertFirstKey(storage, config, { now, by: operatorOf(undefined, invocation.env), secret });
      },
    }).catch((error: unknown) => {
      throw error instanceof ServiceNotStarted ? new UsageError(error.message, 1) : error;
    });
    const { service } = opened;
    using _note = leaveNote(config, service, invocation);
    if (flags.bootstrap && flags.bootstrapKey === undefined) await issueFirstKey(opened, config, invocation);
    // At once, so that the reader of the one line has the other as well.
    const file = flags.ephemeral && config.database.engine === 'sqlite' ? config.database.file : undefined;
    const commands = file && `\ncommands: DATABASE_URL=sqlite:${file} ENVIRONMENT=${config.environment}`;
    invocation.tell(`listening on ${service.url}${commands ?? ''}`);
    using _systemd = notifySystemd(invocation.env, (error) =>
      invocation.tell(`pet-catalog: systemd waits for word of the service, and gets none: ${error.message}`),
    );
    const stopped = stop.aborted ? undefined : once(stop, 'abort').then(() => undefined);
    failed = await Promise.race([stopped, opened.failed]);
  }
  await close();
  if (failed) throw failed;
}

/** Leaves the note by which commands find the service; one that cannot be written does not prevent the start. */
function leaveNote({ database }: Config, service: Service, { tell }: Invocation): Disposable | undefined {
  try {
    return noteOperator(database, { url: service.operatorUrl, secret: service.localSecret });
  } catch (error) {
    tell(
      `pet-catalog: \`console login\`, \`requests\` and \`why\` cannot find this service, because its note cannot be written: ${(error as Error).message}; mend it, then restart`,
    );
    return undefined;
  }
}

/** Throws `UsageError` if the key of `--bootstrap-key` cannot be issued. Never quotes it. */
function checkBootstrapKey({ bootstrapKey, ephemeral }: ServeFlags, { environment }: Config): void {
  if (bootstrapKey === undefined) return;
  if (!ephemeral) throw new UsageError('--bootstrap-key needs --ephemeral; without it, see `pet-catalog keys create`');
  if (couldBeSecret(bootstrapKey, environment)) return;
  throw new UsageError(
    `--bootstrap-key is no key of ${environment}; take one that \`pet-catalog keys create\` printed`,
  );
}

/** Issues a first key, with this secret where one is given; gives its secret. */
async function insertFirstKey(
  storage: SqlStorage,
  { environment }: Config,
  { now, by, secret }: { now: number; by: Operator; secret?: string },
): Promise<string> {
  const made = newApiKey({ name: BOOTSTRAP_KEY_NAME, environment, plan: 'business' }, now);
  await storage.keys.insert(made.key, secretRecord(secret ?? made.secret), by);
  return made.secret;
}

async function issueFirstKey(
  { service, storage, time }: OpenedService,
  config: Config,
  invocation: Invocation,
): Promise<void> {
  const { unix: now } = time.now();
  if ((await storage.keys.count({ now })) > 0) {
    invocation.print(
      `There is an API key already. To issue another:\n\n  ${COMMAND} keys create --name NAME\n\nTo see how it is used:\n\n  ${COMMAND} console login\n`,
    );
    return;
  }
  const by = operatorOf(undefined, invocation.env);
  const secret = await insertFirstKey(storage, config, { now, by });
  const { via: _, ...who } = by;
  const link = `${service.operatorUrl}${await service.logins.offer({ ...who, role: 'admin' }, now)}`;
  invocation.print(
    `Your first API key (business plan), shown only this once:\n\n  ${secret}\n\nTry it:\n\n  curl -H 'Authorization: Bearer ${secret}' ${service.url}/categories\n\nSee the request in the console (the link works once, for ten minutes):\n\n  ${link}\n`,
  );
}
