import { userInfo } from 'node:os';
import { type Command, Option } from 'commander';
import { checkName } from '../catalog/api-key.ts';
import type { Operator } from '../catalog/audit.ts';
import {
  type Config,
  type ConfigSources,
  findIneffective,
  readConfig,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
} from '../config.ts';
import type { Time } from '../stdx/time.ts';

export interface Invocation {
  /** The time by which commands read and change; `serve`, a process of its own, has the machine's. */
  readonly time: Time;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads `.env`. Throws `ConfigMistakes`. */
  envFile(): Readonly<Record<string, string | undefined>>;
  input(): Promise<Uint8Array>;
  print(text: string): void;
  tell(text: string): void;
  /** Shows progress, on a terminal only. */
  progress(doing: string, done: number, total: number): void;
  /** Aborted when the process is asked to stop, if `stopsGracefully`; its reason is the exit code for the signal. */
  readonly stop: AbortSignal;
  stopsGracefully: boolean;
}

/** A command that failed, with its exit code: 2 for a wrong command line unless given, 0 after `--help`. */
export class UsageError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The heading of the flags for settings in a help. */
export const SETTINGS_GROUP = 'Settings:';

/** Adds flags for settings to a command. */
export function withSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { about, default: value } = SETTINGS[name];
    command.addOption(
      new Option(flagOf(name), value ? `${about} (default: ${value})` : about).helpGroup(SETTINGS_GROUP),
    );
  }
  return command;
}

function flagOf(name: string): string {
  return `--${name.toLowerCase().replaceAll('_', '-')} <value>`;
}

/** Reads the settings for a command; its flags take precedence. Throws `ConfigMistakes`. */
export function settings(command: Command, invocation: Invocation): Config {
  const given = sources(command, invocation);
  tellIneffective(given, invocation);
  return readConfig(given);
}

/** Names what is set and has no effect. */
export function tellIneffective(given: ConfigSources, invocation: Invocation): void {
  for (const { finding } of findIneffective(given)) invocation.tell(`pet-catalog: ${finding}`);
}

/** The sources of a command's settings. Throws `ConfigMistakes`. */
export function sources(command: Command, { env, envFile }: Invocation): ConfigSources {
  const options = command.opts<Record<string, unknown>>();
  const flags: Record<string, string> = {};
  for (const name of SETTING_NAMES) {
    const value = options[name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === 'string') flags[name] = value;
  }
  return { flags, env, file: envFile() };
}

/**
 * Who runs a command: the name given with `--as`, else `PET_CATALOG_OPERATOR`, else the user that sudo was called by,
 * else the system's user, which is kept beside a name that was given: that is a claim.
 */
export function operatorOf(as: string | undefined, env: Invocation['env']): Operator {
  const user = systemUser();
  const actor = as ?? (env.PET_CATALOG_OPERATOR || env.SUDO_USER || user);
  checkName(actor, 'operator');
  return actor === user ? { actor, via: 'cli' } : { actor, via: 'cli', user };
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // Containers may run as a user without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
