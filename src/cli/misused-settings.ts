import { editDistance } from '../catalog/nearest-name.ts';
import {
  ConfigMistakes,
  type ConfigSources,
  type FoundSetting,
  findValue,
  SETTINGS,
  type SettingName,
} from '../config.ts';

/** Settings of earlier releases: since when they have no effect, and what to do instead. */
export const FORMER_SETTINGS = { THREADS: { since: '0.2.0', instead: 'start more instances' } } as const;
const NEVER_BESIDE_EPHEMERAL: ReadonlySet<SettingName> = new Set(['DATABASE_URL', 'REDIS_URL']);
/** The number of letters that a name in `.env` may be from a setting's to be taken for a slip of the pen. */
const SLIP_LETTERS_MAX = 2;

/** A name that is set and has no effect, in a sentence, and what `doctor` advises. */
export interface IneffectiveSetting {
  readonly finding: string;
  readonly advice: string;
}

/** Lists the former settings that are still set, and the names in `.env` that are nearly those of settings. */
export function findIneffective(sources: ConfigSources): IneffectiveSetting[] {
  const former = Object.entries(FORMER_SETTINGS).flatMap(([name, { since, instead }]) => {
    const found = findValue(name, sources, []);
    if (!found) return [];
    return [{ finding: `${name} has no effect since ${since}; ${instead} (from ${found.from})`, advice: 'remove it' }];
  });
  const known = new Set(
    [...Object.keys(SETTINGS), ...Object.keys(FORMER_SETTINGS)].flatMap((name) => [name, `${name}_FILE`]),
  );
  const slips = Object.keys(sources.file).flatMap((name) => {
    if (known.has(name)) return [];
    const meant = [...known].find((setting) => editDistance(name.toUpperCase(), setting) <= SLIP_LETTERS_MAX);
    if (!meant) return [];
    const finding = `${name} is no setting; is ${meant} meant? (from .env)`;
    return [{ finding, advice: `rename it to ${meant}, or remove it` }];
  });
  return [...former, ...slips];
}

/** Throws `ConfigMistakes` if settings name a database beside `--ephemeral`. */
export function assertNoneBesideEphemeral(found: readonly FoundSetting[]): void {
  const mistakes = found
    .filter(({ name, value, from }) => NEVER_BESIDE_EPHEMERAL.has(name) && value !== '' && from !== 'default')
    .map(
      ({ name, from }) => `${name}: it must not be set with --ephemeral, whose database is a new one (from ${from})`,
    );
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
}
