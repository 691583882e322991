import type { Command } from 'commander';
import type { Config, SettingName } from '../config.ts';
import type { CommandContext as ActionCommandContext, Printed } from '../operator/doors/command.ts';
import type { Time } from '../stdx/time.ts';
import type { Purpose } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { RecentRequests } from '../telemetry/recent-requests.ts';
import { type Invocation, operatorOf, settings, withSettings } from './invocation.ts';

/** A command's database, and the time. */
interface CommandDatabase extends AsyncDisposable {
  readonly storage: SqlStorage;
  readonly time: Time;
}

/** Opens the database of a command for a purpose. Throws `DatabaseNotOpened`. */
export async function openDatabase(
  { database, categoriesMax, categoriesBytesMax }: Config,
  { time }: Pick<Invocation, 'time'>,
  purpose: Purpose,
): Promise<CommandDatabase> {
  const options = { time, categoriesMax, categoriesBytesMax };
  const storage = await openStorage(database, options, purpose);
  return { storage, time, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() };
}

/** The parts that a command works with: its database, the settings, who runs it, when, and its options. */
export interface CommandContext extends ActionCommandContext {
  readonly time: Time;
  readonly storage: SqlStorage;
  readonly config: Config;
}

/** The work of a command, with the operands that its usage names. */
// biome-ignore lint/suspicious/noConfusingVoidType: a command that prints by itself has no result.
type Work = (context: CommandContext, ...operands: string[]) => Promise<Printed | void>;

/** Opens the database of a command for its work, and prints the result, as JSON where `--json` says so. */
export async function runOnDatabase(
  command: Command,
  { invocation, purpose, work }: { invocation: Invocation; purpose: Purpose; work: Work },
): Promise<void> {
  const config = settings(command, invocation);
  await using database = await openDatabase(config, invocation, purpose);
  const { storage, time } = database;
  const options = command.opts<{ as?: string; json?: true } & CommandContext['options']>();
  const context = {
    storage,
    time,
    config,
    options,
    sessions: storage.sessions,
    environment: config.environment,
    now: time.now().unix,
    by: operatorOf(options.as, invocation.env),
    recent: new RecentRequests(),
    async flushUsage() {},
  };
  const result = await work(context, ...command.args);
  if (result) print(result, options, invocation);
}

/** Prints the result of a command, as JSON where `--json` says so. */
export function print({ json, text, note, told }: Printed, options: { json?: true }, invocation: Invocation): void {
  if (told) invocation.tell(told);
  const isJson = options.json === true && json !== undefined;
  if (isJson) invocation.print(JSON.stringify(json));
  else if (text !== '') invocation.print(text);
  if (note && !isJson) invocation.tell(note);
}

interface CommandGroup {
  readonly settings: readonly SettingName[];
  /** True if each command has `--json`. */
  readonly json?: boolean;
}

/** Makes a function that adds commands which work on the database; one that changes it takes `--as`. */
export function commandsOf(group: Command, invocation: Invocation, { settings: names, json }: CommandGroup) {
  return (usage: string, description: string, purpose: Purpose, work: Work): Command => {
    const command = group.command(usage).description(description);
    if (json) command.option('--json', 'print JSON');
    if (purpose !== 'read') command.option('--as <name>', 'who does it; the actor in the audit');
    return withSettings(command, names).action((...args) =>
      runOnDatabase(args.at(-1) as Command, { invocation, purpose, work }),
    );
  };
}
