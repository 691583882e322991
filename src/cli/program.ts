import { userInfo } from 'node:os';
import { Command, type CommanderError, Option } from 'commander';
import type { Operator } from '../catalog/audit.ts';
import { type Config, type ConfigSources, readConfig, SETTINGS, type SettingName } from '../config.ts';
import { addAboutCommands } from './about.ts';
import { addCategoriesCommand } from './categories.ts';
import { addConsoleCommand } from './console.ts';
import { addDatabaseCommands } from './database.ts';
import { addDoctorCommand } from './doctor.ts';
import { addKeysCommand } from './keys.ts';
import { addServeCommand } from './serve.ts';
import { addTransferCommand } from './transfer.ts';
import { addUsageCommands } from './usage.ts';

/** What a command has of the world around it. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads `.env`. Throws `ConfigMistakes`. */
  envFile(): Readonly<Record<string, string | undefined>>;
  /** Writes data to stdout. */
  print(text: string): void;
  /** Writes everything else to stderr. */
  tell(text: string): void;
  /** Shows how far something is, where somebody looks on. */
  progress(doing: string, done: number, total: number): void;
  /** Aborted when the process is asked to stop, if `stopsGracefully`. */
  readonly stop: AbortSignal;
  stopsGracefully: boolean;
  /** Calls back whenever the process is asked to read its files anew (SIGHUP). */
  onReload(reload: () => void): void;
}

/** A command line that cannot be carried out; the exit code is 2, or 0 where only help was asked for. */
export class UsageError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command line. Parsing it runs the command; throws `UsageError`, or whatever the command fails with. */
export function createProgram(invocation: Invocation): Command {
  const program = new Command('pet-catalog')
    .description('The pet catalog service, and the tools to run it')
    .configureOutput({
      writeOut: (text) => invocation.print(text.trimEnd()),
      writeErr: (text) => invocation.tell(text.trimEnd()),
    })
    .exitOverride(rethrow)
    .showHelpAfterError('(see --help)');
  addServeCommand(program, invocation);
  addKeysCommand(program, invocation);
  addUsageCommands(program, invocation);
  addCategoriesCommand(program, invocation);
  addConsoleCommand(program, invocation);
  addDatabaseCommands(program, invocation);
  addTransferCommand(program, invocation);
  addDoctorCommand(program, invocation);
  addAboutCommands(program, invocation);
  return program;
}

/** Commander has written its message already; what is left is the exit code. */
function rethrow(error: CommanderError): never {
  throw new UsageError('', error.exitCode === 0 ? 0 : 2);
}

/** Lets a command take the settings as flags. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const flag = `--${name.toLowerCase().replaceAll('_', '-')} <value>`;
    const { about, default: value } = SETTINGS[name];
    command.addOption(new Option(flag, value ? `${about} (default: ${value})` : about).helpGroup('Settings:'));
  }
  return command;
}

/** The settings for a command, its flags before everything else. Throws `ConfigMistakes`. */
export function settings(command: Command, invocation: Invocation): Config {
  return readConfig(sources(command, invocation));
}

/** Where the settings of a command come from. */
export function sources(command: Command, { env, envFile }: Invocation): ConfigSources {
  const options = command.opts<Record<string, unknown>>();
  const flags: Record<string, string> = {};
  for (const name of Object.keys(SETTINGS)) {
    const value = options[name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === 'string') flags[name] = value;
  }
  return { flags, env, file: envFile() };
}

/** The system user who runs the command. */
export function systemOperator(): Operator {
  try {
    return { actor: userInfo().username, via: 'cli' };
  } catch {
    // A user without a name, as containers have.
    return { actor: `uid ${process.getuid?.() ?? 'unknown'}`, via: 'cli' };
  }
}
