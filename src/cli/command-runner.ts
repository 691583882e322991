import type { Command } from 'commander';
import type { Operator } from '../catalog/audit.ts';
import type { Config } from '../config.ts';
import type { Printed } from '../operator/command/commands.ts';
import type { Purpose } from '../storage/migrate.ts';
import { openStorage } from '../storage/open.ts';
import type { SqlStorage } from '../storage/sql/storage.ts';
import { type Invocation, operatorOf, settings } from './invocation.ts';

/** The parts that a command works with: its database, the settings, who runs it, when, and its options. */
interface DatabaseContext {
  readonly storage: SqlStorage;
  readonly config: Config;
  readonly options: Readonly<Record<string, string | true | undefined>>;
  /** Unix seconds. */
  readonly now: number;
  readonly by: Operator;
}

/** Characters that a terminal acts upon, break lines or turn the direction of text; JSON escapes the others. */
const UNSEEN = /[\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g;

/** The work of a command, with the operands that its usage names. */
// biome-ignore lint/suspicious/noConfusingVoidType: a command that prints by itself has no result.
export type Work = (context: DatabaseContext, ...operands: string[]) => Promise<Printed | void>;

/** Opens the database of a command for its work, and prints the result, as JSON where `--json` says so. */
export async function runOnDatabase(
  command: Command,
  { invocation, purpose, work }: { invocation: Invocation; purpose: Purpose; work: Work },
): Promise<void> {
  const config = settings(command, invocation);
  await using storage = await openStorage(config.database, { ...config, time: invocation.time }, purpose);
  const options = command.opts<Options>();
  const by = operatorOf(options.as, invocation.env);
  const result = await work({ storage, config, options, now: invocation.time.now().unix, by }, ...command.args);
  if (result) print(result, options, invocation);
}

export type Options = DatabaseContext['options'] & { readonly as?: string; readonly json?: true };

/** Prints the result of a command, as JSON where `--json` says so. */
export function print({ json, text, note, told }: Printed, options: Options, invocation: Invocation): void {
  if (told) invocation.tell(told);
  const isJson = options.json && json !== undefined;
  const shown = isJson ? JSON.stringify(json) : text;
  if (shown !== '') invocation.print(shown.replaceAll(UNSEEN, escaped));
  if (note && !isJson) invocation.tell(note);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
