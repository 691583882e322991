import type { Command } from 'commander';
import type { ChangeContext } from '../catalog/operator/changes.ts';
import type { Config, SettingName } from '../config.ts';
import type { Time } from '../stdx/time.ts';
import type { Purpose } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { type Invocation, settings, systemOperator, withSettings } from './invocation.ts';

/** A command's database, and the time. */
export interface CommandDatabase extends AsyncDisposable {
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

/** The parts that a command works with: its database, the settings, and who runs it, when. */
export interface CommandContext extends Omit<ChangeContext, 'precondition'>, Pick<CommandDatabase, 'time'> {
  readonly storage: SqlStorage;
  readonly config: Config;
}

/** The result of a command: for programs, or for people, with a note on stderr. */
interface Printed {
  readonly json: unknown;
  readonly text: string;
  readonly note?: string;
}

/** The work of a command, with the operands that its usage names. */
type Work<Options> = (
  context: CommandContext & { options: Options },
  ...operands: string[]
) => Promise<Printed | undefined>;

/** Opens the database of a command for its work, and prints the result, as JSON where `--json` says so. */
export async function runOnDatabase<Options>(
  command: Command,
  { invocation, purpose, work }: { invocation: Invocation; purpose: Purpose; work: Work<Options> },
): Promise<void> {
  const config = settings(command, invocation);
  await using database = await openDatabase(config, invocation, purpose);
  const { storage, time } = database;
  const { environment } = config;
  const options = command.opts<Options & { json?: true }>();
  const context = { storage, time, config, environment, now: time.now().unix, by: systemOperator(), options };
  const result = await work(context, ...command.args);
  if (!result) return;
  const { json, text, note } = result;
  if (options.json) return invocation.print(JSON.stringify(json));
  if (text !== '') invocation.print(text);
  if (note) invocation.tell(note);
}

interface CommandGroup {
  readonly settings: readonly SettingName[];
  /** True if each command has `--json`. */
  readonly json?: boolean;
}

/** Makes a function that adds commands which work on the database. */
export function commandsOf(group: Command, invocation: Invocation, { settings: names, json }: CommandGroup) {
  return <Options>(usage: string, description: string, purpose: Purpose, work: Work<Options>): Command => {
    const command = group.command(usage).description(description);
    if (json) command.option('--json', 'print JSON');
    return withSettings(command, names).action((...args) =>
      runOnDatabase(args.at(-1) as Command, { invocation, purpose, work }),
    );
  };
}
