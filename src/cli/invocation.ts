import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import type { Operator } from '../catalog/audit.ts';
import { type Config, type ConfigSources, readConfig, SETTINGS, type SettingName } from '../config.ts';

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
