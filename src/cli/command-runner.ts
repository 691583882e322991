import type { Command } from 'commander';
import type { ChangeContext } from '../catalog/operator/key-changes.ts';
import type { Config } from '../config.ts';
import { systemTime, type Time } from '../stdx/time.ts';
import type { Purpose } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { type Invocation, settings, systemOperator, tellOfDamage } from './invocation.ts';

/** A command's database, and the time of its service, which is turned if the database was used in rehearsal. */
export interface CommandDatabase extends AsyncDisposable {
  readonly storage: SqlStorage;
  readonly time: Time;
}

/** Opens the database of a command for a purpose. Throws `DatabaseNotOpened`. */
export async function openDatabase(
  { database, categoriesMax, categoriesBytesMax }: Config,
  invocation: Invocation,
  purpose: Purpose,
): Promise<CommandDatabase> {
  const machine = systemTime();
  let time = machine;
  const options = {
    time: { ...machine, now: () => time.now() },
    categoriesMax,
    categoriesBytesMax,
    events: tellOfDamage(invocation),
  };
  const storage = await openStorage(database, options, purpose);
  const turnedBy = await storage.turnedBy();
  if (turnedBy) {
    const { TurnedTime } = await import('../rehearsal/turned-time.ts');
    time = new TurnedTime(machine, turnedBy);
  }
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

export type RunCommand = (
  command: Command,
  purpose: Purpose,
  work: (context: CommandContext) => Promise<Printed | undefined>,
) => Promise<void>;

/** Creates a function that opens the database of a command, and prints its result, as JSON where `--json` says so. */
export function commandRunner(invocation: Invocation): RunCommand {
  return async (command, purpose, work) => {
    const config = settings(command, invocation);
    await using database = await openDatabase(config, invocation, purpose);
    const { storage, time } = database;
    const { environment } = config;
    const now = time.now().unix;
    const result = await work({ storage, time, config, environment, now, by: systemOperator() });
    if (!result) return;
    const { json, text, note } = result;
    if (command.opts<{ json?: true }>().json) return invocation.print(JSON.stringify(json));
    if (text !== '') invocation.print(text);
    if (note) invocation.tell(note);
  };
}
