import { readFileSync } from 'node:fs';
import { Mistake } from '../mistake.ts';

/** The process that a command line runs in. An argument, so that tests can run commands in theirs. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a line to stdout. */
  print(text: string): void;
  /** Writes a line to stderr. */
  tell(text: string): void;
  /** True if stdout is a terminal that shows colours. */
  hasColours(): boolean;
  /** Shows progress, on a terminal only. */
  progress(doing: string, done: number, total: number): void;
  /** Aborted when the process is asked to stop; its reason is the exit code for the signal. */
  readonly stop: AbortSignal;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The seconds of a duration such as 90s, 10m or 24h. Throws `Mistake`. */
export function readDuration(text: string, option: string, { min, max }: { min: number; max: number }): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN);
  if (seconds >= min && seconds <= max) return seconds;
  throw new Mistake(`${option} is "${text}"; write a duration from ${min}s to ${max}s, such as 90s, 10m or 24h`);
}

/** The bytes of the file that an option names. Throws `Mistake`. */
export function readOptionFile(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Mistake(`${option} cannot be read: ${(error as Error).message}`);
  }
}

/** A whole number of an option. Throws `Mistake`. */
export function readCount(
  given: string | number,
  option: string,
  { min, max, or = '' }: { min: number; max: number; or?: string },
): number {
  const count = /^\d{1,7}$/.test(`${given}`) ? Number(given) : Number.NaN;
  if (count >= min && count <= max) return count;
  throw new Mistake(`${option} is "${given}"; write a number from ${min} to ${max}${or}`);
}

/** Collects the values of a repeatable option. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
